#include "engine/config/run_file_keys.h"

namespace shardscope::run_file {

const Keys& root() {
  static const Keys keys = {
      {"version", false, "2"},
      {"model", true, R"({"name": "decoder_only_transformer", ...})"},
      {"strategy", false, R"({"data": 4, "tensor": 2})"},
      {"mesh", false, R"({"axes": [{"name": "data", "size": 4}]})"},  // required without a strategy, as is
      {"sharding", false, R"({"in": ["data", null], "parameters": {...}})"},
      {"data", true, R"({"kind": "synthetic_lm", ...})"},
      {"optimizer", false, R"({"name": "adam", ...})"},
      {"precision", false, R"("bf16_mixed")"},
      {"schedule", false, R"({"microbatches": 4})"},
      {"pipeline", false, R"({"axis": "pipeline", "schedule": "1f1b"})"},
      {"lint", false, R"({"off": {"bubble": "the batch is fixed"}})"},
      {"machine", false, R"("host")"},
      {"stack", false, R"("megatron")"},
      {"hosts", false, R"("h0:4,h1:4")"},
      {"seed", true, "0"},
      {"steps", true, "10"},
      {"deterministic", false, "true"},
  };
  return keys;
}

const Keys& strategy() {
  static const Keys keys = {
      {"data", false, "4"},
      {"fsdp", false, "4"},
      {"tensor", false, "8"},
      {"pipeline", false, "4"},
      {"virtual_stages", false, "2"},
      {"pipeline_schedule", false, R"("1f1b")"},
      {"context", false, "2"},
      {"expert", false, "8"},
      {"sequence_parallel", false, "true"},
      {"zero", false, "1"},
      {"microbatch_size", false, "1"},
      {"recompute", false, R"("selective")"},
      {"order", false, R"(["pipeline", "data", "tensor"])"},
  };
  return keys;
}

const Keys& mesh() {
  static const Keys keys = {
      {"axes", true, R"([{"name": "data", "size": 4}])"},
      {"devices", false, "[0, 1, 2, 3]"},
  };
  return keys;
}

const Keys& mesh_axis() {
  static const Keys keys = {{"name", true, R"("data")"}, {"size", true, "4"}};
  return keys;
}

const Keys& sharding() {
  static const Keys keys = {
      {"mesh_axes", false, R"(["data", "model"])"},
      {"mode", false, R"("fastest")"},
      {"in", false, R"(["data", null])"},
      {"out", false, R"(["data", null])"},
      {"parameters", false, R"({"params": {"Embed_0": {"embedding": ["data", "model"]}}})"},
      {"constraints", false, R"({"**/gelu": ["data", null, "model"]})"},
      {"rules", false, R"([{"names": "params/**/kernel", "spec": [null, "model"]}])"},
      {"zero", false, R"({"stage": 1, "axis": "data"})"},
      {"keep", false, R"(["tensor"])"},
      {"memory_limit_mib", false, "16384"},
  };
  return keys;
}

const Keys& lint() {
  static const Keys keys = {{"off", false, R"({"bubble": "the batch is fixed"})"}};
  return keys;
}

const Keys& rule_by_name() {
  static const Keys keys = {
      {"names", true, R"("params/**/kernel")"},
      {"spec", true, R"([null, "model"])"},
      {"of", false, R"("parameters")"},
  };
  return keys;
}

const Keys& rule_by_axes() {
  static const Keys keys = {
      {"names", false, R"("**")"},
      {"axes", true, R"({"mlp": "model", "embed": null})"},
      {"dimensions", false, R"(["batch", "length", "embed"])"},
      {"of", false, R"("parameters")"},
  };
  return keys;
}

const Keys& rule_by_size() {
  static const Keys keys = {
      {"names", false, R"("**")"},
      {"largest", true, R"("data")"},
      {"minimum_bytes", false, "0"},
      {"of", false, R"("parameters")"},
  };
  return keys;
}

std::string choice_key(const std::string& section) { return section == "data" ? "kind" : "name"; }

const std::vector<std::string>& layout_modes() {
  static const std::vector<std::string> modes = {"fastest", "as_written"};
  return modes;
}

const std::vector<std::string>& spec_kinds() {
  static const std::vector<std::string> kinds = {"parameters", "optimizer", "states",   "activations",
                                                 "inputs",     "outputs",   "gradients"};
  return kinds;
}

std::vector<std::string> names(const Keys& keys) {
  std::vector<std::string> result;
  for (const Key& key : keys) result.push_back(key.name);
  return result;
}

}  // namespace shardscope::run_file
