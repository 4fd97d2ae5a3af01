#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "gui/document/step_ref.h"
#include "gui/planning/planner.h"
#include "gui/workspace/spec_edit.h"

namespace shardscope {

// Changes of a single spec that might make reshards needless. `steps` are one reshard of alike layers each. Touched are
// what is moved, what the op reads and makes that wants it moved, and what the op read that made it: parameters,
// activations of the forward pass (by a constraint), the model's input and output; a gradient stands for what it is the
// gradient of. Each gets the layout that is wanted, that which its op gives it, none at all, and its own with one axis
// added, moved or taken away, where that divides. A parameter that a line of the file names by a pattern of just these
// layers changes by that line, else by a line of its own. Then `in`, `out` and every line of the table of specs, those
// first that decide (engine/plan/deciding_pins.h): there is no spec in the file that is not tried.
std::vector<SpecEdit> candidate_edits(const Plan& plan, std::span<const StepRef> steps);

// Whether the plan moves an array of one of `steps` of `before` for the same op, however.
bool still_moves(const Plan& plan, const Plan& before, std::span<const StepRef> steps);

struct EditSearch {
  struct Found {
    SpecEdit edit;
    PlanTotals totals;
  };
  int candidates = 0;
  // Those that fit the memory and make the reshard needless: the shortest predicted step first, of equals the least
  // memory.
  std::vector<Found> removing;
};

// Of a search, for whoever watches it.
struct EditProgress {
  std::atomic<int> candidates = 0, planned = 0;
};

// Plans all candidates one after the other; ends early, with what it has, when asked to.
EditSearch find_edit(const PlanSource& source, const Plan& plan, std::span<const StepRef> steps,
                     const std::stop_token& stop, EditProgress& progress);

}  // namespace shardscope
