#include "engine/data/kinds.h"
#include "engine/data/token_data.h"
#include "engine/data/token_rows.h"

namespace shardscope {

namespace {

std::vector<OptionDefinition> options() {
  std::vector<OptionDefinition> options = token_data_options();
  options.push_back({"dtype", std::string("uint16"), false, 0, 0, "of the numbers in the file", {"uint16", "uint32"}});
  return options;
}

int token_width(const OptionList& options) { return string_option(options, "dtype") == "uint16" ? 2 : 4; }

}  // namespace

DataKind tokens_data() {
  DataKind kind{"tokens", "files of token numbers, as nanoGPT's and Megatron's tools write them", options(),
                token_inputs, [](const OptionList& options, const DataRequest& request) {
                  return make_token_data(options, request, token_width(options), false);
                }};
  kind.check = check_token_options;
  kind.make_validation = [](const OptionList& options, const DataRequest& request) {
    return make_token_data(options, request, token_width(options), true);
  };
  kind.check_files = [](const OptionList& options, const DataRequest& request) {
    return check_token_files(options, request, token_width(options));
  };
  kind.identify_files = [](const OptionList& options) { return identify_token_files(options, token_width(options)); };
  return kind;
}

}  // namespace shardscope
