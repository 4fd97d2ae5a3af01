#include "engine/ops/expert_load.h"

#include <fmt/format.h>

#include "engine/ops/stated_op.h"

namespace shardscope {

std::string to_string(const ExpertLoadAttributes& a) { return fmt::format("experts={}", a.experts); }

namespace {

Labels load_labels(const Attributes& attributes, std::span<const TensorType>) {
  return {{"bsk"}, {"n"}, "kn", false, {}, {{'n', attributes.as<ExpertLoadAttributes>().experts}}};
}

const StatedOp expert_load({.name = "expert_load",
                            .work_kind = "reductions",
                            .flops = 1,
                            .types = "i->f",
                            .labels = load_labels,
                            .stops_gradient = true});

}  // namespace

std::vector<const OpDefinition*> expert_load_ops() { return {&expert_load}; }

}  // namespace shardscope
