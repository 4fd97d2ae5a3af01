#pragma once

#include <cstdint>
#include <string_view>

namespace shardscope {

// What a device can do with arrays: compute; `slice`, which is local: it keeps its part of what it already holds; or
// send to, or receive from, the device of another stage at its place; take part in a collective. `barrier` moves
// nothing and is no step of a plan.
enum class StepKind : uint8_t {
  compute,
  slice,
  send,
  receive,
  barrier,
  all_gather,
  all_reduce,
  reduce_scatter,
  all_to_all,
  collective_permute
};
// "all-gather"
std::string_view name(StepKind kind);
inline bool is_transfer(StepKind kind) { return kind == StepKind::send || kind == StepKind::receive; }
inline bool is_collective(StepKind kind) { return kind >= StepKind::barrier; }
// Either: devices have to do with each other.
inline bool is_communication(StepKind kind) { return is_collective(kind) || is_transfer(kind); }

}  // namespace shardscope
