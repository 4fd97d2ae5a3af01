#include "engine/search/open_candidates.h"

#include <algorithm>

namespace shardscope {

double value_of(const Found& found, SearchObjective objective) {
  return objective == SearchObjective::memory ? found.memory_bytes : found.seconds;
}
double value_of(const Bound& bound, SearchObjective objective) {
  return objective == SearchObjective::memory ? bound.memory_bytes : bound.seconds;
}

bool OpenCandidates::Before::operator()(const OpenCandidate& a, const OpenCandidate& b) const {
  const double one = value_of(a.bound, objective), two = value_of(b.bound, objective);
  if (one != two) return one < two;
  if (a.rank != b.rank) return a.rank < b.rank;
  const double other = objective == SearchObjective::memory ? a.bound.seconds : a.bound.memory_bytes,
               another = objective == SearchObjective::memory ? b.bound.seconds : b.bound.memory_bytes;
  if (other != another) return other < another;
  return a.index < b.index;
}

OpenCandidates::OpenCandidates(size_t count, SearchObjective objective)
    : before_{objective},
      by_level_(static_cast<size_t>(SearchLevel::none), Ordered(before_)),
      known_(count),
      levels_(count, SearchLevel::none) {}

void OpenCandidates::put(const OpenCandidate& candidate, SearchLevel level) {
  known_[static_cast<size_t>(candidate.index)] = candidate;
  levels_[static_cast<size_t>(candidate.index)] = level;
  by_level_[static_cast<size_t>(level)].insert(candidate);
}

OpenCandidate OpenCandidates::take(int index) {
  SearchLevel& level = levels_[static_cast<size_t>(index)];
  const OpenCandidate candidate = known_[static_cast<size_t>(index)];
  by_level_[static_cast<size_t>(level)].erase(candidate);
  level = SearchLevel::none;
  return candidate;
}

void OpenCandidates::sort(std::vector<int>& indices) const {
  std::ranges::sort(
      indices, [&](int a, int b) { return before_(known_[static_cast<size_t>(a)], known_[static_cast<size_t>(b)]); });
}

SearchLevel OpenCandidates::first_level() const {
  const Ordered* first = nullptr;
  for (const Ordered& level : by_level_) {
    if (level.empty() || (first && &level == &of(SearchLevel::unlikely))) continue;
    if (!first || before_(*level.begin(), *first->begin())) first = &level;
  }
  return first ? static_cast<SearchLevel>(first - by_level_.data()) : SearchLevel::none;
}

int64_t OpenCandidates::count() const {
  int64_t count = 0;
  for (const Ordered& level : by_level_) count += std::ssize(level);
  return count;
}

}  // namespace shardscope
