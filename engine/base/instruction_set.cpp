#include "engine/base/instruction_set.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "engine/base/enum_count.h"

namespace shardscope {

namespace {

constexpr std::array<std::string_view, instruction_set_count> names = {"baseline", "x86-64-v3", "x86-64-v4",
                                                                       "x86-64-v4-bf16", "x86-64-amx"};

static_assert(names.size() == enum_count<InstructionSet>);

InstructionSet detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("x86-64-v3")) return InstructionSet::baseline;
  if (!__builtin_cpu_supports("x86-64-v4")) return InstructionSet::v3;
  if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512vnni")) return InstructionSet::v4;
  if (!__builtin_cpu_supports("amx-bf16") || !__builtin_cpu_supports("amx-int8")) return InstructionSet::v4_bf16;
  return InstructionSet::amx;
#else
  return InstructionSet::baseline;
#endif
}

}  // namespace

std::string_view name(InstructionSet set) { return names[static_cast<size_t>(set)]; }

std::optional<InstructionSet> instruction_set(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return {};
  return static_cast<InstructionSet>(found - names.begin());
}

InstructionSet processor_instruction_set() {
  static const InstructionSet all = detect();
  return all;
}

InstructionSet machine_instruction_set() {
  const char* reported = std::getenv("SHARDSCOPE_INSTRUCTION_SET");
  const InstructionSet all = processor_instruction_set();
  return std::min(all, instruction_set(reported ? reported : "").value_or(all));
}

void limit_instruction_set(InstructionSet most) {
  detail::used_instruction_set = std::min(machine_instruction_set(), most);
}

namespace detail {
std::atomic<InstructionSet> used_instruction_set = machine_instruction_set();
}

}  // namespace shardscope
