#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

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
// recomputes attention. Parameters are split over fsdp and over the devices of experts and of context as well: with
// these there is ZeRO 3 over all or nothing. The product of dcn_* is the number of slices or nodes, that of ici_* the
// devices of one; of each list one may be -1, which is all that are left: usually ici_fsdp and dcn_data.
constexpr const char* layers_of_stage = "num_layers_per_pipeline_stage";
constexpr const char* remat_of_iterations = "set_remat_policy_on_pipeline_iterations";

// The degrees, outermost axes first: of these come the factors over slices.
std::string axes_text(const PortableStrategy& portable) {
  const StrategyConfig& s = portable.strategy;
  const bool is_zero = s.zero == 3;
  const std::pair<const char*, int64_t> axes[] = {{"pipeline", s.pipeline},
                                                  {"data", is_zero ? 1 : s.data},
                                                  {"fsdp", is_zero ? s.data : s.fsdp},
                                                  {"expert", s.expert},
                                                  {"context", s.context},
                                                  {s.sequence_parallel ? "tensor_sequence" : "tensor", s.tensor}};
  const int64_t all = s.devices(), of_a_slice = portable.slice_devices;
  const int64_t slices = of_a_slice > 0 && all % of_a_slice == 0 ? all / of_a_slice : 1;
  std::string text = fmt::format("# on {}, in {}\n", counted(all, "device"), counted(slices, "slice"));
  int64_t left = slices;
  for (const auto& [axis, size] : axes) {
    const int64_t outer = std::gcd(left, size);
    left /= outer;
    if (outer > 1) text += fmt::format("dcn_{}_parallelism: {}\n", axis, outer);
    text += fmt::format("ici_{}_parallelism: {}\n", axis, size / outer);
  }
  return text;
}

WrittenStrategy write_maxtext(const PortableStrategy& portable) {
  const StrategyConfig& s = portable.strategy;
  UnsaidStrategy unsaid("MaxText");
  const bool has_shared = s.expert * s.context > 1;
  unsaid.refuse(s.zero == 2 || (s.zero == 1 && has_shared), "zero", "splits optimizer state alone, or parameters too",
                has_shared ? "3" : "0, 1, or fsdp in place of data");
  unsaid.refuse_replicas_within(s);
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
  std::string text = axes_text(portable);
  const auto add = [&](const char* key, int64_t value) { text += fmt::format("{}: {}\n", key, value); };
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
  return {text, {}, layers_of_equal_chunks(portable.layers, s.pipeline)};
}

// Degrees of a file, each the product of its ici_* and dcn_*.
class MaxTextAxes {
 public:
  explicit MaxTextAxes(StrategySettings& settings) : settings_(settings) {}

  // Without what is left.
  int64_t size(const std::string& axis) {
    int64_t size = 1;
    for (const std::string link : {"ici", "dcn"}) {
      const std::string name = fmt::format("{}_{}_parallelism", link, axis);
      const bool is_usual = name == "ici_fsdp_parallelism" || name == "dcn_data_parallelism";
      if (settings_.has(name)) written_ = name;
      if (settings_.text(name, is_usual ? "-1" : "1") != "-1") size *= settings_.integer(name, 1);
      else if (auto& open = link == "ici" ? ici_ : dcn_; open.empty() || settings_.has(name)) open = name;
    }
    return size;
  }

  // The key that says most of an axis.
  std::string key(const std::string& axis) const {
    const std::string inner = fmt::format("ici_{}_parallelism", axis), outer = fmt::format("dcn_{}_parallelism", axis);
    return settings_.has(outer) && settings_.text(outer, "1") != "1" ? outer : inner;
  }

  // Gives what the degrees leave of the devices to the axis of -1: within a slice where there is one, else over slices.
  void take_the_rest(StrategyConfig& strategy, int64_t devices) {
    const std::string open = ici_.empty() ? dcn_ : ici_;
    const int64_t given = strategy.devices();
    if (devices == 0) {
      if (!ici_.empty()) settings_.fail(ici_, "all devices that are left, and these are not known", "--devices N");
      return;
    }
    if (devices % given != 0 || (open.empty() && devices != given)) {
      settings_.fail(settings_.has(open) ? open : written_,
                     fmt::format("the degrees make {}, of {}", counted(given, "device"), devices),
                     fmt::format("--devices {}", given));
    } else if (open.find("_fsdp_p") != std::string::npos) {
      strategy.fsdp *= devices / given;
    } else if (open.find("_data_p") != std::string::npos) {
      strategy.data *= devices / given;
    } else if (!open.empty()) {
      settings_.fail(open, "all devices that are left", "a number");
    }
  }

 private:
  StrategySettings& settings_;
  std::string ici_, dcn_;  // keys that are -1, a written one before a usual one
  std::string written_;    // the last
};

PortableStrategy read_maxtext(const std::string& text, const std::string& file, int64_t devices, int64_t layers) {
  StrategySettings settings = maxtext_settings(text, file);
  PortableStrategy result;
  result.layers = layers;
  StrategyConfig& s = result.strategy;
  MaxTextAxes axes(settings);
  s.data = axes.size("data");
  s.fsdp = axes.size("fsdp");
  s.context = axes.size("context");
  s.expert = axes.size("expert");
  s.pipeline = axes.size("pipeline");
  const int64_t sequence = axes.size("tensor_sequence");
  s.tensor = axes.size("tensor");
  if (sequence > 1 && s.tensor > 1)
    settings.fail("ici_tensor_sequence_parallelism", "beside ici_tensor_parallelism", "one of them");
  s.sequence_parallel = sequence > 1;
  s.tensor = std::max(s.tensor, sequence);
  for (const char* other : {"fsdp_transpose", "sequence", "context_usp_ulysses", "context_autoregressive",
                            "tensor_transpose", "autoregressive", "diloco"}) {
    if (axes.size(other) > 1)
      settings.fail(fmt::format("ici_{}_parallelism", other), "a strategy has no such axis", "1");
  }
  axes.take_the_rest(s, devices);
  if (s.expert * s.context > 1) {
    if (s.data > 1)
      settings.fail(axes.key("data"),
                    "parameters are split over the devices of experts and of context, but not over all replicas", "1");
    s.data = std::exchange(s.fsdp, 1);
    s.zero = 3;
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
  if (settings.flag("shard_optimizer_over_data") && s.data > 1 && s.zero == 0) {
    if (s.fsdp > 1) settings.fail("shard_optimizer_over_data", "a strategy has no ZeRO beside fsdp", "false");
    s.zero = 1;
  }
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
