#include "engine/data/token_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/base/plural.h"
#include "engine/data/token_rows.h"
#include "engine/data/token_windows.h"

namespace shardscope {

namespace {

// One of the two parts: where its tokens are.
struct Part {
  std::string place;  // of the option that says where
  TokenFiles files;
  TokenRange range;
};

bool has_file_of_its_own(const OptionList& options) { return !string_option(options, "validation_path").empty(); }

Part find_part(const OptionList& options, int width, bool validation) {
  const bool own_file = has_file_of_its_own(options);
  const std::string option = validation && own_file ? "validation_path" : "path";
  Part part{"data." + option, find_token_files(string_option(options, option), width, "data." + option), {}};
  const int64_t all = part.files.tokens;
  const auto kept = static_cast<int64_t>(static_cast<double>(all) * real_option(options, "validation"));
  part.range = {0, all};
  if (!own_file) part.range = validation ? TokenRange{all - kept, all} : TokenRange{0, all - kept};
  return part;
}

bool evaluates(const OptionList& options) { return integer_option(options, "evaluate_every") > 0; }

void check_part(const Part& part, int64_t needed, const std::string& what, const std::string& why,
                std::vector<Error>& errors) {
  std::ranges::copy(part.files.errors, std::back_inserter(errors));
  if (!part.files.errors.empty() || part.range.size() >= needed) return;
  errors.push_back({"too_short", fmt::format("{} has {}, and {}", what, counted(part.range.size(), "token"), why),
                    part.place, "at least " + counted(needed, "token")});
}

}  // namespace

std::vector<OptionDefinition> token_data_options() {
  OptionDefinition path{"path", std::string("input.txt"), true, 0, 0, "file or folder of the tokens"};
  OptionDefinition kept{"validation_path",
                        std::string(),
                        false,
                        0,
                        0,
                        "file or folder of tokens for evaluation alone, in place of a share of the others"};
  path.is_path = kept.is_path = true;
  return {{"batch_size", int64_t{16}, true, 1, 1e7, "windows in a step, over all devices"},
          {"seed", int64_t{0}, false, 0, 9.2e18, "of where the windows begin"},
          path,
          {"validation", 0.1, false, 0, 0.9, "share of the tokens, the last ones, that is kept for evaluation"},
          kept,
          {"evaluate_every", int64_t{0}, false, 0, 1e15, "training steps between two evaluations; 0: none"},
          {"evaluate_batches", int64_t{8}, false, 1, 1e9, "batches of an evaluation"},
          sequence_length_option()};
}

std::unique_ptr<DataSource> make_token_data(const OptionList& options, const DataRequest& request, int width,
                                            bool validation) {
  const Part part = find_part(options, width, validation);
  std::optional<int64_t> seed;
  if (!validation) seed = integer_option(options, "seed");
  return make_token_windows(open_token_files(part.files), part.range, *request.find("tokens"), seed);
}

std::vector<Error> check_token_options(const OptionList& options) {
  std::vector<Error> errors;
  if (string_option(options, "path").empty()) {
    errors.push_back({"empty_path", "no file or folder is named", "data.path", "such as \"tiny_text.txt\""});
  }
  if (evaluates(options) && real_option(options, "validation") == 0 && !has_file_of_its_own(options)) {
    errors.push_back({"no_validation", "nothing is kept back to evaluate with", "data.validation",
                      "a share such as 0.1, a validation_path, or evaluate_every 0"});
  }
  return errors;
}

std::vector<Error> check_token_files(const OptionList& options, const DataRequest& request, int width) {
  const Shape& shape = request.find("tokens")->type.shape;
  std::vector<Error> errors;
  const Part training = find_part(options, width, false);
  check_part(training, shape[0] * shape[1] + 1, "what is trained on",
             fmt::format("a batch takes {} x {} and one more", shape[0], shape[1]), errors);
  if (!evaluates(options) || !training.files.errors.empty()) return errors;
  check_part(find_part(options, width, true), shape[1] + 1, "what is kept for evaluation",
             fmt::format("a window takes {} and one more", shape[1]), errors);
  return errors;
}

std::vector<DataPart> identify_token_files(const OptionList& options, int width) {
  std::vector<DataPart> parts;
  for (const char* option : {"path", "validation_path"}) {
    const std::string& path = string_option(options, option);
    if (path.empty() || (option != std::string("path") && !evaluates(options))) continue;
    parts.push_back({option, identify(find_token_files(path, width, std::string("data.") + option))});
  }
  return parts;
}

}  // namespace shardscope
