#include "engine/compile/resolved_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/plural.h"
#include "engine/data/token_rows.h"
#include "engine/optim/learning_rate.h"
#include "models/compute_dtype.h"

namespace shardscope {

namespace {

template <class Definitions>
std::vector<std::string> names_of(const Definitions& definitions) {
  std::vector<std::string> names;
  for (const auto& definition : definitions) names.push_back(definition.name);
  return names;
}

Error unknown(const std::string& what, const std::string& name, const std::string& where,
              const std::vector<std::string>& known) {
  return {"unknown_" + what, "unknown " + what + " '" + name + "'", where, name_hint(name, known)};
}

// One of the definitions, or an error that names those there are.
template <class Definition>
const Definition* look_up(const Definition* found, const std::string& what, const std::string& name,
                          const std::string& where, const std::vector<Definition>& all, std::vector<Error>& errors) {
  if (!found) errors.push_back(unknown(what, name, where, names_of(all)));
  return found;
}

Error indivisible_batch(int64_t rows, int64_t microbatches) {
  std::vector<int64_t> legal;
  for (int64_t parts = 1; parts <= std::min<int64_t>(rows, 64); ++parts) {
    if (rows % parts == 0) legal.push_back(parts);
  }
  return {"microbatches",
          fmt::format("{} do not divide a batch of {}", counted(microbatches, "microbatch", "microbatches"),
                      counted(rows, "row")),
          "schedule.microbatches", fmt::format("it may be {}", fmt::join(legal, ", "))};
}

// True where a section's options are what the file says; a key that nobody knows changes none of them.
bool as_given(const std::vector<Error>& errors, size_t first) {
  return std::all_of(errors.begin() + static_cast<std::ptrdiff_t>(first), errors.end(),
                     [](const Error& error) { return error.code == "unknown_key"; });
}

void resolve_data(const RunConfig& config, ResolvedRun& run) {
  std::vector<Error>& errors = run.errors;
  const DataKind* kind = run.data.kind =
      look_up(find_data_kind(config.data.name), "data_kind", config.data.name, "data.kind", all_data_kinds(), errors);
  if (!kind) return;
  const size_t before = errors.size();
  run.data.options = resolve_options(kind->options, config.data.options, "data", errors);
  run.data.evaluation = evaluation(*kind, run.data.options);
  const int64_t rows = integer_option(run.data.options, "batch_size");
  const int64_t microbatches = std::max<int64_t>(1, config.schedule.microbatches);
  run.batch_known = as_given(errors, before);
  if (run.batch_known && (config.schedule.microbatches < 1 || rows % microbatches != 0)) {
    errors.push_back(indivisible_batch(rows, config.schedule.microbatches));
    run.batch_known = false;
  }
  run.microbatch_rows = std::max<int64_t>(1, rows / microbatches);
  run.sequence_length = sequence_length(run.data.options);
  if (run.batch_known) append(errors, kind->check(run.data.options));
}

void resolve_optimizer(const RunConfig& config, ResolvedRun& run) {
  if (!config.trains()) return;  // a model that is only evaluated
  std::vector<Error>& errors = run.errors;
  run.optimizer = look_up(find_optimizer(config.optimizer.name), "optimizer", config.optimizer.name, "optimizer.name",
                          all_optimizers(), errors);
  if (!run.optimizer) return;
  const size_t before = errors.size();
  run.optimizer_options = resolve_options(run.optimizer->options, config.optimizer.options, "optimizer", errors);
  run.learning_rate = learning_rate(run.optimizer_options);
  if (!as_given(errors, before)) return;
  append(errors, check_learning_rate(run.optimizer_options));
  if (run.optimizer->check) append(errors, run.optimizer->check(config.optimizer.options));
}

// Of a model that has a length of its own: data of another one.
std::vector<Error> check_sequence_length(const OptionList& model, int64_t length) {
  const OptionValue* own = find_option(model, "seq_len");
  const auto* positions = own ? std::get_if<int64_t>(own) : nullptr;
  if (length == 0 || !positions || *positions == length) return {};
  return {{"sequence_length", fmt::format("rows of {} for a model of {}", counted(length, "token"), *positions),
           "data.sequence_length", fmt::format("leave it out, or {}", *positions)}};
}

// The type of products where the precision does not say: the run file's option of the model, else what its files say.
DType model_dtype(const RunConfig& config, const ResolvedRun& run) {
  if (config.model.find("compute_dtype") || !run.model->dtype) return compute_dtype(run.model_options);
  return run.model->dtype(run.model_options).value_or(DType::f32);
}

void resolve_model(const RunConfig& config, ResolvedRun& run) {
  std::vector<Error>& errors = run.errors;
  run.model = look_up(find_model(config.model.name), "model", config.model.name, "model.name", all_models(), errors);
  if (!run.model) return;
  const size_t before = errors.size();
  run.model_options = resolve_options(run.model->options, config.model.options, "model", errors);
  append(errors, check_sequence_length(run.model_options, run.sequence_length));
  if (as_given(errors, before)) append(errors, run.model->check(run.model_options));
  run.may_build = as_given(errors, before);
  if (!run.may_build) return;
  run.types = training_types(config.precision, model_dtype(config, run), errors);
  set_compute_dtype(run.model_options, run.types.compute);
}

}  // namespace

ResolvedRun resolve_run(const RunConfig& config) {
  ResolvedRun run;
  run.config = &config;
  try {
    run.mesh = staged_mesh(config.pipeline, Mesh(config.mesh_axes, config.mesh_devices));
    run.pipeline = pipeline_shape(config, *run.mesh);
  } catch (const Failure& failure) {
    append(run.errors, failure.errors());
  }
  resolve_data(config, run);
  resolve_optimizer(config, run);
  resolve_model(config, run);
  return run;
}

}  // namespace shardscope
