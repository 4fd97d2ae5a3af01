#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shardscope {

// What a processor can do, as far as the last bits of results depend on it: each can do what the ones before it can.
// x86-64: nothing more; v3: AVX2 and fused multiply-add; v4: AVX-512; v4_bf16: its products of bf16; amx: tiles of
// them.
enum class InstructionSet : uint8_t { baseline, v3, v4, v4_bf16, amx };
inline constexpr int instruction_set_count = 5;

std::string_view name(InstructionSet set);  // "x86-64-v3"; of other processors "baseline"
std::optional<InstructionSet> instruction_set(std::string_view name);

// The most that this machine's processor has; and that, or less where $SHARDSCOPE_INSTRUCTION_SET names less.
InstructionSet processor_instruction_set();
InstructionSet machine_instruction_set();

// What kernels use: the machine's, until it is limited. Limit it before any kernel is made.
void limit_instruction_set(InstructionSet most);

namespace detail {
extern std::atomic<InstructionSet> used_instruction_set;
}
inline InstructionSet used_instruction_set() { return detail::used_instruction_set.load(std::memory_order_relaxed); }

}  // namespace shardscope
