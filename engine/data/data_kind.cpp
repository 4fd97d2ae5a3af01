#include "engine/data/data_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/data/kinds.h"

namespace shardscope {

namespace {

std::string text_of(const DataInput& input) {
  return fmt::format("{} {} {}", input.name, name(input.type.dtype), to_string(input.type.shape));
}

std::string text_of(const std::vector<DataInput>& inputs) {
  std::vector<std::string> texts;
  for (const DataInput& input : inputs) texts.push_back(text_of(input));
  return fmt::format("{}", fmt::join(texts, ", "));
}

bool gives_input(const std::vector<DataInput>& given, const DataInput& asked) {
  return std::any_of(given.begin(), given.end(), [&](const DataInput& input) {
    const bool below = asked.limit == 0 || (input.limit > 0 && input.limit <= asked.limit);
    return input.name == asked.name && input.type == asked.type && below;
  });
}

}  // namespace

const DataInput* DataRequest::find(const std::string& name) const {
  const auto found =
      std::find_if(inputs.begin(), inputs.end(), [&](const DataInput& input) { return input.name == name; });
  return found == inputs.end() ? nullptr : &*found;
}

const std::vector<DataKind>& all_data_kinds() {
  static const std::vector<DataKind> kinds = {synthetic_lm_data(), random_rolled_data(), numpy_batches_data(),
                                              zeros_data(),        quadratic_data(),     normal_data(),
                                              ones_data(),         text_data(),          tokens_data()};
  return kinds;
}

const DataKind* find_data_kind(const std::string& name) {
  for (const DataKind& kind : all_data_kinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

bool serves(const DataKind& kind, const DataRequest& request) {
  const std::vector<DataInput> given = kind.gives(request);
  return std::all_of(request.inputs.begin(), request.inputs.end(),
                     [&](const DataInput& asked) { return gives_input(given, asked); });
}

std::vector<Error> check_data(const DataKind& kind, const DataRequest& request) {
  if (serves(kind, request)) return {};
  std::vector<std::string> fitting;
  for (const DataKind& other : all_data_kinds()) {
    if (serves(other, request)) fitting.push_back(other.name);
  }
  const std::vector<DataInput> given = kind.gives(request);
  return {
      {"data_kind",
       fmt::format("'{}' does not give the model's inputs: it asks for {}, and gets {}", kind.name,
                   text_of(request.inputs), given.empty() ? "none" : text_of(given)),
       "data.kind",
       fitting.empty() ? "no kind gives all of them" : fmt::format("kinds that fit: {}", fmt::join(fitting, ", "))}};
}

std::vector<Error> check_data_files(const DataKind& kind, const OptionList& options, const DataRequest& request) {
  return kind.check_files ? kind.check_files(options, request) : std::vector<Error>{};
}

Evaluation evaluation(const DataKind& kind, const OptionList& options) {
  if (!kind.make_validation) return {};
  return {integer_option(options, "evaluate_every"), integer_option(options, "evaluate_batches")};
}

}  // namespace shardscope
