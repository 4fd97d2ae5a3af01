#include "engine/search/search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tuple>

#include "engine/base/cancelled.h"
#include "engine/plan/memory_limit.h"
#include "engine/search/known_plans.h"
#include "engine/search/layer_bound.h"
#include "engine/search/neighbours.h"
#include "engine/search/open_candidates.h"
#include "engine/search/search_record.h"
#include "engine/search/usual_strategies.h"

namespace shardscope {

namespace {

constexpr size_t fastest_count = 10;
// By SearchLevel how many candidates are bounded by the next of profile_kinds, or planned, before bounds are compared
// again: the same for any number of threads.
constexpr size_t round_sizes[] = {65536, 8192, 1024, 128, 8, 8};
// Likewise between rounds, of what looks best so far.
constexpr size_t dive_sizes[] = {0, 0, 0, 64, 2, 2};
constexpr int64_t dives_apart = 4;  // times as many rounds
// Usual strategies are planned so many at a time; frugal ones of which bounds by their own layers are found.
constexpr size_t usual_round = 2, usual_count = 32;
// Single changes are tried of so many of the best plans, and planned so many at a time.
constexpr size_t improved_count = 4, change_round = 2;
// By which plans are usually above the last bounds: what --heuristic takes for certain.
constexpr double likely_time = 1.03, likely_memory = 1.05;
// What the clock can count from any time on, in seconds.
constexpr double longest_budget = 1e9;
// Estimates of memory above the limit by this much are planned last.
constexpr double unlikely_memory = 1.1;

class Search {
 public:
  Search(const SearchRequest& request, std::stop_token stop, const std::function<void(const SearchProgress&)>& progress)
      : request_(request),
        stopped_(std::move(stop)),
        when_stopped_(stopped_, [this] { ending_.request_stop(); }),
        stop_(ending_.get_token()),
        record_(request.record ? *request.record : own_record_),
        progress_(progress),
        bounds_(request.plan, request.devices),
        layers_(request.plan, request.devices),
        all_(candidates(model_limits(request.plan.config), request.devices, request.fixed)),
        open_(all_.size(), request.objective),
        plans_(record_, all_, request.plan.machine.levels) {
    constexpr double none = std::numeric_limits<double>::infinity();
    const int64_t known = memory_limit(request.plan.config.sharding, layers_.prices());
    memory_limit_ = std::min(known > 0 ? static_cast<double>(known) : none, request.at_most_memory.value_or(none));
    time_limit_ = request.at_most_seconds.value_or(none);
  }

  SearchResult run() {
    std::jthread timer;
    if (request_.budget_seconds) timer = std::jthread([this](const std::stop_token& done) { end_in_time(done); });
    const auto is_over = [this] { return ending_.stop_requested() && !stopped_.stop_requested(); };
    result_.space.candidates = static_cast<int64_t>(all_.size());
    for (size_t i = 0; i < all_.size(); ++i)
      consider({bounds_.of(all_[i]), static_cast<int>(i), rank_of(all_[i].strategy)}, SearchLevel::at_once);
    try {
      plan_usual(is_over);
      int64_t rounds = 0, next_dive = dives_apart;
      for (SearchLevel level = open_.first_level(); level != SearchLevel::none && !is_over();
           level = open_.first_level()) {
        advance(level, round_sizes[static_cast<size_t>(level)]);
        // Plans of what looks best so far, long before all else is known: by them others are left out.
        if (++rounds == next_dive) {
          dive(level);
          if (!found_.empty()) improve(is_over);
          next_dive *= dives_apart;
        }
        report();
      }
    } catch (const Cancelled&) {
      result_.stopped = stopped_.stop_requested();
      if (result_.stopped && !request_.result_when_stopped) throw;
    }
    // Of a round that was ended, what was planned until then.
    for (const auto& [index, planned] : record_.plans) {
      if (!open_.has(index)) continue;
      open_.take(index);
      keep(planned);
    }
    report();
    double least = std::numeric_limits<double>::infinity();
    for (const OpenCandidates::Ordered& of_level : open_.by_level()) {
      for (const OpenCandidate& left : of_level) {
        if (is_beaten(left.bound)) {
          ++result_.space.dominated;
          continue;
        }
        ++result_.space.open;
        least = std::min(least, value_of(left.bound, request_.objective));
      }
    }
    finish(least);
    return std::move(result_);
  }

 private:
  void end_in_time(const std::stop_token& done) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    const std::chrono::duration<double> budget(std::min(*request_.budget_seconds, longest_budget));
    std::condition_variable_any().wait_until(
        lock, done, start_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(budget),
        [] { return false; });
    if (!done.stop_requested()) ending_.request_stop();
  }

  // Of candidates with equal bounds first those with short rings, of which a profile is quick, and with tensor
  // parallelism over a node; those with the same profile together.
  int64_t rank_of(const StrategyConfig& s) const {
    const int64_t node = devices_of_node(request_.plan.machine);
    const int64_t unlike = s.tensor > node ? s.tensor / node : node / s.tensor;
    return (((s.context << 14 | unlike) << 14 | s.expert) << 14 | s.microbatch_size) << 1 |
           (s.sequence_parallel ? 0 : 1);
  }

  // Into those that are open, or out of the space.
  void consider(const OpenCandidate& candidate, SearchLevel level) {
    if (level == SearchLevel::by_layers && candidate.bound.likely_bytes > memory_limit_ * unlikely_memory)
      level = SearchLevel::unlikely;
    open_.know(candidate);
    if (candidate.bound.memory_bytes > memory_limit_) ++result_.space.too_large;
    else if (candidate.bound.seconds > time_limit_) ++result_.space.too_slow;
    else open_.put(candidate, level);
  }

  void dive(SearchLevel from) {
    for (const SearchLevel level : {SearchLevel::coarse, SearchLevel::by_layers}) {
      if (level != from) advance(level, dive_sizes[static_cast<size_t>(level)]);
    }
  }

  // Plans usual strategies: of each number of stages the best that single changes lead to, by bounds of their own
  // layers, from one whose layers are those of the one before, or that splits a replica least; and where none of these
  // is within the memory, frugal ones until one is.
  template <class IsOver>
  void plan_usual(const IsOver& is_over) {
    std::map<int64_t, std::vector<int>> usual;  // by stages
    std::vector<int> frugal;
    for (const OpenCandidate& open : open_.of(SearchLevel::at_once)) {
      const StrategyConfig& strategy = strategy_of(open.index);
      if (!is_usual(strategy, request_.plan.machine)) continue;
      usual[strategy.pipeline].push_back(open.index);
      if (is_frugal(strategy)) frugal.push_back(open.index);
    }
    const auto frugality = [&](int index) {
      const StrategyConfig& strategy = strategy_of(index);
      return std::tuple(!is_frugal(strategy), split_of_replica(strategy), index);
    };
    std::ranges::sort(frugal, {}, frugality);
    std::vector<int> promising;
    int best = -1;
    for (const auto& [stages, of_stages] : usual) {
      auto start = std::ranges::find_if(
          of_stages, [&](int index) { return best >= 0 && has_equal_layers(strategy_of(index), strategy_of(best)); });
      if (start == of_stages.end()) start = std::ranges::min_element(of_stages, {}, frugality);
      best = improved_by_bounds(*start, of_stages);
      if (is_by_layers(best)) promising.push_back(best);
    }
    open_.sort(promising);
    plan_first(promising, usual_round, is_over);
    if (!found_.empty()) return;
    std::erase_if(frugal, [&](int index) { return !open_.has(index); });
    frugal.resize(std::min(frugal.size(), usual_count));
    tighten_by_layers(frugal);
    std::erase_if(frugal, [&](int index) { return !is_by_layers(index); });
    plan_first(frugal, usual_round, [&] { return !found_.empty() || is_over(); });
  }

  // Goes from a strategy to the best of its single changes among others as long as that is better, by bounds of their
  // own layers: first what is probably within the memory.
  int improved_by_bounds(int from, const std::vector<int>& among) {
    const auto rank = [&](int index) {
      const Bound& bound = open_.bound_of(index);
      const double excess = is_by_layers(index) ? 0 : std::max(bound.likely_bytes, bound.memory_bytes);
      return std::tuple(excess, value_of(bound, request_.objective), index);
    };
    tighten_by_layers({from});
    while (true) {
      std::vector<int> changes;
      std::ranges::copy_if(among, std::back_inserter(changes), [&](int index) {
        return is_single_change(all_[static_cast<size_t>(from)], all_[static_cast<size_t>(index)]);
      });
      tighten_by_layers(changes);
      const auto best = std::ranges::min_element(changes, {}, rank);
      if (best == changes.end() || rank(*best) >= rank(from)) return from;
      from = *best;
    }
  }

  // Those of which less is known.
  void tighten_by_layers(std::vector<int> indices) {
    std::erase_if(indices, [&](int index) { return open_.level_of(index) >= SearchLevel::by_layers; });
    work_on(indices, [&](const std::vector<OpenCandidate>& taken) { tighten(taken, SearchLevel::coarse); });
  }
  bool may_be_better(int index, double value) const {
    return value_of(open_.bound_of(index), request_.objective) < value;
  }

  const StrategyConfig& strategy_of(int index) const { return all_[static_cast<size_t>(index)].strategy; }
  bool is_by_layers(int index) const { return open_.level_of(index) == SearchLevel::by_layers; }

  // These before all others, so many at a time, until `is_enough` before one of the rounds; without those that cannot
  // be better than the best by then.
  template <class IsEnough>
  void plan_first(std::span<const int> indices, size_t round_size, const IsEnough& is_enough) {
    while (!indices.empty() && !is_enough()) {
      const std::span<const int> next = indices.first(std::min(round_size, indices.size()));
      indices = indices.subspan(next.size());
      std::vector<int> round(next.begin(), next.end());
      std::erase_if(round, [&](int index) { return !may_be_better(index, best_value()); });
      if (round.empty()) continue;
      work_on(round, [&](const std::vector<OpenCandidate>& taken) { plan(taken); });
      report();
    }
  }

  // Plans what a single change makes of one of the best plans, as far as it may be better than the best: those with the
  // lowest bounds first. Nothing where all the best have been tried.
  template <class IsOver>
  void improve(const IsOver& is_over) {
    std::vector<const Found*> best;
    for (const Found& found : found_) best.push_back(&found);
    std::ranges::sort(best, {}, [&](const Found* found) {
      return std::tuple(value_of(*found, request_.objective), found->seconds, found->index);
    });
    best.resize(std::min(best.size(), improved_count));
    const auto next = std::ranges::find_if(best, [&](const Found* found) { return !improved_.contains(found->index); });
    if (next == best.end()) return;
    const int from = (*next)->index;
    const double least = value_of(*best.front(), request_.objective);
    std::vector<int> changes = neighbours_of(all_[static_cast<size_t>(from)], all_);
    std::erase_if(changes, [&](int index) { return !open_.has(index) || !may_be_better(index, least); });
    tighten_by_layers(changes);
    std::erase_if(changes, [&](int index) { return !is_by_layers(index) || !may_be_better(index, least); });
    open_.sort(changes);
    plan_first(changes, change_round, [&] { return best_value() < least || is_over(); });
    // A better one goes on from there; what is left here is known by its bounds.
    if (best_value() >= least && !is_over()) improved_.insert(from);
  }

  double best_value() const {
    double best = std::numeric_limits<double>::infinity();
    for (const Found& found : found_) best = std::min(best, value_of(found, request_.objective));
    return best;
  }

  // Takes these; what is cancelled is open again.
  template <class Work>
  void work_on(std::span<const int> indices, const Work& work) {
    std::vector<SearchLevel> levels;
    std::vector<OpenCandidate> taken;
    for (const int index : indices) {
      levels.push_back(open_.level_of(index));
      taken.push_back(open_.take(index));
    }
    try {
      work(taken);
    } catch (const Cancelled&) {
      for (size_t i = 0; i < taken.size(); ++i) open_.put(taken[i], levels[i]);
      throw;
    }
  }

  // The first candidates of a level go to the next one; of the last they are planned.
  void advance(SearchLevel level, size_t size) {
    std::vector<int> round;
    const OpenCandidates::Ordered& open = open_.of(level);
    for (auto next = open.begin(); next != open.end() && round.size() < size;) {
      const OpenCandidate first = *next++;
      if (is_beaten(first.bound)) {
        open_.take(first.index);
        ++result_.space.dominated;
      } else if (request_.heuristic && level >= SearchLevel::by_layers &&
                 is_beaten(first.bound.scaled(likely_time, likely_memory))) {
        open_.take(first.index);
        ++result_.space.dropped;
        least_dropped_ = std::min(least_dropped_, value_of(first.bound, request_.objective));
      } else {
        round.push_back(first.index);
      }
    }
    work_on(round, [&](const std::vector<OpenCandidate>& taken) {
      if (level >= SearchLevel::by_layers) plan(taken);
      else tighten(taken, level);
    });
  }

  template <class Work>
  void in_parallel(size_t count, const Work& work) {
    std::vector<std::exception_ptr> faults(count);
    std::atomic<size_t> next = 0;
    const auto run = [&] {
      for (size_t i = next++; i < count && !stop_.stop_requested(); i = next++) {
        try {
          work(i);
        } catch (...) {
          faults[i] = std::current_exception();
        }
      }
    };
    std::vector<std::jthread> helpers;
    for (int i = 1; i < request_.threads && i < static_cast<int>(count); ++i) helpers.emplace_back(run);
    run();
    helpers.clear();
    throw_if_stopped(stop_);
    for (const std::exception_ptr& fault : faults) {
      if (fault) std::rethrow_exception(fault);
    }
  }

  // Seconds from which a closer bound leaves out nothing more that the result speaks of: in a search that ends in time,
  // of the gap.
  double slower_than_needed() const {
    if (request_.budget_seconds && request_.objective != SearchObjective::memory) return best_value();
    return slowest_listed_;
  }

  void tighten(std::vector<OpenCandidate> round, SearchLevel level) {
    const ProfileKind kind = profile_kinds[static_cast<size_t>(level)];
    std::vector<OpenCandidate*> unknown;
    for (OpenCandidate& open : round) {
      if (!record_.bounds.contains({open.index, static_cast<int>(level)})) unknown.push_back(&open);
    }
    // One of each profile first, so that no two threads make the same.
    std::map<std::string, int> firsts;
    for (const OpenCandidate* open : unknown)
      firsts.try_emplace(layers_.profiles().key_of(all_[static_cast<size_t>(open->index)], kind), open->index);
    std::vector<int> profiles;
    for (const auto& [key, index] : firsts) profiles.push_back(index);
    in_parallel(profiles.size(),
                [&](size_t i) { layers_.profiles().of(all_[static_cast<size_t>(profiles[i])], kind); });
    std::vector<Bound> bounds(unknown.size());
    const double enough = slower_than_needed();
    in_parallel(unknown.size(), [&](size_t i) {
      const Candidate& candidate = all_[static_cast<size_t>(unknown[i]->index)];
      bounds[i] = layers_.of(candidate, kind, memory_limit_, enough);
    });
    for (size_t i = 0; i < unknown.size(); ++i)
      record_.bounds[{unknown[i]->index, static_cast<int>(level)}] = bounds[i];
    for (OpenCandidate& open : round) {
      const Bound& bound = record_.bounds.at({open.index, static_cast<int>(level)});
      open.bound.seconds = std::max(open.bound.seconds, bound.seconds);
      open.bound.memory_bytes = std::max(open.bound.memory_bytes, bound.memory_bytes);
      open.bound.likely_bytes = bound.likely_bytes;
    }
    for (const OpenCandidate& open : round) consider(open, static_cast<SearchLevel>(static_cast<int>(level) + 1));
  }

  // Whether no plan of these bounds can be on the front or among the fastest.
  bool is_beaten(const Bound& bound) const {
    if (slowest_listed_ >= bound.seconds) return false;
    return std::ranges::any_of(found_, [&](const Found& found) {
      return found.seconds <= bound.seconds && found.memory_bytes <= bound.memory_bytes &&
             (found.seconds < bound.seconds || found.memory_bytes < bound.memory_bytes);
    });
  }

  void plan(const std::vector<OpenCandidate>& round) {
    std::vector<int> indices;
    for (const OpenCandidate& open : round) indices.push_back(open.index);
    const std::vector<int> unknown = plans_.unknown_of(indices);
    std::vector<std::optional<std::optional<Found>>> planned(unknown.size());
    const auto record = [&] {
      for (size_t i = 0; i < unknown.size(); ++i) {
        if (planned[i]) plans_.add(unknown[i], std::move(*planned[i]));
      }
    };
    try {
      in_parallel(unknown.size(), [&](size_t i) {
        planned[i] = plan_candidate(request_, all_[static_cast<size_t>(unknown[i])], stop_);
      });
    } catch (const Cancelled&) {
      record();
      throw;
    }
    record();
    for (const int index : indices) keep(*plans_.find(index));
  }

  void keep(const std::optional<Found>& planned) {
    ++result_.space.planned;
    if (!planned) {
      ++result_.space.illegal;
    } else if (planned->memory_bytes > memory_limit_ || planned->seconds > time_limit_) {
      ++result_.space.above_limit;
      if (!nearest_ || planned->memory_bytes < nearest_->memory_bytes) nearest_ = *planned;
    } else {
      found_.insert(std::ranges::upper_bound(found_, *planned, is_faster), *planned);
      if (planned->seconds >= slowest_listed_) return;
      const std::vector<Found> listed = fastest_of(found_, fastest_count);
      if (listed.size() == fastest_count) slowest_listed_ = listed.back().seconds;
    }
  }

  void report() const {
    if (progress_) progress_({result_.space.candidates - open_.count(), result_.space.candidates, &found_});
  }

  // `least`: of the open candidates.
  void finish(double least) {
    least = std::min(least, least_dropped_);
    result_.front = pareto_front(found_);
    result_.fastest = fastest_of(found_, fastest_count);
    if (found_.empty()) {
      result_.gap = result_.space.open + result_.space.dropped > 0 ? 1 : 0;
      result_.nearest = nearest_;
      const auto refused = std::ranges::find_if(record_.plans, [](const auto& one) { return !one.second; });
      if (refused != record_.plans.end())
        result_.first_refusal = refusal_of(request_, all_[static_cast<size_t>(refused->first)]);
      return;
    }
    const double best = best_value();
    if (least < best) result_.gap = (best - least) / best;
  }

  const SearchRequest& request_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::stop_source ending_;  // on request, or when the time is over
  std::stop_token stopped_;  // on request
  std::stop_callback<std::function<void()>> when_stopped_;
  std::stop_token stop_;
  SearchRecord own_record_;
  SearchRecord& record_;
  const std::function<void(const SearchProgress&)>& progress_;
  Bounds bounds_;
  LayerBounds layers_;
  std::vector<Candidate> all_;
  OpenCandidates open_;
  KnownPlans plans_;
  std::set<int> improved_;  // of which all single changes have been tried
  double memory_limit_ = 0, time_limit_ = 0;
  std::vector<Found> found_;                                         // within the limits, by time
  double slowest_listed_ = std::numeric_limits<double>::infinity();  // of the fastest, where there are enough
  std::optional<Found> nearest_;                                     // above them, the smallest
  double least_dropped_ = std::numeric_limits<double>::infinity();   // value that a dropped candidate could have
  SearchResult result_;
};

}  // namespace

SearchResult search(const SearchRequest& request, std::stop_token stop,
                    const std::function<void(const SearchProgress&)>& progress) {
  check_layers(request.plan.config, model_limits(request.plan.config));
  return Search(request, std::move(stop), progress).run();
}

}  // namespace shardscope
