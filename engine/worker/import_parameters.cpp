#include "engine/worker/import_parameters.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <set>

#include "engine/checkpoint/checkpoint_layout.h"
#include "engine/checkpoint/safetensors_reader.h"
#include "engine/config/write.h"
#include "engine/graph/op_definition.h"
#include "engine/runtime/kernels/kernel.h"
#include "engine/worker/stored_states.h"

namespace shardscope {

namespace {

void check_arrays(const SafetensorsReader& file, const std::string& path, const std::vector<StoredState>& states) {
  constexpr size_t most_listed = 20;
  std::vector<Error> errors;
  size_t count = 0;
  const auto list = [&](std::string what) {
    errors.push_back({"other_model", std::move(what), in_file(path), "the run file of the model that it is of"});
  };
  const auto add = [&](std::string what) {
    if (++count <= most_listed) list(std::move(what));
  };
  std::set<std::string> wanted;
  for (const StoredState& state : states) {
    if (!state.parameter) continue;
    wanted.insert(state.name);
    const auto found = file.arrays().find(state.name);
    if (found == file.arrays().end()) {
      add(fmt::format("it holds no '{}'", state.name));
    } else if (const TensorType& held = found->second.type; held != state.type) {
      add(fmt::format("'{}' is {} {} here, and {} {} in the run", state.name, name(held.dtype), to_string(held.shape),
                      name(state.type.dtype), to_string(state.type.shape)));
    }
  }
  for (const auto& [name, array] : file.arrays()) {
    if (!wanted.contains(name)) add(fmt::format("it holds '{}', which is no parameter of the run", name));
  }
  if (count > most_listed) list(fmt::format("{} arrays differ, of which the first {} are listed", count, most_listed));
  if (!errors.empty()) throw Failure(errors);
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

void import_parameters(const Plan& plan, const std::string& path, const std::string& folder,
                       const CheckpointFolder::Report& report) {
  const SafetensorsReader file(path);
  std::vector<StoredState> states = stored_states(plan);
  check_arrays(file, path, states);
  for (StoredState& state : states) {
    state.sharding = Sharding::replicated(static_cast<int>(state.type.shape.size()));
    state.devices.clear();
  }
  CheckpointIndex index = lay_out_checkpoint(states, Mesh());
  index.model = plan.config.model.name;
  index.mesh = "1 device";
  index.run_file = write_run_config(plan.config);

  const FileCalls calls;
  CheckpointFolder checkpoints(folder, calls, report);
  checkpoints.go_on_from(std::nullopt, {});
  CheckpointFile& only = index.files.at(0);
  std::vector<std::byte> image(static_cast<size_t>(only.bytes)), value;
  const std::string header = file_layout(index, 0).header();
  std::memcpy(image.data(), header.data(), header.size());
  for (const CheckpointState& state : index.states) {
    value.resize(static_cast<size_t>(state.type.bytes()));
    if (state.parameter) file.read(file.arrays().at(state.name), value);
    else fill_first_value(plan, state.name, state.type, value);
    std::memcpy(image.data() + state.pieces.at(0).offset, value.data(), value.size());
  }
  only.blocks = write_checkpoint_file(calls, checkpoints.held(), index.step, only.name, image, {});
  checkpoints.complete(index, std::numeric_limits<int>::max());
}

}  // namespace shardscope
