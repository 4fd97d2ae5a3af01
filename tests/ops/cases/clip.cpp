#include "engine/ops/clip.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases clip_cases() {
  OpCases all;
  all.cases = {{"clip", {large::x}, ClipBoundsAttributes{-0.5, 0.7}, {0}},
               {"clip_grad", {large::x, large::x}, ClipBoundsAttributes{-0.5, 0.7}}};
  all.small_cases = {{"clip", {small::x}, ClipBoundsAttributes{-0.5, 0.7}},
                     {"clip_grad", {small::x, small::x}, ClipBoundsAttributes{-0.5, 0.7}}};
  all.networks = {{"clip", 0, behind_dense("clip", ClipBoundsAttributes{-0.4, 0.3})}};
  return all;
}

}  // namespace shardscope::test
