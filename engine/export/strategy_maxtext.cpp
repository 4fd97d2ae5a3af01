#include <fmt/format.h>

#include <cmath>

#include "engine/base/plural.h"
#include "engine/config/strategy.h"
#include "engine/export/portable_model.h"
#include "engine/export/strategy_format.h"
#include "engine/export/strategy_settings.h"

namespace shardscope {

namespace {

// MaxText's settings (src/maxtext/configs/base.yml) as YAML. Its axes are laid on the topology by JAX. Its pipeline
// runs all microbatches forward, then all backward, and is circular unless a stage has all of its layers in one; its
// iterations recompute all but their inputs unless that is turned off. `minimal` keeps what products gave and
// recomputes attention.
constexpr const char* layers_of_stage = "num_layers_per_pipeline_stage";
constexpr const char* remat_of_iterations = "set_remat_policy_on_pipeline_iterations";

WrittenStrategy write_maxtext(const PortableStrategy& portable) {
  const StrategyConfig& s = portable.strategy;
  UnsaidStrategy unsaid("MaxText");
  unsaid.refuse(s.zero > 1, "zero", "splits optimizer state alone, or parameters too",
                "0, 1, or fsdp in place of data");
  unsaid.refuse(s.zero == 1 && s.expert * s.context > 1, "zero", "splits optimizer state over data alone", "0");
  unsaid.refuse(!s.order.empty(), "order", "leaves the order of axes to JAX", "leave it out");
  unsaid.refuse(s.pipeline > 1 && s.pipeline_schedule != "gpipe", "pipeline_schedule",
                "runs all microbatches forward before the first goes backward", "gpipe");
  unsaid.refuse(s.virtual_stages > 1, "virtual_stages", "has no such order of virtual stages", "1");
  unsaid.refuse(s.recompute != "none" && s.recompute != "selective" && s.recompute != "full", "recompute",
                "recomputes no patterns of ops", "none, selective or full");
  const int64_t microbatches = std::max<int64_t>(1, portable.batch_size / s.replicas() / s.microbatch_size);
  unsaid.refuse(portable.layers % s.pipeline != 0, "pipeline",
                fmt::format("cuts {} into stages of equally many", counted(portable.layers, "layer")), "a divisor");
  unsaid.refuse(microbatches % s.pipeline != 0, "microbatch_size",
                fmt::format("runs {}, no multiple of {}", counted(microbatches, "microbatch", "microbatches"),
                            counted(s.pipeline, "stage")),
                "smaller or larger microbatches");
  unsaid.finish();
  const double devices = static_cast<double>(s.devices());
  std::string text = fmt::format("# on {}\n", counted(s.devices(), "device"));
  const auto add = [&](const char* key, int64_t value) { text += fmt::format("{}: {}\n", key, value); };
  add("ici_data_parallelism", s.data);
  add("ici_fsdp_parallelism", s.fsdp);
  add(s.sequence_parallel ? "ici_tensor_sequence_parallelism" : "ici_tensor_parallelism", s.tensor);
  add("ici_context_parallelism", s.context);
  add("ici_expert_parallelism", s.expert);
  add("ici_pipeline_parallelism", s.pipeline);
  const bool piped = s.pipeline > 1;
  if (piped) {
    add("num_pipeline_microbatches", microbatches);
    if (portable.layers > 0) add(layers_of_stage, portable.layers / s.pipeline);
    if (s.recompute == "none") text += fmt::format("{}: false\n", remat_of_iterations);
  }
  if (!piped && microbatches > 1) add("gradient_accumulation_steps", microbatches);
  text += fmt::format("per_device_batch_size: {}\n", static_cast<double>(portable.batch_size) / devices /
                                                         static_cast<double>(piped ? 1 : microbatches));
  if (s.zero == 1) text += "shard_optimizer_over_data: true\n";
  text += fmt::format("remat_policy: {}\n", s.recompute == "selective" ? "minimal" : s.recompute);
  return {text, {}};
}

PortableStrategy read_maxtext(const std::string& text, const std::string& file, int64_t devices, int64_t layers) {
  StrategySettings settings = maxtext_settings(text, file);
  PortableStrategy result;
  result.layers = layers;
  StrategyConfig& s = result.strategy;
  std::string open;  // the axis that takes all devices that are left
  const auto axis = [&](const std::string& name) {
    int64_t size = 1;
    for (const char* link : {"ici", "dcn"}) {
      const std::string key = fmt::format("{}_{}_parallelism", link, name);
      if (settings.text(key, "1") == "-1") open = key;
      else size *= settings.integer(key, 1);
    }
    return size;
  };
  s.data = axis("data");
  s.fsdp = axis("fsdp");
  s.context = axis("context");
  s.expert = axis("expert");
  s.pipeline = axis("pipeline");
  const int64_t sequence = axis("tensor_sequence");
  s.tensor = axis("tensor");
  if (sequence > 1 && s.tensor > 1)
    settings.fail("ici_tensor_sequence_parallelism", "beside ici_tensor_parallelism", "one of them");
  s.sequence_parallel = sequence > 1;
  s.tensor = std::max(s.tensor, sequence);
  for (const char* other : {"fsdp_transpose", "sequence", "tensor_transpose", "autoregressive"}) {
    if (axis(other) > 1) settings.fail(fmt::format("ici_{}_parallelism", other), "a strategy has no such axis", "1");
  }
  if (!open.empty()) {
    if (devices == 0 || devices % s.devices() != 0) {
      settings.fail(open, "all devices that are left, and these are not known", "--devices N, a multiple");
    } else if (open.find("fsdp") != std::string::npos) {
      s.fsdp *= devices / s.devices();
    } else if (open.find("data") != std::string::npos) {
      s.data *= devices / s.devices();
    } else {
      settings.fail(open, "all devices that are left", "a number");
    }
  }
  const bool piped = s.pipeline > 1;
  if (piped) s.pipeline_schedule = "gpipe";
  const int64_t all = settings.integer("base_num_decoder_layers", layers, 0);
  int64_t repeats = settings.integer("num_pipeline_repeats", -1, -1);
  if (repeats == -1) repeats = all / (s.pipeline * settings.integer(layers_of_stage, 1));
  if (piped && repeats > 1)
    settings.fail(settings.has(layers_of_stage) ? layers_of_stage : "ici_pipeline_parallelism",
                  fmt::format("{} in {} run as a circular pipeline of {}, which has no counterpart",
                              counted(all, "layer"), counted(s.pipeline, "stage"), counted(repeats, "repeat")),
                  fmt::format("{}: {}", layers_of_stage, all / s.pipeline));
  const int64_t steps = settings.integer("gradient_accumulation_steps", 1);
  int64_t microbatches = steps;
  if (piped) microbatches *= settings.integer("num_pipeline_microbatches", s.pipeline, -1);
  if (piped && microbatches < 1) microbatches = s.pipeline * steps;
  const double rows = settings.number("per_device_batch_size", 12) * static_cast<double>(s.devices() * steps);
  result.batch_size = static_cast<int64_t>(std::llround(rows));
  s.microbatch_size = std::max<int64_t>(1, result.batch_size / s.replicas() / microbatches);
  if (s.data > 1 && s.fsdp == 1 && settings.flag("shard_optimizer_over_data")) s.zero = 1;
  s.recompute = settings.text("remat_policy", "full");
  if (s.recompute.starts_with("minimal")) s.recompute = "selective";
  else if (s.recompute != "none" && s.recompute != "full")
    settings.fail("remat_policy", fmt::format("'{}' has no counterpart", s.recompute), "none, minimal or full");
  if (piped && s.recompute == "none" && settings.text(remat_of_iterations, "true") != "false") s.recompute = "full";
  settings.finish();
  return result;
}

}  // namespace

StrategySettings maxtext_settings(const std::string& text, const std::string& file) {
  StrategySettings settings(file);
  int number = 0;
  for (const std::string& line : lines_without_comments(text)) {
    ++number;
    const size_t sign = line.find_first_of(":=");
    if (sign == std::string::npos) continue;
    std::string value = trimmed(line.substr(sign + 1));
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    settings.add(trimmed(line.substr(0, sign)), std::move(value), number);
  }
  return settings;
}

StrategyFormat maxtext_strategy() {
  return {"maxtext", "a YAML file of MaxText", "yml", write_maxtext, read_maxtext, maxtext_model};
}

}  // namespace shardscope
