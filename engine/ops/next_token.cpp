#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

// Next-token prediction as tokens[:, 1:] against logits[:, :-1], without slicing: (tokens i32 (b, s)) -> (labels i32
// (b, s), weights f32 (b, s)). A position's label is the token after it; the last position's is 0, with weight 0, and
// the others weigh s / (s - 1), so that the weighted mean over b x s positions is the mean over those that have a
// label. A position needs its neighbour: s cannot be split.
class NextToken : public LabelledOp {
 public:
  std::string_view name() const override { return "next_token"; }
  std::string_view work_kind() const override { return "data movement"; }
  bool stops_gradient() const override { return true; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bs"}, {"bs", "bs"}, "s", false};
  }
  bool takes(int, DType dtype) const override { return dtype == DType::i32; }
  DType result_dtype(int result, const Attributes&, std::span<const TensorType>) const override {
    return result == 0 ? DType::i32 : DType::f32;
  }
  double flops_per_element() const override { return 1; }
};

const NextToken next_token;

}  // namespace

std::vector<const OpDefinition*> next_token_ops() { return {&next_token}; }

}  // namespace shardscope
