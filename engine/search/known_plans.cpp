#include "engine/search/known_plans.h"

#include <set>

#include "engine/search/link_order.h"

namespace shardscope {

KnownPlans::KnownPlans(SearchRecord& record, const std::vector<Candidate>& all, const std::vector<Level>& levels)
    : record_(record), all_(all), levels_(levels) {
  for (const auto& [index, plan] : record_.plans) planned_.try_emplace(likeness(index), index);
}

std::string KnownPlans::likeness(int index) const {
  Candidate candidate = all_[static_cast<size_t>(index)];
  const std::string order = order_on_links(candidate.strategy, levels_);
  candidate.strategy.order.clear();
  return text_of(candidate) + ", " + order;
}

const std::optional<Found>* KnownPlans::find(int index) {
  const auto own = record_.plans.find(index);
  if (own != record_.plans.end()) return &own->second;
  const auto like = planned_.find(likeness(index));
  if (like == planned_.end()) return nullptr;
  add(index, record_.plans.at(like->second));
  return &record_.plans.at(index);
}

void KnownPlans::add(int index, std::optional<Found> found) {
  if (found) {
    found->index = index;
    found->candidate = all_[static_cast<size_t>(index)];
  }
  planned_.try_emplace(likeness(index), index);
  record_.plans.emplace(index, std::move(found));
}

std::vector<int> KnownPlans::unknown_of(const std::vector<int>& indices) {
  std::vector<int> unknown;
  std::set<std::string> likenesses;
  for (const int index : indices) {
    if (!find(index) && likenesses.insert(likeness(index)).second) unknown.push_back(index);
  }
  return unknown;
}

}  // namespace shardscope
