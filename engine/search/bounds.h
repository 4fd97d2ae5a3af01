#pragma once

#include <map>
#include <string>

#include "engine/compile/plan_request.h"
#include "engine/machine/stack.h"
#include "engine/search/candidates.h"
#include "engine/search/whole_step.h"

namespace shardscope {

// What the plan of a candidate needs at least, without planning it.
struct Bound {
  double seconds = 0;       // of a step
  double memory_bytes = 0;  // of the heaviest device
  double likely_bytes = 0;  // about what the heaviest device takes: an estimate, no bound; 0: not known
  Bound scaled(double time, double memory) const { return {seconds * time, memory_bytes * memory}; }
};

// Lower bounds that hold for every candidate of a request.
//
// Time. W is what one device of an ideal machine takes for the whole batch, one op after the other, under the recompute
// policy (whole_step.h). There an op takes time in proportion to its size, so parts of it, of microbatches and on
// devices, take at least what it takes whole, whatever its layout: all devices together take W, and one of the N W / N.
// Of experts, tokens are spread evenly; the rows that each has on a device are whole numbers, and those of one
// microbatch and context part are the fewest. Context parts up to 16 are priced as they are. With more a ring leaves
// out half of attention at most, and all else takes no less than with fewer; where from 4 to 16 each further step
// round the ring does the same, as it does without a window (models/decoder_context.h), so do those behind. What stages
// wait for is in layer_bound.h.
//
// Memory. A device stores the states, of which each axis splits what it can at most: parameters and optimizer state
// over the stages, heads, mlp, vocab and experts over their axes, and over replicas as ZeRO or fsdp says. The heaviest
// device has at least the mean. Another software stack adds its copies of gradients, allocator and libraries.
class Bounds {
 public:
  Bounds(const PlanRequest& request, int64_t devices);
  Bound of(const Candidate& candidate) const;

 private:
  struct StateBytes {
    double plain = 0, by_tensor = 0, by_expert = 0, by_both = 0;
    double split(double tensor, double expert) const {
      return plain + by_tensor / tensor + by_expert / expert + by_both / (tensor * expert);
    }
  };

  void add_states(const TrainingGraph& training, const std::vector<EqualLayers>& layers, const Stack& stack);
  WholeStepWork work_of(const std::string& recompute, int64_t context) const;

  int64_t rows_ = 1, devices_;                                       // rows of a batch
  std::map<std::string, std::map<int64_t, WholeStepWork>> seconds_;  // by recompute policy and context parts
  StateBytes parameters_, optimizer_, gradient_copies_;
  StackMemory stack_memory_;
};

}  // namespace shardscope
