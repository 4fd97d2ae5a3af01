#include "engine/export/jax_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>

#include "engine/base/plural.h"
#include "engine/compile/training_graph.h"
#include "engine/export/jax_arrays.h"
#include "engine/export/jax_data.h"
#include "engine/export/jax_network.h"
#include "engine/export/jax_op.h"
#include "engine/export/jax_optimizer.h"
#include "engine/export/jax_parameters.h"
#include "engine/export/jax_shardings.h"
#include "engine/export/jax_source.h"
#include "engine/graph/op_definition.h"
#include "models/registry.h"

namespace shardscope {

namespace {

constexpr std::string_view loop_text = R"(
def loss_of(params, batch, keys):  #? dropout
def loss_of(params, batch):  #! dropout
LOSSES


def loss_and_gradients(params, batch, step):  #? dropout
def loss_and_gradients(params, batch):  #! dropout
    """The loss, a dict of other metrics, and the gradients; the means over the microbatches."""  #? microbatches
    """The loss, a dict of other metrics, and the gradients."""  #! microbatches
    differentiate = jax.value_and_grad(loss_of, has_aux=True)
    return differentiate(params, batch, dropout_keys(step))  #? dropout  #! microbatches
    return differentiate(params, batch)  #! dropout  #! microbatches
    parts = [{name: jnp.split(array, MICROBATCHES)[i] for name, array in batch.items()} for i in range(MICROBATCHES)]  #? microbatches
    results = [differentiate(params, part, dropout_keys(step, i)) for i, part in enumerate(parts)]  #? dropout  #? microbatches
    results = [differentiate(params, part) for part in parts]  #! dropout  #? microbatches
    return jax.tree.map(lambda *terms: sum(terms) / MICROBATCHES, *results)  #? microbatches


def train_step(state, batch, step):  #? dropout
def train_step(state, batch):  #! dropout
    params, optimizer_state = state
    (loss, metrics), gradients = loss_and_gradients(params, batch, step)  #? dropout
    (loss, metrics), gradients = loss_and_gradients(params, batch)  #! dropout
    gradients = jax.lax.with_sharding_constraint(gradients, shardings(gradients, "gradients/"))  #? gradients
    updates, optimizer_state = optimizer.update(gradients, optimizer_state, params)
    return (optax.apply_updates(params, updates), optimizer_state), {"loss": loss, **metrics}


def main():
    arguments = parse_arguments()
    params = init_params()
    state = (params, optimizer.init(params))
    state = jax.device_put(state, shardings(state))
    take_step = jax.jit(train_step, donate_argnums=0, out_shardings=(shardings(state), NamedSharding(mesh, P())))
    for step, batch in zip(range(arguments.steps), batches()):
        start = time.perf_counter()
        state, metrics = take_step(state, place_batch(batch), step)  #? dropout
        state, metrics = take_step(state, place_batch(batch))  #! dropout
        print_step(step, metrics, start)
    if arguments.write_specs:
        write_specs(arguments.write_specs, *state)


if __name__ == "__main__":
    main()
)";

constexpr std::string_view tools = R"(
def place_batch(batch):
    return {name: jax.device_put(array, NamedSharding(mesh, INPUTS[name])) for name, array in batch.items()}


def print_step(step, metrics, start):
    record = {"step": step, **{name: float(value) for name, value in metrics.items()}}
    record["learning_rate"] = float(learning_rate(step))  #? scheduled
    record["step_ms"] = 1000 * (time.perf_counter() - start)
    print(json.dumps(record), flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.description = __doc__.replace("%", "%%")  # argparse puts the program's name into it  #? escaped
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--write-specs", metavar="FILE", help="how all arrays lie, as JSON {path: spec}, at the end")
    return parser.parse_args()
)";

std::vector<Error> what_jax_lacks(const RunConfig& config, const OptionList& options) {
  std::vector<Error> errors;
  if (config.precision != PrecisionConfig{} && config.precision.recipe != "f32") {
    errors.push_back(not_exportable("types of parameters and gradients are not written in JAX", "precision",
                                    "\"f32\", or leave it out"));
  }
  if (const ModelDefinition* model = find_model(config.model.name);
      model && model->weights && !model->weights(options).empty()) {
    errors.push_back(
        not_exportable("first values from files are not written in JAX", "model.initialise", "\"random\""));
  }
  if (!config.trains()) errors.push_back(not_exportable("the run has no optimizer: there is no training", "optimizer"));
  if (!config.pipeline.axis.empty()) {
    errors.push_back(
        not_exportable("a pipeline is nothing that shardings can say", "pipeline.axis", "an empty axis leaves it out"));
  }
  return errors;
}

bool mentions(const std::string& text, const std::string& word) {
  return std::regex_search(text, std::regex("\\b" + word + "\\b"));
}

std::string capitals(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// Values of the run file, of which the program has those that its text mentions.
class Constants {
 public:
  void add(const OptionList& options, const std::string& seed) {
    for (const auto& [name, value] : options) {
      values_.emplace_back(name == "seed" ? seed : capitals(name), python_value(value));
    }
  }
  // One that is there stays.
  void add(std::string name, std::string value) {
    const bool known = std::ranges::any_of(values_, [&](const auto& one) { return one.first == name; });
    if (!known) values_.emplace_back(std::move(name), std::move(value));
  }

  std::string mentioned_in(const std::string& text) const {
    std::string lines;
    for (const auto& [name, value] : values_) {
      if (mentions(text, name)) lines += fmt::format("{} = {}\n", name, value);
    }
    return lines;
  }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

std::string imports_of(const std::string& text) {
  std::string lines;
  for (const char* name : {"hashlib", "itertools", "re", "time"}) {
    if (mentions(text, std::string(name) + "\\.")) lines += fmt::format("import {}\n", name);
  }
  return lines +
         "\nimport jax\nimport jax.numpy as jnp\nimport numpy\nimport optax\n"
         "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n";
}

// The network without what spreads its tokens over devices, which shardings do in JAX, unless it decides which tokens
// find room at experts.
Graph network_of(const RunConfig& config) {
  ForwardGraph forward = build_forward(config);
  const ResolvedRun& run = forward.run;
  Graph graph = run.model->build(run.model_options,
                                 {run.microbatch_rows, config.deterministic, config.seed, run.sequence_length});
  const bool counts =
      std::ranges::any_of(graph.ops, [](const Op& op) { return op.definition->name() == "expert_counts"; });
  return counts ? std::move(*forward.graph) : graph;
}

// The model's option that counts its layers.
std::pair<std::string, int64_t> layers_of(const OptionList& options) {
  for (const auto& [name, value] : options) {
    const auto* count = std::get_if<int64_t>(&value);
    if (count && name.find("layers") != std::string::npos) return {capitals(name), *count};
  }
  return {"", -1};
}

// For a docstring.
std::string mesh_text(const Mesh& mesh) {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : mesh.axes()) axes.push_back(fmt::format("{}={}", python_escaped(axis.name), axis.size));
  return fmt::format("{}", fmt::join(axes, ", "));
}

std::string heading(const RunConfig& config, const Mesh& mesh, bool evaluates) {
  std::string text = fmt::format(R"("""{} on a mesh of {}, written by `shardrun export`.

Trains {} on {} and prints a JSON object a step; the losses are those of `shardrun train`.
On other devices leave out the two lines that set os.environ. Needs jax and optax.
)",
                                 config.model.name, mesh_text(mesh), counted(config.steps, "step"),
                                 counted(mesh.device_count(), "virtual CPU device"));
  if (evaluates) text += "The run file's evaluation of held-out data is not part of it.\n";
  text += fmt::format(R"("""

import argparse
import json
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count={}"
os.environ["JAX_PLATFORMS"] = "cpu"

)",
                      mesh.device_count());
  return text;
}

}  // namespace

std::string jax_program(const RunConfig& config, const std::function<void(double share)>& tell) {
  const JaxArrays arrays = jax_arrays(config);
  std::vector<Error> errors = what_jax_lacks(config, arrays.model_options);
  if (!errors.empty()) throw Failure(std::move(errors));

  const Graph graph = network_of(config);
  const JaxOptimizer optimizer = jax_optimizer(config.optimizer);
  const JaxShardings shardings = jax_shardings(arrays, optimizer.kept);
  const JaxData data = jax_data(arrays.data);
  const JaxNetwork network = jax_network(graph, arrays, config.schedule, layers_of(arrays.model_options), tell);

  const std::string head = heading(config, arrays.mesh.whole, arrays.data.evaluation.every > 0);
  std::set<std::string_view> flags;
  if (head.find("%(prog)") != std::string::npos) flags.insert("escaped");
  if (!network.dropped.empty()) flags.insert("dropout");
  if (config.schedule.microbatches > 1) flags.insert("microbatches");
  if (optimizer.scheduled) flags.insert("scheduled");
  if (shardings.has_gradients) flags.insert("gradients");
  std::string loop = jax_lines(loop_text, flags);
  replace(loop, "LOSSES\n", network.losses);

  std::string body = shardings.source + "\n\n" +
                     jax_parameters(graph, config.seed, network.dropped, config.schedule.microbatches) + "\n\n" +
                     network.source + "\n\n" + data.source + "\n\n" + optimizer.source + jax_frozen_parameters(graph) +
                     "\n\n" + loop;
  const size_t main = body.rfind("\n\n\ndef main():");
  body.insert(main, "\n\n\n" + jax_lines(tools, flags));
  while (body.find("\n\n\n\n") != std::string::npos) replace(body, "\n\n\n\n", "\n\n\n");

  Constants constants;
  constants.add(arrays.model_options, "SEED");
  if (const DataInput* tokens = arrays.data.request.find("tokens")) {
    constants.add("VOCAB_SIZE", fmt::format("{}", graph.limits.at("tokens")));
    constants.add("SEQ_LEN", fmt::format("{}", tokens->type.shape[1]));
  }
  constants.add("SEED", fmt::format("{}", config.seed));
  constants.add(arrays.data.options, "DATA_SEED");
  for (const auto& [name, value] : data.constants) constants.add(name, value);
  constants.add("MICROBATCHES", fmt::format("{}", config.schedule.microbatches));
  if (const OptionValue* rate = config.optimizer.find("learning_rate")) constants.add({{"learning_rate", *rate}}, "");
  constants.add("STEPS", fmt::format("{}", config.steps));
  return head + imports_of(body) + "\n" + constants.mentioned_in(body) + "\n" + body;
}

std::string jax_specs(const RunConfig& config, const std::function<void(double share)>& tell) {
  const JaxArrays arrays = jax_arrays(config);
  tell(0.5);
  const std::vector<std::pair<std::string, std::string>> kept =
      config.trains() ? jax_optimizer(config.optimizer).kept : std::vector<std::pair<std::string, std::string>>{};
  return fmt::format("\"\"\"Where the arrays of {} lie on a mesh of {}, written by `shardrun export`.\"\"\"\n\n",
                     config.model.name, mesh_text(arrays.mesh.whole)) +
         "import json\nimport re\n\nimport jax\nimport numpy\n"
         "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n\n" +
         jax_shardings(arrays, kept).source;
}

}  // namespace shardscope
