#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/search/bounds.h"

namespace shardscope {

struct SearchRecord;

enum class SearchObjective : uint8_t { time, memory, device_hours };

struct SearchRequest {
  PlanRequest plan;  // the run file's model, batch and schedule, and the machine
  int64_t devices = 1;
  FixedNumbers fixed;
  std::optional<double> at_most_memory;   // bytes of a device; without it what the machine has
  std::optional<double> at_most_seconds;  // of a step
  SearchObjective objective = SearchObjective::time;
  std::optional<double> budget_seconds;  // for the search; without it until the result is exact
  int threads = 1;
  // Leaves out too what plans of 1.03 times its bound of time and 1.05 times that of memory would not help: the result
  // is not proved to be exact.
  bool heuristic = false;
  bool result_when_stopped = false;  // what is found so far, in place of Cancelled
  SearchRecord* record = nullptr;    // search_record.h: what is known before the search, and what it has learned
};

// A candidate that was planned, by the plan's own prediction.
struct Found {
  int index = 0;  // among candidates()
  Candidate candidate;
  double seconds = 0;        // of a step
  double memory_bytes = 0;   // of the heaviest device
  double mfu = 0;            // Utilisation::mfu()
  double exposed_share = 0;  // of the step: communication that nothing hides, on the stage where it is most
  double bubble = 0;         // share of the step in which stages wait for others
  std::string limit;         // what takes most of what is not computing: "compute", "communication" or "bubble"
};

struct SearchSpaceCounts {
  int64_t candidates = 0;
  int64_t too_large = 0;  // the states alone are above the limit of memory
  int64_t too_slow = 0;   // compute, collectives and bubble alone are above the limit of time
  int64_t dominated = 0;  // a plan is no slower and no larger than the bounds, and ten plans are faster
  int64_t planned = 0;
  int64_t illegal = 0;      // of these refused
  int64_t above_limit = 0;  // of these above a limit
  int64_t dropped = 0;      // by the heuristic
  int64_t open = 0;         // left when the time was over
};

struct SearchResult {
  SearchSpaceCounts space;
  std::vector<Found> front;  // by time: no other within the limits is faster and not larger, or smaller and not slower
  std::vector<Found> fastest;  // at most ten, the fastest within the limits: fastest_of()
  // How much better than the best by the objective what is open or dropped could be at most, as a share of the best; 0:
  // not at all, though the front is exact only where there are none.
  double gap = 0;
  bool stopped = false;          // on request, before the end
  std::optional<Found> nearest;  // where nothing is within the limits: the smallest of what was planned
  std::string first_refusal;     // likewise: why the first one that cannot be planned is refused; empty: none is
};

struct SearchProgress {
  int64_t done = 0, candidates = 0;
  const std::vector<Found>* found = nullptr;  // all within the limits so far
};

// Takes candidates in the order of what they need at least. What is known of one is first its bounds of bounds.h, then
// those of layer_bound.h, by a profile that many candidates share, then by its own; then it is planned, once for all
// whose order of axes links do not tell apart (link_order.h). It is left out as soon as a plan beats its bounds. Exact
// without a budget: the front and the ten fastest are those of planning every candidate, of equal ones the first. The
// same for any number of threads. A budget ends what is being planned, too.
// Throws Failure where the run file is wrong, and what check_layers() throws; Cancelled when `stop` is requested.
SearchResult search(const SearchRequest& request, std::stop_token stop = {},
                    const std::function<void(const SearchProgress&)>& progress = {});

// By time, then memory, then index.
bool is_faster(const Found& a, const Found& b);

// Those that no other beats, by time; of equal ones the first.
std::vector<Found> pareto_front(std::vector<Found> found);

// The first of these, which are sorted by is_faster, at most so many; of those that cost the same and differ in the
// order of axes alone only the first.
std::vector<Found> fastest_of(const std::vector<Found>& found, size_t most);

// Why a candidate cannot be planned, its first fault, with the candidate; empty where it can.
std::string refusal_of(const SearchRequest& request, const Candidate& candidate);

// One candidate, planned; nothing where it cannot be.
std::optional<Found> plan_candidate(const SearchRequest& request, const Candidate& candidate, std::stop_token stop);

}  // namespace shardscope
