#include "engine/ops/rotary.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

uint64_t hash_of_frequencies(const RotaryAttributes& a) { return hash_bytes(std::as_bytes(std::span(a.frequencies))); }

}  // namespace

std::string to_string(const RotaryAttributes& a) {
  if (a.frequencies.empty()) return "no frequencies";
  return fmt::format("pairs={}{}{}, frequencies={}..{} ({:016x}), magnitude={}{}", a.frequencies.size(),
                     a.interleaved ? " interleaved" : "", a.backward ? " backward" : "", a.frequencies.front(),
                     a.frequencies.back(), hash_of_frequencies(a), a.magnitude,
                     a.blocks > 1 ? fmt::format(", zig-zag of {}", a.blocks) : "");
}

uint64_t hash_of(const RotaryAttributes& a) { return hash_of_frequencies(a) + (a.backward ? 1 : 0); }

namespace {

class Rotary : public LabelledOp {
 public:
  std::string_view name() const override { return "rotary"; }
  std::string_view work_kind() const override { return "attention"; }
  int in_place_operand(int) const override { return 0; }

  OpSignature infer(const Attributes& attributes, std::span<const TensorType> operands) const override {
    OpSignature signature = LabelledOp::infer(attributes, operands);
    const auto pairs = static_cast<int64_t>(attributes.as<RotaryAttributes>().frequencies.size());
    if (pairs < 1 || 2 * pairs > operands[0].shape[3]) {
      throw Failure(Error{"attributes", fmt::format("{} pairs in a head of {}", pairs, operands[0].shape[3]), "",
                          "at most half the size of a head"});
    }
    return signature;
  }

  // The transposed map; it needs no forward value.
  void gradient(GradientContext& context) const override {
    RotaryAttributes back = context.graph.ops[context.op].attributes.as<RotaryAttributes>();
    back.backward = !back.backward;
    context.operand_cotangents[0] = context.append_value(*this, {context.result_cotangents[0]}, back);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    attributes.as<RotaryAttributes>();
    return {{"bshd"}, {"bshd"}, "d", /*linear=*/true};
  }
  double flops_per_element() const override { return 3; }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
};

const Rotary rotary;

}  // namespace

std::vector<const OpDefinition*> rotary_ops() { return {&rotary}; }

}  // namespace shardscope
