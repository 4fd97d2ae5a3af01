#include <algorithm>

#include "engine/plan/schedules/schedules.h"

namespace shardscope {

namespace {

// Qi et al., "Zero Bubble Pipeline Parallelism", 2023 (ZB-H1): backward is done in two, of inputs (B), which the stage
// before waits for, and of weights (W), which nobody waits for and which fills what would be a bubble. 3 stages, 4
// microbatches; F, B and W take equally long:
//
//   stage 0  F0 F1 F2 .. .. B0 W0 F3 B1 W1 B2 W2 B3 W3
//   stage 1  .. F0 F1 .. B0 F2 B1 W0 F3 B2 W1 B3 W2 W3
//   stage 2  .. .. F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3
//
// A stage never holds more than `stages` microbatches of activations, as the first of 1F1B. Bubble: a third of 1F1B's.
// The order is found by playing the step with equal times: each stage does F where it may hold one more, else B where
// one is ready, else W.
class Play {
 public:
  explicit Play(const PipelineShape& shape) : shape_(shape), stages_(static_cast<size_t>(shape.stages)) {}

  PipelineOrder run() {
    const size_t all = static_cast<size_t>(shape_.microbatches) * 3;
    const auto is_done = [&](const Stage& stage) { return stage.order.size() == all; };
    while (!std::ranges::all_of(stages_, is_done)) {
      const std::vector<Done> before(stages_.begin(), stages_.end());
      for (int s = 0; s < shape_.stages; ++s) advance(s, before);
    }
    PipelineOrder order;
    for (Stage& stage : stages_) order.push_back(std::move(stage.order));
    return order;
  }

 private:
  struct Done {
    int forward = 0, input = 0, weight = 0;  // how many
  };
  struct Stage : Done {
    std::vector<WorkItem> order;
  };

  // What was done by the others in the time before decides what is ready.
  void advance(int s, const std::vector<Done>& before) {
    Stage& stage = stages_[static_cast<size_t>(s)];
    const int arrived = s == 0 ? shape_.microbatches : before[static_cast<size_t>(s) - 1].forward;
    const int returned = s + 1 == shape_.stages ? stage.forward : before[static_cast<size_t>(s) + 1].input;
    const int held = stage.forward - stage.weight;
    // The warm-up of 1F1B; beyond it a forward waits for its turn.
    const int ahead = shape_.stages - s;
    if (stage.forward < arrived && held < shape_.stages && stage.forward - stage.input < ahead) {
      stage.order.push_back({Work::forward, stage.forward++});
    } else if (stage.input < std::min(returned, stage.forward)) {
      stage.order.push_back({Work::backward_input, stage.input++});
    } else if (stage.weight < stage.input) {
      stage.order.push_back({Work::backward_weight, stage.weight++});
    }
  }

  PipelineShape shape_;
  std::vector<Stage> stages_;
};

PipelineOrder zero_bubble_order(const PipelineShape& shape) { return Play(shape).run(); }

}  // namespace

PipelineSchedule zero_bubble() { return {"zero_bubble", check_one_chunk, zero_bubble_order, /*splits_backward=*/true}; }

}  // namespace shardscope
