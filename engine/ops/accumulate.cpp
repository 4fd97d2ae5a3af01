#include "engine/ops/elementwise_op.h"
#include "engine/ops/scale.h"

namespace shardscope {

namespace {

// The sum over the microbatches so far of x times a constant: overwrites its result in the first, and adds to it in
// the others. Its result, of x's type, lives through all of them.
class Accumulate : public ElementwiseOp {
 public:
  Accumulate() : ElementwiseOp("accumulate", 1, -1, 2, require_attributes<ScaleAttributes>, /*linear=*/true) {}
  bool accumulates() const override { return true; }
};

const Accumulate accumulate;

}  // namespace

std::vector<const OpDefinition*> accumulate_ops() { return {&accumulate}; }

}  // namespace shardscope
