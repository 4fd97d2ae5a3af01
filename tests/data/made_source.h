#pragma once

#include "engine/data/training_data.h"

namespace shardscope::test {

// A section's kind and options; faults of these are added to `errors`.
inline TrainingData unchecked(const NamedOptions& section, std::vector<Error>& errors) {
  const DataKind* kind = find_data_kind(section.name);
  OptionList options = resolve_options(kind->options, section.options, "data", errors);
  const Evaluation evaluated = evaluation(*kind, options);
  return {kind, std::move(options), {}, evaluated};
}

// Of a legal section, whose files nobody has looked at.
inline TrainingData unchecked(const NamedOptions& section) {
  std::vector<Error> errors;
  return unchecked(section, errors);
}

// Throws Failure with all faults of the section, in the order in which compile() finds them.
inline TrainingData training_data(const NamedOptions& section, const DataRequest& request) {
  std::vector<Error> errors;
  TrainingData data = unchecked(section, errors);
  if (errors.empty()) errors = data.kind->check(data.options);
  append(errors, check_data(*data.kind, request));
  if (errors.empty()) errors = check_data_files(*data.kind, data.options, request);
  if (!errors.empty()) throw Failure(std::move(errors));
  data.request = request;
  return data;
}

inline std::unique_ptr<DataSource> made_source(const NamedOptions& section, const DataRequest& request) {
  return make_data_source(training_data(section, request));
}

inline std::unique_ptr<DataSource> made_validation(const NamedOptions& section, const DataRequest& request) {
  return make_validation_source(training_data(section, request));
}

}  // namespace shardscope::test
