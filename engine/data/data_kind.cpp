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

std::vector<std::string> names_of(const std::vector<DataKind>& kinds) {
  std::vector<std::string> names;
  for (const DataKind& kind : kinds) names.push_back(kind.name);
  return names;
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

DataIdentity identify_data(const NamedOptions& data) {
  DataIdentity identity{data.name, {}};
  const DataKind* kind = find_data_kind(data.name);
  if (!kind || !kind->identify_files) return identity;
  std::vector<Error> errors;
  identity.parts = kind->identify_files(resolve_options(kind->options, data.options, "data", errors));
  return identity;
}

Evaluation evaluation(const NamedOptions& data) {
  const DataKind* kind = find_data_kind(data.name);
  if (!kind || !kind->make_validation) return {};
  std::vector<Error> errors;
  const OptionList options = resolve_options(kind->options, data.options, "data", errors);
  return {integer_option(options, "evaluate_every"), integer_option(options, "evaluate_batches")};
}

namespace {

using Make = std::unique_ptr<DataSource> (*DataKind::*)(const OptionList& options, const DataRequest& request);

std::unique_ptr<DataSource> make_source(const NamedOptions& data, const DataRequest& request, Make make) {
  const DataKind* kind = find_data_kind(data.name);
  if (!kind) {
    throw Failure({"unknown_data_kind", "unknown data_kind '" + data.name + "'", "data.kind",
                   name_hint(data.name, names_of(all_data_kinds()))});
  }
  std::vector<Error> errors = check_data(*kind, request);
  const OptionList options = resolve_options(kind->options, data.options, "data", errors);
  if (errors.empty()) errors = kind->check(options);
  if (errors.empty()) errors = check_data_files(*kind, options, request);
  if (!errors.empty()) throw Failure(std::move(errors));
  return (kind->*make)(options, request);
}

}  // namespace

std::unique_ptr<DataSource> make_data_source(const NamedOptions& data, const DataRequest& request) {
  return make_source(data, request, &DataKind::make);
}

std::unique_ptr<DataSource> make_validation_source(const NamedOptions& data, const DataRequest& request) {
  return make_source(data, request, &DataKind::make_validation);
}

std::unique_ptr<DataSource> make_examples(const NamedOptions& data, const DataRequest& request) {
  return make_source(data, request, &DataKind::make_all);
}

}  // namespace shardscope
