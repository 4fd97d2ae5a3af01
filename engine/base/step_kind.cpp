#include "engine/base/step_kind.h"

namespace shardscope {

std::string_view name(StepKind kind) {
  switch (kind) {
    case StepKind::compute: return "compute";
    case StepKind::slice: return "slice";
    case StepKind::send: return "send";
    case StepKind::receive: return "receive";
    case StepKind::barrier: return "barrier";
    case StepKind::all_gather: return "all-gather";
    case StepKind::all_reduce: return "all-reduce";
    case StepKind::reduce_scatter: return "reduce-scatter";
    case StepKind::all_to_all: return "all-to-all";
    case StepKind::collective_permute: return "collective-permute";
  }
  return "?";
}

}  // namespace shardscope
