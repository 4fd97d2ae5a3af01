#include "engine/export/jax_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>

#include "engine/base/plural.h"
#include "engine/compile/training_graph.h"
#include "engine/export/jax_arrays.h"
#include "engine/export/jax_data.h"
#include "engine/export/jax_model.h"
#include "engine/export/jax_optimizer.h"
#include "engine/export/jax_shardings.h"
#include "engine/export/jax_source.h"

namespace shardscope {

namespace {

constexpr std::string_view linen_loop = R"(
def loss_of(params, batch, step):  #? dropout
    rngs = {"dropout": jax.random.fold_in(jax.random.PRNGKey(SEED), step)}  #? dropout
    outputs = model.apply(params, batch[MODEL_INPUT], rngs=rngs)  #? dropout
def loss_of(params, batch):  #! dropout
    outputs = model.apply(params, batch[MODEL_INPUT])  #! dropout
    outputs = constrain(outputs, OUTPUT_SPEC)  #? output
    return losses(outputs, batch)


MEAN_GRADIENTS  #? microbatches


def train_step(state, batch, step):  #? dropout
def train_step(state, batch):  #! dropout
    params, optimizer_state = state
    (loss, metrics), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, batch, step)  #? dropout
    (loss, metrics), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, batch)  #! dropout  #! microbatches
    (loss, metrics), gradients = mean_gradients(params, batch)  #? microbatches
    gradients = jax.lax.with_sharding_constraint(gradients, shardings(gradients, "gradients/"))  #? gradients
    updates, optimizer_state = optimizer.update(gradients, optimizer_state, params)
    return (optax.apply_updates(params, updates), optimizer_state), {"loss": loss, **metrics}


def main():
    arguments = parse_arguments()
    keys = {"params": jax.random.PRNGKey(SEED), "dropout": jax.random.PRNGKey(SEED)}  #? dropout
    params = jax.jit(model.init)(keys, place_batch(next(batches()))[MODEL_INPUT])  #? dropout
    params = jax.jit(model.init)(jax.random.PRNGKey(SEED), place_batch(next(batches()))[MODEL_INPUT])  #! dropout
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

constexpr std::string_view mean_gradients = R"(def mean_gradients(WEIGHTS, batch):
    """Losses and gradients of parts of the batch, one after the other; the means."""
    parts = [{name: jnp.split(array, MICROBATCHES)[i] for name, array in batch.items()} for i in range(MICROBATCHES)]
    results = [LIBRARY.value_and_grad(loss_of, has_aux=True)(WEIGHTS, part) for part in parts]
    return jax.tree.map(lambda *terms: sum(terms) / MICROBATCHES, *results))";

constexpr std::string_view nnx_loop = R"(
def loss_of(model, batch):
    outputs = model(batch[MODEL_INPUT])
    outputs = constrain(outputs, OUTPUT_SPEC)  #? output
    return losses(outputs, batch)


MEAN_GRADIENTS  #? microbatches


@nnx.jit
def train_step(model, optimizer, batch):
    (loss, metrics), gradients = nnx.value_and_grad(loss_of, has_aux=True)(model, batch)  #! microbatches
    (loss, metrics), gradients = mean_gradients(model, batch)  #? microbatches
    gradients = jax.lax.with_sharding_constraint(gradients, shardings(gradients, "gradients/"))  #? gradients
    optimizer.update(model, gradients)
    for node in (model, optimizer):
        state = nnx.state(node)
        nnx.update(node, jax.lax.with_sharding_constraint(state, shardings(state)))
    return {"loss": loss, **metrics}


def main():
    arguments = parse_arguments()
    model = MODEL
    trained = nnx.Optimizer(model, optimizer, wrt=nnx.Param)
    for node in (model, trained):
        state = nnx.state(node)
        nnx.update(node, jax.device_put(state, shardings(state)))
    for step, batch in zip(range(arguments.steps), batches()):
        start = time.perf_counter()
        metrics = train_step(model, trained, place_batch(batch))
        print_step(step, metrics, start)
    if arguments.write_specs:
        write_specs(arguments.write_specs, nnx.state(model), nnx.state(trained))


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
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--write-specs", metavar="FILE", help="how all arrays lie, as JSON {path: spec}, at the end")
    return parser.parse_args()
)";

Error not_exportable(const std::string& message, const std::string& place, const std::string& hint = "") {
  return {"not_exportable", message, place,
          (hint.empty() ? "" : hint + "; ") + "page 'specs' has where all arrays lie, of any run"};
}

bool drops(const RunConfig& config, const OptionList& options) {
  const OptionValue* rate = find_option(options, "dropout_rate");
  return !config.deterministic && rate && std::get<double>(*rate) > 0;
}

std::vector<Error> what_jax_lacks(const RunConfig& config, const JaxModel* model, const OptionList& options) {
  std::vector<Error> errors;
  if (!model) {
    errors.push_back(not_exportable(fmt::format("model '{}' has no original in Flax", config.model.name), "model.name",
                                    fmt::format("of {} there are", fmt::join(jax_model_names(), ", "))));
    return errors;
  }
  for (const auto& [name, value] : model->only) {
    const OptionValue& given = *find_option(options, std::string(name));
    if (given == value) continue;
    errors.push_back(not_exportable(fmt::format("the model's source in Flax has no {} {}", name, python_value(given)),
                                    fmt::format("model.{}", name), python_value(value)));
  }
  if (model->lacks) {
    for (const auto& [place, message] : model->lacks(options)) errors.push_back(not_exportable(message, place));
  }
  if (config.precision != PrecisionConfig{} && config.precision.recipe != "f32") {
    errors.push_back(not_exportable("types of parameters and gradients are not written in Flax", "precision",
                                    "\"f32\", or leave it out"));
  }
  if (!config.trains()) errors.push_back(not_exportable("the run has no optimizer: there is no training", "optimizer"));
  if (!config.pipeline.axis.empty()) {
    errors.push_back(
        not_exportable("a pipeline is nothing that shardings can say", "pipeline.axis", "an empty axis leaves it out"));
  }
  const ScheduleConfig& schedule = config.schedule;
  if (schedule.rematerialise != "none" && schedule.rematerialise != "full") {
    errors.push_back(not_exportable("rematerialisation of parts of a layer is not written in Flax",
                                    "schedule.rematerialise", "\"none\" or \"full\""));
  }
  if (schedule.rematerialise == "full" && schedule.rematerialised_layers != 1) {
    errors.push_back(not_exportable("rematerialisation of several layers at once is not written in Flax",
                                    "schedule.rematerialised_layers", "1"));
  }
  if (schedule.microbatches > 1 && drops(config, options)) {
    errors.push_back(not_exportable("Flax would drop other elements in microbatches than in the whole batch",
                                    "schedule.microbatches", "1, or \"deterministic\": true"));
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

std::string constant_value(const OptionValue& value) {
  if (value == OptionValue(std::string("f32"))) return "jnp.float32";
  if (value == OptionValue(std::string("bf16"))) return "jnp.bfloat16";
  return python_value(value);
}

// Values of the run file, of which the program has those that its text mentions.
class Constants {
 public:
  void add(const OptionList& options, const std::string& seed) {
    for (const auto& [name, value] : options) {
      values_.emplace_back(name == "seed" ? seed : capitals(name), constant_value(value));
    }
  }
  void add(std::string name, std::string value) { values_.emplace_back(std::move(name), std::move(value)); }

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

std::string imports_of(const std::string& text, bool linen) {
  std::string lines;
  for (const char* name : {"itertools", "math", "re", "time"}) {
    if (mentions(text, std::string(name) + "\\.")) lines += fmt::format("import {}\n", name);
  }
  return lines + fmt::format(
                     "\nimport jax\nimport jax.numpy as jnp\nimport numpy\nimport optax\nfrom flax import {}\n"
                     "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n",
                     linen ? "linen as nn" : "nnx");
}

std::string mesh_text(const Mesh& mesh) {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : mesh.axes()) axes.push_back(fmt::format("{}={}", axis.name, axis.size));
  return fmt::format("{}", fmt::join(axes, ", "));
}

std::string heading(const RunConfig& config, const Mesh& mesh, bool evaluates) {
  std::string text = fmt::format(R"("""{} on a mesh of {}, written by `shardrun export`.

Trains {} on {} and prints a JSON object a step; the losses are those of `shardrun train`.
On other devices leave out the two lines that set os.environ. Needs jax, flax and optax.
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
  const JaxModel* model = find_jax_model(config.model.name);
  const OptionList& options = arrays.model_options;
  std::vector<Error> errors = what_jax_lacks(config, model, options);
  if (!errors.empty()) throw Failure(std::move(errors));

  const bool linen = model->library == JaxModel::Library::linen;
  const JaxOptimizer optimizer = jax_optimizer(config.optimizer);
  const JaxShardings shardings = jax_shardings(arrays, optimizer.kept, linen);
  const JaxData data = jax_data(arrays.data);

  std::set<std::string_view> flags;
  if (drops(config, options)) flags.insert("dropout");
  if (config.schedule.rematerialise == "full") flags.insert("remat");
  if (config.schedule.microbatches > 1) flags.insert("microbatches");
  if (optimizer.scheduled) flags.insert("scheduled");
  if (shardings.output) flags.insert("output");
  if (shardings.has_gradients) flags.insert("gradients");
  if (model->flags) {
    for (std::string_view flag : model->flags(options)) flags.insert(flag);
  }

  std::string instance = jax_lines(model->instance, flags);
  if (instance.ends_with('\n')) instance.pop_back();
  std::string loop = jax_lines(linen ? linen_loop : nnx_loop, flags);
  replace(loop, "MEAN_GRADIENTS", std::string(mean_gradients));
  replace(loop, "LIBRARY", linen ? "jax" : "nnx");
  replace(loop, "WEIGHTS", linen ? "params" : "model");
  replace(loop, "MODEL_INPUT", arrays.data.request.find("tokens") ? "\"tokens\"" : "\"inputs\"");
  replace(loop, "OUTPUT_SPEC", shardings.output.value_or(""));
  replace(loop, "MODEL", instance);

  const std::string source = jax_source(model->source, flags, arrays, tell);
  std::string body =
      shardings.source + "\n\n" + source + "\n\n" + jax_lines(model->losses, flags) + "\n\n" + data.source + "\n\n";
  if (linen) body += fmt::format("model = {}\n", instance);
  body += optimizer.source + "\n\n" + loop;
  const size_t main = body.rfind("\n\n\ndef main():");
  body.insert(main, "\n\n\n" + jax_lines(tools, flags));
  while (body.find("\n\n\n\n") != std::string::npos) replace(body, "\n\n\n\n", "\n\n\n");

  Constants constants;
  constants.add(options, "SEED");
  constants.add("SEED", fmt::format("{}", config.seed));
  constants.add(arrays.data.options, "DATA_SEED");
  for (const auto& [name, value] : data.constants) constants.add(name, value);
  constants.add("MICROBATCHES", fmt::format("{}", config.schedule.microbatches));
  if (const OptionValue* rate = config.optimizer.find("learning_rate")) constants.add({{"learning_rate", *rate}}, "");
  constants.add("STEPS", fmt::format("{}", config.steps));
  return heading(config, arrays.mesh.whole, arrays.data.evaluation.every > 0) + imports_of(body, linen) + "\n" +
         constants.mentioned_in(body) + "\n" + body;
}

std::string jax_specs(const RunConfig& config, const std::function<void(double share)>& tell) {
  const JaxArrays arrays = jax_arrays(config);
  tell(0.5);
  const std::vector<std::pair<std::string, std::string>> kept =
      config.trains() ? jax_optimizer(config.optimizer).kept : std::vector<std::pair<std::string, std::string>>{};
  const JaxModel* model = find_jax_model(config.model.name);
  const bool linen = !model || model->library == JaxModel::Library::linen;
  return fmt::format("# Where the arrays of {} lie on a mesh of {}, written by `shardrun export`.\n", config.model.name,
                     mesh_text(arrays.mesh.whole)) +
         "import json\nimport re\n\nimport jax\nimport numpy\n"
         "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n\n" +
         jax_shardings(arrays, kept, linen).source;
}

}  // namespace shardscope
