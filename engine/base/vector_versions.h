#pragma once

#include <utility>

#include "engine/base/instruction_set.h"

namespace shardscope {

// The loops of a kernel, compiled several times: for AVX-512 and for AVX2, both with fused multiply-add, and for all
// processors. A call runs the version of used_instruction_set(), on which the last bits of results depend. Sanitizer
// builds have one.
//
//   constexpr auto scaled = vector_versions([](const float* x, float scale, int64_t count, float* y) { ... });
template <class Loops>
class VectorVersions {
 public:
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
#if defined(__x86_64__) && !defined(SHARDSCOPE_NO_MULTIVERSIONING)
    const InstructionSet set = used_instruction_set();
    if (set >= InstructionSet::v4) return v4(std::forward<Arguments>(arguments)...);
    if (set >= InstructionSet::v3) return v3(std::forward<Arguments>(arguments)...);
#endif
    return Loops()(std::forward<Arguments>(arguments)...);
  }

 private:
#if defined(__x86_64__) && !defined(SHARDSCOPE_NO_MULTIVERSIONING)
  template <class... Arguments>
  [[gnu::target("arch=x86-64-v4"), gnu::flatten, gnu::noinline]] static auto v4(Arguments&&... arguments) {
    return Loops()(std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  [[gnu::target("arch=x86-64-v3"), gnu::flatten, gnu::noinline]] static auto v3(Arguments&&... arguments) {
    return Loops()(std::forward<Arguments>(arguments)...);
  }
#endif
};

template <class Loops>
constexpr VectorVersions<Loops> vector_versions(Loops) {
  return {};
}

}  // namespace shardscope
