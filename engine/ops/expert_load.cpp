#include "engine/ops/expert_load.h"

#include <fmt/format.h>

#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const ExpertLoadAttributes& a) { return fmt::format("experts={}", a.experts); }

namespace {

class ExpertLoad : public LabelledOp {
 public:
  std::string_view name() const override { return "expert_load"; }
  std::string_view work_kind() const override { return "reductions"; }
  bool stops_gradient() const override { return true; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    return {{"bsk"}, {"n"}, "kn", false, {}, {{'n', attributes.as<ExpertLoadAttributes>().experts}}};
  }
  bool takes(int, DType dtype) const override { return dtype == DType::i32; }
  double flops_per_element() const override { return 1; }
};

const ExpertLoad expert_load;

}  // namespace

std::vector<const OpDefinition*> expert_load_ops() { return {&expert_load}; }

}  // namespace shardscope
