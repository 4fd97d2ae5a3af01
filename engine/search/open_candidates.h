#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "engine/search/bounds.h"
#include "engine/search/search.h"

namespace shardscope {

// How much is known of a candidate: bounds.h; layer_bound.h, undivided; for all sizes of microbatches; coarse; by its
// own layers; likewise, and its memory is probably above the limit.
enum class SearchLevel : uint8_t { at_once, undivided, for_all_sizes, coarse, by_layers, unlikely, none };

struct OpenCandidate {
  Bound bound;
  int index = 0;     // among candidates()
  int64_t rank = 0;  // of those with equal bounds the lowest first
};

double value_of(const Found& found, SearchObjective objective);
double value_of(const Bound& bound, SearchObjective objective);

// The candidates of a search that may still be planned, by what is known of them. Order: the lowest bound by the
// objective, then rank, then the other bound, then index.
class OpenCandidates {
 public:
  OpenCandidates(size_t count, SearchObjective objective);

  // Of one that is not open.
  void know(const OpenCandidate& candidate) { known_[static_cast<size_t>(candidate.index)] = candidate; }
  void put(const OpenCandidate& candidate, SearchLevel level);
  // One that is open.
  OpenCandidate take(int index);

  bool has(int index) const { return level_of(index) != SearchLevel::none; }
  SearchLevel level_of(int index) const { return levels_[static_cast<size_t>(index)]; }
  // What was last known, whether or not it is open.
  const Bound& bound_of(int index) const { return known_[static_cast<size_t>(index)].bound; }
  void sort(std::vector<int>& indices) const;

  struct Before {
    SearchObjective objective;
    bool operator()(const OpenCandidate& a, const OpenCandidate& b) const;
  };
  using Ordered = std::set<OpenCandidate, Before>;
  const Ordered& of(SearchLevel level) const { return by_level_[static_cast<size_t>(level)]; }
  const std::vector<Ordered>& by_level() const { return by_level_; }
  // The level that has the first of all; unlikely where there are no others, none where nothing is open.
  SearchLevel first_level() const;
  int64_t count() const;

 private:
  Before before_;
  std::vector<Ordered> by_level_;
  std::vector<OpenCandidate> known_;  // by index
  std::vector<SearchLevel> levels_;   // by index
};

}  // namespace shardscope
