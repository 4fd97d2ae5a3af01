#pragma once

#include <optional>

#include "engine/runtime/executor.h"

namespace shardscope {

// Whether no number of the memory is infinite or nan. Integers are finite.
bool is_finite(std::span<const std::byte> memory, DType dtype);

// Watches a sequence on one device for the first result that is not finite: what a training that has lost its loss is
// run again with, from the same stored arrays and inputs.
class FiniteCheck : public ExecutionObserver {
 public:
  FiniteCheck(const Plan& plan, const Sequence& sequence, const Executor& executor)
      : plan_(plan), sequence_(sequence), executor_(executor) {}

  // A stored parameter or state that is not finite now; its program value.
  std::optional<int> stored() const;
  // The position of the first step one of whose results was not finite when it was done.
  std::optional<int> position() const { return position_; }

  void begin(int) override {}
  void end(int position, int64_t waited_ns, int64_t bytes) override;

 private:
  bool is_finite_value(int program_value, int microbatch = 0) const;

  const Plan& plan_;
  const Sequence& sequence_;
  const Executor& executor_;
  std::optional<int> position_;
};

}  // namespace shardscope
