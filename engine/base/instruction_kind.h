#pragma once

#include <cstdint>
#include <string_view>

namespace shardscope {

// What a device can do with arrays: compute; `slice`, which is local: it keeps its part of what it already holds; send
// to, or receive from, the device of another stage at its place; take part in a collective, whose kind is that of its
// start, and wait until it is done.
enum class InstructionKind : uint8_t {
  compute,
  slice,
  send,
  receive,
  collective_done,
  all_gather,
  all_reduce,
  reduce_scatter,
  all_to_all,
  collective_permute
};
// "all-gather"
std::string_view name(InstructionKind kind);
inline bool is_transfer(InstructionKind kind) {
  return kind == InstructionKind::send || kind == InstructionKind::receive;
}
inline bool is_collective(InstructionKind kind) { return kind >= InstructionKind::all_gather; }
// Either, or its end: devices have to do with each other.
inline bool is_communication(InstructionKind kind) {
  return is_collective(kind) || is_transfer(kind) || kind == InstructionKind::collective_done;
}

}  // namespace shardscope
