#include "gui/compare/pinned_plans.h"

#include <algorithm>

#include "engine/base/path.h"
#include "engine/compile/document_of.h"
#include "gui/document/edits.h"

namespace shardscope {

std::vector<LaidOutArray> laid_out_arrays(const Plan& plan) {
  std::vector<LaidOutArray> arrays;
  for (const ParameterPlan& parameter : plan.parameters) {
    arrays.push_back({join_path(parameter.path), ParameterRef{parameter.path}, &parameter.sharding});
    for (size_t i = 0; i < parameter.state_names.size() && i < parameter.state_values.size(); ++i) {
      const ArrayRef state = StateRef{parameter.state_names[i], parameter.path};
      const int value = parameter.state_values[i];
      arrays.push_back(
          {name_of(state).toStdString(), state, &plan.program.values[static_cast<size_t>(value)].sharding});
    }
  }
  for (const ValueLayout& layout : plan.layouts)
    arrays.push_back({layout.name, ValueRef{layout.name}, &layout.sharding});
  return arrays;
}

PinnedPlan::PinnedPlan(std::shared_ptr<const Plan> kept, const PlanIndex& index)
    : plan(std::move(kept)), facts(std::in_place, *plan, index.utilisation, index.exchanges) {
  for (LaidOutArray& laid_out : laid_out_arrays(*plan)) {
    layouts.emplace(laid_out.name, laid_out.sharding);
    arrays.emplace_back(std::move(laid_out.name), std::move(laid_out.array));
  }
}

const Sharding* PinnedPlan::layout(const std::string& array) const {
  const auto found = layouts.find(array);
  return found == layouts.end() ? nullptr : found->second;
}

PinnedPlans::PinnedPlans(Workspace& workspace, QObject* parent) : QObject(parent), workspace_(workspace) {}

bool PinnedPlans::is_pinned(const Plan& plan) const {
  return std::ranges::any_of(pins_, [&](const auto& pin) { return pin && pin->plan->hash == plan.hash; });
}

void PinnedPlans::put(size_t place, PinnedPlan pin, bool is_found) {
  pins_[place] = std::move(pin);
  pinned_as_[place] = ++pins_made_;
  is_found_[place] = is_found;
  emit changed();
}

int PinnedPlans::pin() {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!workspace_.planner.is_current() || is_pinned(*plan)) return -1;
  const auto free = std::ranges::find_if(pins_, [](const auto& pin) { return !pin; });
  const auto place =
      free != pins_.end() ? free - pins_.begin() : std::ranges::min_element(pinned_as_) - pinned_as_.begin();
  put(static_cast<size_t>(place), PinnedPlan(plan, workspace_.planner.index()), false);
  return static_cast<int>(place);
}

PinnedPlans::Pinning PinnedPlans::pin_found(std::shared_ptr<const Plan> plan, const PlanIndex& index,
                                            const QString& title) {
  if (is_pinned(*plan)) return Pinning::known;
  std::optional<size_t> place;
  for (size_t i = 0; i < pins_.size(); ++i) {
    const bool is_free = !pins_[i].has_value(), was_free = place && !pins_[*place].has_value();
    if (!is_free && !is_found_[i]) continue;
    if (!place || (is_free && !was_free) || (is_free == was_free && !is_free && pinned_as_[i] < pinned_as_[*place]))
      place = i;
  }
  if (!place) return Pinning::full;
  PinnedPlan pin(std::move(plan), index);
  pin.title = title;
  put(*place, std::move(pin), true);
  return Pinning::pinned;
}

const PinnedPlan* PinnedPlans::at(int place) const {
  const std::optional<PinnedPlan>& pin = pins_[static_cast<size_t>(place)];
  return pin ? &*pin : nullptr;
}

bool PinnedPlans::any() const {
  return std::ranges::any_of(pins_, [](const auto& pin) { return pin.has_value(); });
}

QString PinnedPlans::name(int place) const {
  const PinnedPlan* pin = at(place);
  return pin && !pin->title.isEmpty() ? pin->title : QString(QChar('A' + place));
}

void PinnedPlans::rename(int place, const QString& title) {
  std::optional<PinnedPlan>& pin = pins_[static_cast<size_t>(place)];
  if (!pin || pin->title == title) return;
  pin->title = title;
  emit changed();
}

void PinnedPlans::unpin(int place) {
  pins_[static_cast<size_t>(place)].reset();
  emit changed();
}

void PinnedPlans::keep_those_of(const PinnedPlans& other) {
  pins_ = other.pins_;
  pinned_as_ = other.pinned_as_;
  is_found_ = other.is_found_;
  pins_made_ = other.pins_made_;
  emit changed();
}

void PinnedPlans::take(int place) {
  if (const PinnedPlan* pin = at(place)) take_config(workspace_.document, document_of(*pin->plan), name(place));
}

}  // namespace shardscope
