#pragma once

#include <optional>

#include "engine/export/export_source.h"

namespace shardscope {

// What the ranks of a stage measured of a step of the program, on average over them and over how often it happens in
// the training step that was recorded. A collective goes by its start, with what its done took.
struct StepMean {
  double seconds = 0;         // from the start, of a collective of its transfer, to the end
  double waited_seconds = 0;  // before it, for peers
};

class MeasuredSteps {
 public:
  // `trace` may be null: nothing was measured.
  MeasuredSteps(const Plan& plan, const TraceMessage* trace);

  std::optional<StepMean> of(InstructionId step, int stage) const;

 private:
  struct Sum {
    int64_t count = 0, nanoseconds = 0, waited_nanoseconds = 0;
  };
  std::vector<InstructionTable<Sum>> stages_;
};

}  // namespace shardscope
