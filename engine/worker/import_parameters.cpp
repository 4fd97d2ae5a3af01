#include "engine/worker/import_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "engine/checkpoint/checkpoint_layout.h"
#include "engine/checkpoint/float_types.h"
#include "engine/checkpoint/joined_dimension.h"
#include "engine/checkpoint/safetensors_reader.h"
#include "engine/graph/op_definition.h"
#include "engine/runtime/kernels/kernel.h"
#include "engine/worker/stored_states.h"

namespace shardscope {

namespace {

constexpr size_t most_listed = 20;

// "'params/a' f32 (2, 3), 'params/b' f32 (3,), and 4 more"
std::string list_of(const std::vector<const StoredState*>& states) {
  std::string text;
  for (size_t i = 0; i < std::min(states.size(), most_listed); ++i)
    text += fmt::format("{}'{}' {} {}", i == 0 ? "" : ", ", states[i]->name, name(states[i]->type.dtype),
                        to_string(states[i]->type.shape));
  return states.size() > most_listed ? fmt::format("{}, and {} more", text, states.size() - most_listed) : text;
}

bool is_castable(const SafetensorsReader::Array& held, const TensorType& type) {
  const bool needs_scales = held.stored.starts_with("F8") || held.stored == "U8";
  return !needs_scales && has_same_elements(held.type.shape, type.shape) && is_float(held.type.dtype) &&
         is_float(type.dtype);
}

// Arrays of `file` that are not the run's, and parameters of the run that it does not hold, each with what it may be
// called on the other side.
class ArrayCheck {
 public:
  ArrayCheck(const SafetensorsReader& file, const std::string& path, const std::vector<StoredState>& states, bool cast)
      : file_(file), path_(path), cast_(cast) {
    for (const StoredState& state : states) {
      if (state.parameter) parameters_.push_back(&state);
    }
  }

  void run() {
    std::set<std::string> wanted;
    std::vector<std::string> missing, foreign;
    for (const StoredState* state : parameters_) {
      wanted.insert(state->name);
      if (!file_.arrays().contains(state->name)) missing.push_back(state->name);
    }
    for (const auto& [name, array] : file_.arrays()) {
      if (!wanted.contains(name)) foreign.push_back(name);
    }
    for (const std::string& name : missing) add(fmt::format("it holds no '{}'", name), near_hint(name, foreign));
    for (const StoredState* state : parameters_) check_type(*state);
    for (const std::string& name : foreign)
      add(fmt::format("it holds '{}', which is no parameter of the run", name), near_hint(name, missing));
    if (count_ > most_listed)
      list(fmt::format("{} arrays differ, of which the first {} are listed", count_, most_listed), "");
    if (!missing.empty() || !foreign.empty()) list(fmt::format("the run expects {}", list_of(parameters_)), "");
    if (!errors_.empty()) throw Failure(errors_);
  }

 private:
  void check_type(const StoredState& state) {
    const auto found = file_.arrays().find(state.name);
    if (found == file_.arrays().end()) return;
    const SafetensorsReader::Array& held = found->second;
    if (!held.unreadable.empty()) {
      return add(fmt::format("'{}' {} here, and is {} {} in the run", state.name, held.unreadable,
                             name(state.type.dtype), to_string(state.type.shape)),
                 "F32, BF16, F16, F64 or I32");
    }
    const bool fits = has_same_elements(held.type.shape, state.type.shape);
    if (fits && held.type.dtype == state.type.dtype && !held.is_widened()) return;
    const bool castable = is_castable(held, state.type);
    if (castable && cast_) return;
    add(fmt::format("'{}' is {} {} here, and {} {} in the run", state.name,
                    held.is_widened() ? held.stored : std::string(name(held.type.dtype)), to_string(held.type.shape),
                    name(state.type.dtype), to_string(state.type.shape)),
        castable ? "--cast converts it" : "the run file of the model that it is of");
  }

  static std::string near_hint(const std::string& name, const std::vector<std::string>& others) {
    return near_names(name, others).empty() ? "" : name_hint(name, others);
  }

  void add(std::string what, std::string hint) {
    if (++count_ <= most_listed) list(std::move(what), std::move(hint));
  }
  void list(std::string what, std::string hint) {
    errors_.push_back({"other_model", std::move(what), in_file(path_), std::move(hint)});
  }

  const SafetensorsReader& file_;
  const std::string& path_;
  const bool cast_;
  std::vector<const StoredState*> parameters_;
  std::vector<Error> errors_;
  size_t count_ = 0;
};

void read_as(DType dtype, const SafetensorsReader& file, const SafetensorsReader::Array& array,
             std::span<std::byte> out) {
  if (array.type.dtype == dtype) return file.read(array, out);
  std::vector<std::byte> held(static_cast<size_t>(array.type.bytes()));
  file.read(array, held);
  cast_floats(array.type.dtype, held, dtype, out);
}

void fill_first_value(const Plan& plan, const std::string& state_name, const TensorType& type,
                      std::span<std::byte> out) {
  for (const State& state : plan.graph->states) {
    if (plan.graph->name(state) != state_name) continue;
    const Op& op = plan.graph->ops[plan.graph->values[state.initial].producer];
    KernelArguments arguments;
    arguments.attributes = &op.attributes;
    arguments.outputs = {{out.data(), type.dtype, type.shape, type.shape, Shape(type.shape.size())}};
    make_kernel(op.definition->name(), std::move(arguments))->run({});
  }
}

}  // namespace

void import_parameters(const Plan& plan, const std::string& path, const std::string& folder, bool cast,
                       const CheckpointFolder::Report& report) {
  const SafetensorsReader file(path);
  std::vector<StoredState> states = stored_states(plan);
  ArrayCheck(file, path, states, cast).run();
  for (StoredState& state : states) {
    state.sharding = Sharding::replicated(static_cast<int>(state.type.shape.size()));
    state.devices.clear();
  }
  CheckpointIndex index = lay_out_checkpoint(states, Mesh());
  index.model = plan.training.model;
  index.mesh = "1 device";
  index.run_file = plan.run_file;
  index.description = plan.training.description;

  const FileCalls calls;
  CheckpointFolder checkpoints(folder, calls, report);
  checkpoints.continue_from(std::nullopt, {});
  CheckpointFile& only = index.files.at(0);
  std::vector<std::byte> image(static_cast<size_t>(only.bytes)), value;
  const std::string header = file_layout(index, 0).header();
  std::memcpy(image.data(), header.data(), header.size());
  for (const CheckpointState& state : index.states) {
    value.resize(static_cast<size_t>(state.type.bytes()));
    const std::optional<std::string> held = state.parameter ? state.name : of_master(state.name);
    if (held) read_as(state.type.dtype, file, file.arrays().at(*held), value);
    else fill_first_value(plan, state.name, state.type, value);
    std::memcpy(image.data() + state.pieces.at(0).offset, value.data(), value.size());
  }
  only.blocks = write_checkpoint_file(calls, checkpoints.held(), index.step, only.name, image, {});
  checkpoints.complete(index, std::numeric_limits<int>::max());
}

}  // namespace shardscope
