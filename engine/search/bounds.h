#pragma once

#include <limits>
#include <map>
#include <string>

#include "engine/compile/plan_request.h"
#include "engine/machine/stack.h"
#include "engine/search/candidates.h"

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
// Time. W is the time that all matrix products of a step take at the device's peak rate, one after the other, under the
// recompute policy. A product that is split among devices takes on each at least its share of the FLOPs at the peak
// rate, whatever its layout, so all devices together compute for W, and one of the N for W / N. Of experts, tokens are
// spread evenly; the rows that each has on a device are whole numbers, and those of one microbatch and context part are
// the fewest. Of attention, a ring of context parts leaves out half at most; other software stacks have kernels of
// their own, of which nothing counts. What stages wait for is in layer_bound.h.
//
// Memory. A device stores the states, of which each axis splits what it can at most: parameters and optimizer state
// over the stages, heads, mlp, vocab and experts over their axes, and over replicas as ZeRO or fsdp says. The heaviest
// device has at least the mean. Another software stack adds its copies of gradients, allocator and libraries.
class Bounds {
 public:
  Bounds(const PlanRequest& request, int64_t devices);
  Bound of(const Candidate& candidate) const;
  int64_t rows() const { return rows_; }  // of a batch

 private:
  struct StateBytes {
    double plain = 0, by_tensor = 0, by_expert = 0, by_both = 0;
    double split(double tensor, double expert) const {
      return plain + by_tensor / tensor + by_expert / expert + by_both / (tensor * expert);
    }
  };

  struct ProductSeconds {
    double plain = 0, of_experts = 0, of_attention = 0;
  };

  int64_t rows_, devices_;
  std::map<std::string, ProductSeconds> seconds_;                    // W by recompute policy
  double rows_of_expert_ = std::numeric_limits<double>::infinity();  // fewest, of a sequence
  StateBytes parameters_, optimizer_, gradient_copies_;
  StackMemory stack_memory_;
};

}  // namespace shardscope
