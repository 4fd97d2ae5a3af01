#include "engine/runtime/finite_check.h"

#include <algorithm>
#include <cstring>

namespace shardscope {

namespace {

// A number whose exponent is all ones is infinite or nan.
template <class Bits>
bool all_finite(std::span<const std::byte> memory, Bits exponent) {
  for (size_t at = 0; at + sizeof(Bits) <= memory.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, memory.data() + at, sizeof bits);
    if ((bits & exponent) == exponent) return false;
  }
  return true;
}

}  // namespace

bool is_finite(std::span<const std::byte> memory, DType dtype) {
  switch (dtype) {
    case DType::f32: return all_finite<uint32_t>(memory, 0x7f800000);
    case DType::bf16: return all_finite<uint16_t>(memory, 0x7f80);
    case DType::f16: return all_finite<uint16_t>(memory, 0x7c00);
    case DType::f8:
    case DType::i32: return true;
  }
  return true;
}

bool FiniteCheck::is_finite_value(int program_value, int microbatch) const {
  return is_finite(executor_.value(program_value, microbatch), plan_.program.values[program_value].dtype);
}

std::optional<int> FiniteCheck::stored() const {
  for (const ParameterPlan& parameter : plan_.parameters) {
    if (plan_.program.values[parameter.value].stage != executor_.stage()) continue;
    if (!is_finite_value(parameter.value)) return parameter.value;
    for (int value : parameter.state_values) {
      if (!is_finite_value(value)) return value;
    }
  }
  return std::nullopt;
}

void FiniteCheck::end(int position, int64_t, int64_t) {
  if (position_) return;
  const std::span<const int> results = plan_.program.instructions(sequence_)[position].results();
  const int microbatch = run_at(sequence_, position).microbatch;
  const auto finite = [&](int value) { return is_finite_value(value, microbatch); };
  if (!std::ranges::all_of(results, finite)) position_ = position;
}

}  // namespace shardscope
