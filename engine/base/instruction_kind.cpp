#include "engine/base/instruction_kind.h"

namespace shardscope {

std::string_view name(InstructionKind kind) {
  switch (kind) {
    case InstructionKind::compute: return "compute";
    case InstructionKind::slice: return "slice";
    case InstructionKind::send: return "send";
    case InstructionKind::receive: return "receive";
    case InstructionKind::collective_done: return "done";
    case InstructionKind::all_gather: return "all-gather";
    case InstructionKind::all_reduce: return "all-reduce";
    case InstructionKind::reduce_scatter: return "reduce-scatter";
    case InstructionKind::all_to_all: return "all-to-all";
    case InstructionKind::collective_permute: return "collective-permute";
  }
  return "?";
}

}  // namespace shardscope
