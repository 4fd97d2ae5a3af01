#pragma once

#include <string>
#include <vector>

#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/compile/settings.h"
#include "engine/lint/lint.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/host_machine.h"

namespace shardscope::test {

// A run in which a rule finds nothing, and the change that plants its fault.
struct Planted {
  std::string rule, preset;
  std::vector<std::string> sound;    // settings of the preset without the fault
  std::vector<std::string> planted;  // and further ones with it
  std::string machine;               // as a run file says it; empty: the reference host
  bool has_fix = true;
};

inline RunConfig run_of(const Planted& one, bool with_fault) {
  RunConfig config = load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets" / (one.preset + ".json"));
  std::vector<std::string> settings = one.sound;
  if (with_fault) settings.insert(settings.end(), one.planted.begin(), one.planted.end());
  return with_settings(config, settings);
}

inline Plan plan_of(const Planted& one, bool with_fault) {
  return compile({run_of(one, with_fault), one.machine.empty() ? reference_host() : chosen_machine(one.machine, {})});
}

inline Plan plan_like(const Plan& plan, const RunConfig& config) { return compile({config, plan.machine}); }

inline const Finding* find_rule(const LintReport& report, const std::string& rule) {
  const auto found = std::ranges::find(report.findings, rule, &Finding::rule);
  return found == report.findings.end() ? nullptr : &*found;
}

// One of each rule at least, but for `fragmentation`, of which no preset has as much (measured_rules_test plants it).
inline const std::vector<Planted>& planted_faults() {
  const std::string gpus = R"("dgx_h100")";
  const std::string model_outside = R"(mesh.axes=[{"name":"model","size":4},{"name":"data","size":4}])";
  const std::vector<std::string> narrow_keys{"mesh.data=2", "model.overrides.num_key_value_heads=2",
                                             "sharding.mode=as_written"};
  const std::string two_axes = R"(mesh.axes=[{"name":"data","size":4},{"name":"model","size":2}])";
  static const std::vector<Planted> faults{
      {"memory", "tiny_lm_dp", {"sharding.memory_limit_mib=60"}, {"sharding.memory_limit_mib=30"}, ""},
      {"memory", "tiny_lm_dp", {"sharding.memory_limit_mib=60"}, {"sharding.memory_limit_mib=20"}, ""},
      {"memory", "tiny_lm_dp", {}, {"sharding.memory_limit_mib=1"}, "", false},
      {"idle_axis",
       "tiny_lm_dp",
       {"sharding.mode=as_written"},
       {R"(mesh.axes=[{"name":"data","size":4},{"name":"spare","size":2}])"},
       ""},
      {"communication", "workshop_tp", {"data.batch_size=512"}, {"data.batch_size=16", "mesh.data=4"}, gpus, false},
      {"tensor_across_nodes", "workshop_tp", {"data.batch_size=16", "mesh.data=4"}, {model_outside}, gpus},
      {"heavy_on_slow_level",
       "parallax_decoder",
       {"sharding.mode=as_written", "mesh.data=2", "mesh.model=8"},
       {R"(mesh.axes=[{"name":"model","size":8},{"name":"data","size":2}])"},
       gpus},
      {"overlap", "parallax_decoder", {"mesh.data=8"}, {"schedule.overlap=off"}, gpus},
      {"stage_imbalance",
       "workshop_3d",
       {"model.num_layers=8", "model.hidden_size=64", "model.ffn_hidden_size=128", "model.seq_len=16",
        "model.num_heads=4", "mesh.data=1", "mesh.model=1", "pipeline.layers=[4,4]"},
       {"pipeline.layers=[6,2]"},
       ""},
      {"stage_imbalance", "workshop_gpipe", {"mesh.pipeline=1", "pipeline.layers=[]"}, {"mesh.pipeline=3"}, "", false},
      {"bubble", "workshop_3d", {"schedule.microbatches=8"}, {"schedule.microbatches=2"}, gpus},
      {"recompute", "tiny_lm_dp", {}, {"schedule.rematerialise=full"}, ""},
      {"replicated_state", "tiny_lm_dp", {"sharding.zero.stage=3"}, {"sharding.zero.stage=0"}, ""},
      {"costly_zero",
       "workshop_tp",
       {"mesh.data=4", "data.batch_size=8", "schedule.overlap=off"},
       {"sharding.zero.stage=3"},
       gpus},
      {"indivisible_batch", "mintext_transformer", {"sharding.constraints={}"}, {"data.batch_size=6"}, ""},
      {"indivisible_batch",  // by the product of two axes that divide it one by one
       "llama_tiny",
       {two_axes, R"(sharding.rules=[{"axes":{"batch":["data","model"]},"of":"inputs"}])", "sharding.mode=as_written",
        "sharding.in=[]", "sharding.out=[]"},
       {"data.batch_size=4"},
       ""},
      {"few_kv_heads", "llama_tiny", narrow_keys, {"mesh.model=4"}, ""},
      {"vocabulary", "llama_tiny", {}, {"model.overrides.vocab_size=255"}, ""},
      {"vocabulary", "tiny_text", {"mesh.model=2"}, {"model.vocab_size=257"}, "", false},
      {"vocabulary",  // as above
       "llama_tiny",
       {R"(sharding.rules=[{"axes":{"vocab":["data","model"]}}])", "sharding.mode=as_written", "sharding.in=[]",
        "sharding.out=[]", "model.overrides.vocab_size=252"},
       {"model.overrides.vocab_size=254"},
       ""},
      {"vocabulary",  // only where a rule names it
       "llama_tiny",
       {R"(sharding.rules=[{"axes":{"mlp":"model"}}])", "sharding.mode=as_written", "model.overrides.vocab_size=255"},
       {R"(sharding.rules=[{"axes":{"vocab":"model"}}])"},
       ""},
      {"uncontracted_spec", "parallax_decoder", {"optimizer=null", "mesh.model=1"}, {"mesh.model=2"}, gpus},
      {"uncontracted_spec",  // over the axis of the batch, which splits no other parameter
       "tiny_text",
       {"sharding.mode=as_written", "mesh.model=2"},
       {R"(sharding.parameters.params.blocks.0.mha.query.kernel=["data",null,null])"},
       ""},
      {"uncontracted_spec",  // the product keeps the axis along another dimension: an all-to-all for each use
       "tiny_text",
       {"sharding.mode=as_written", "mesh.model=2"},
       {R"(sharding.parameters.params.blocks.0.linear1.kernel=["model",null])"},
       ""},
      {"gathered_embedding",
       "parallax_decoder",
       {"optimizer=null", "sharding.mode=as_written", R"(sharding.parameters.params.Embed_0.embedding=[null,"model"])"},
       {R"(sharding.parameters.params.Embed_0.embedding=["data","model"])"},
       gpus},
      {"gathered_logits", "mintext_transformer", {R"(sharding.out=["x",null,"y"])"}, {"sharding.out=[]"}, ""},
      {"avoidable_reshard", "tiny_text", {"mesh.model=2", "sharding.out=[]"}, {R"(sharding.out=["model",null])"}, ""},
      {"split_all_reduce",
       "workshop_tp",
       {R"(sharding.constraints.ffn_layer*/einsum=[null,"model",null])",
        R"(sharding.constraints.output_proj/einsum=[null,"model",null])"},
       {"sharding.constraints={}"},
       ""},
      {"small_products", "workshop_gpipe", {"schedule.microbatches=1"}, {"schedule.microbatches=4"}, ""},
      {"padding", "workshop_gpipe", {"schedule.microbatches=2"}, {"data.batch_size=34"}, ""},
      {"expert_imbalance", "mixtral_tiny", {}, {"schedule.microbatches=4"}, ""},
      {"bf16_accumulation",
       "tiny_lm_dp",
       {"precision=bf16_mixed", "schedule.microbatches=2"},
       {"precision.gradients=bf16"},
       "",
       false},
      {"short_context",
       "workshop_sequence",
       {"data.batch_size=4", "mesh.data=4", "mesh.sequence=1"},
       {"mesh.data=2", "mesh.sequence=2"},
       gpus},
      {"context_attention",
       "llama_tiny",
       {R"(mesh.axes=[{"name":"data","size":1},{"name":"context","size":2}])",
        R"(sharding.rules=[{"axes":{"vocab":null}}])", R"(sharding.in=["data","context"])",
        R"(sharding.out=["data","context"])", "sharding.mode=as_written", "model.context_attention=gather"},
       {"model.context_attention=ring"},
       gpus},
  };
  return faults;
}

}  // namespace shardscope::test
