#pragma once

#include <QStringList>
#include <memory>

#include "engine/plan/plan.h"

namespace shardscope {

// What an instruction of a plan is found by, on every page alike: its kind and phase, the mesh axes, its op, the ops
// that want what it moves, and its arrays. Made when a plan is first searched.
class StepWords {
 public:
  void set_plan(std::shared_ptr<const Plan> plan);  // null: none
  // Whether all of these words are parts of what it is found by; whatever the case.
  bool has(InstructionId step, const QStringList& words);

 private:
  void learn();

  std::shared_ptr<const Plan> plan_;
  InstructionTable<QString> lines_;
};

}  // namespace shardscope
