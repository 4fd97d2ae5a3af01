#include "gui/compare/pinned_plans.h"

#include <algorithm>

#include "engine/base/path.h"
#include "gui/document/edits.h"
#include "gui/document/text.h"

namespace shardscope {

PinnedPlan::PinnedPlan(std::shared_ptr<const Plan> kept, int64_t moves) : plan(std::move(kept)), collectives(moves) {
  for (const ParameterPlan& parameter : plan->parameters)
    layouts.emplace(join_path(parameter.path), &parameter.sharding);
  for (const ValueLayout& layout : plan->layouts) layouts.emplace(layout.name, &layout.sharding);
}

const Sharding* PinnedPlan::layout(const std::string& array) const {
  const auto found = layouts.find(array);
  return found == layouts.end() ? nullptr : found->second;
}

PinnedPlans::PinnedPlans(Workspace& workspace, QObject* parent) : QObject(parent), workspace_(workspace) {}

int PinnedPlans::pin() {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!workspace_.planner.is_current()) return -1;
  for (int place = 0; place < count; ++place)
    if (at(place) && at(place)->plan->hash == plan->hash) return -1;
  const auto free = std::ranges::find_if(pins_, [](const auto& pin) { return !pin; });
  const auto place =
      free != pins_.end() ? free - pins_.begin() : std::ranges::min_element(pinned_as_) - pinned_as_.begin();
  pins_[static_cast<size_t>(place)].emplace(plan, workspace_.planner.index().exchanges);
  pinned_as_[static_cast<size_t>(place)] = ++pins_made_;
  emit changed();
  return static_cast<int>(place);
}

const PinnedPlan* PinnedPlans::at(int place) const {
  const std::optional<PinnedPlan>& pin = pins_[static_cast<size_t>(place)];
  return pin ? &*pin : nullptr;
}

bool PinnedPlans::any() const {
  return std::ranges::any_of(pins_, [](const auto& pin) { return pin.has_value(); });
}

void PinnedPlans::unpin(int place) {
  pins_[static_cast<size_t>(place)].reset();
  emit changed();
}

void PinnedPlans::keep_those_of(const PinnedPlans& other) {
  pins_ = other.pins_;
  pinned_as_ = other.pinned_as_;
  pins_made_ = other.pins_made_;
  emit changed();
}

void PinnedPlans::take(int place) {
  if (const PinnedPlan* pin = at(place)) take_config(workspace_.document, pin->plan->config, name(place));
}

}  // namespace shardscope
