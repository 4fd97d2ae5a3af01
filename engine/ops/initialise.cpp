#include "engine/ops/initialise.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const InitialiseAttributes& a) {
  constexpr std::string_view kinds[] = {"constant", "normal", "truncated_normal", "uniform", "sinusoidal"};
  return fmt::format("{} scale={}, key={:08x}{:08x}, type={}{}", kinds[static_cast<int>(a.kind)], a.scale, a.key.k0,
                     a.key.k1, name(a.type.dtype), to_string(a.type.shape));
}

uint64_t hash_of(const InitialiseAttributes& attributes) {
  uint64_t hash = (uint64_t{attributes.key.k0} << 32 | attributes.key.k1) ^ static_cast<uint64_t>(attributes.kind);
  for (int64_t size : attributes.type.shape) hash = hash * 1000003 + static_cast<uint64_t>(size);
  return hash;
}

namespace {

class Initialise : public LabelledOp {
 public:
  std::string_view name() const override { return "initialise"; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    const InitialiseAttributes& made = attributes.as<InitialiseAttributes>();
    const auto& [shape, dtype] = made.type;
    if (!is_float(dtype)) {
      throw Failure(Error{"dtype", "initialise of " + std::string(shardscope::name(dtype)), "", "f32 or bf16"});
    }
    if (made.kind == InitialiseAttributes::Kind::sinusoidal && shape.size() != 2) {
      throw Failure(Error{"rank", "a sinusoidal array of shape " + to_string(shape), "", "it is (length, features)"});
    }
    return source_labels(shape);
  }
  double flops_per_element() const override { return 50; }
  DType result_dtype(int, const Attributes& attributes, std::span<const TensorType>) const override {
    return attributes.as<InitialiseAttributes>().type.dtype;
  }
};

const Initialise initialise;

}  // namespace

std::vector<const OpDefinition*> initialise_ops() { return {&initialise}; }

}  // namespace shardscope
