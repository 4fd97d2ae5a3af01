#include "engine/search/search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

#include "engine/compile/compile.h"
#include "engine/plan/memory_limit.h"

namespace shardscope {

namespace {

constexpr size_t fastest_count = 10;
// Candidates that are planned before bounds are compared again: the same for any number of threads.
constexpr size_t round_size = 8;

bool is_faster(const Found& a, const Found& b) {
  if (a.seconds != b.seconds) return a.seconds < b.seconds;
  if (a.memory_bytes != b.memory_bytes) return a.memory_bytes < b.memory_bytes;
  return a.index < b.index;
}

double value_of(const Found& found, SearchObjective objective) {
  return objective == SearchObjective::memory ? found.memory_bytes : found.seconds;
}
double value_of(const Bound& bound, SearchObjective objective) {
  return objective == SearchObjective::memory ? bound.memory_bytes : bound.seconds;
}

class Search {
 public:
  Search(const SearchRequest& request, std::stop_token stop, const std::function<void(const SearchProgress&)>& progress)
      : request_(request),
        stop_(std::move(stop)),
        progress_(progress),
        bounds_(request.plan, request.devices),
        all_(candidates(model_limits(request.plan.config), request.devices, request.fixed)) {
    const MachinePrices prices(request.plan.machine, static_cast<int>(request.devices));
    memory_limit_ = static_cast<double>(memory_limit(request.plan.config.sharding, prices));
    memory_limit_ = std::min(memory_limit_, request.at_most_memory.value_or(memory_limit_));
    time_limit_ = request.at_most_seconds.value_or(std::numeric_limits<double>::infinity());
  }

  SearchResult run() {
    const auto start = std::chrono::steady_clock::now();
    result_.space.candidates = static_cast<int64_t>(all_.size());
    std::vector<Bound> bounds;
    std::vector<int> open;
    for (size_t i = 0; i < all_.size(); ++i) {
      bounds.push_back(bounds_.of(all_[i]));
      if (bounds[i].memory_bytes > memory_limit_) ++result_.space.too_large;
      else if (bounds[i].seconds > time_limit_) ++result_.space.too_slow;
      else open.push_back(static_cast<int>(i));
    }
    std::ranges::stable_sort(open, [&](int a, int b) {
      const double one = value_of(bounds[a], request_.objective), two = value_of(bounds[b], request_.objective);
      if (one != two) return one < two;
      return bounds[a].seconds + bounds[b].memory_bytes < bounds[b].seconds + bounds[a].memory_bytes;
    });
    spread_ties(open, bounds);
    const auto is_over = [&] {
      const std::chrono::duration<double> past = std::chrono::steady_clock::now() - start;
      return request_.budget_seconds && past.count() >= *request_.budget_seconds;
    };
    size_t next = 0;
    while (next < open.size() && !is_over()) {
      std::vector<int> round;
      for (; next < open.size() && round.size() < round_size; ++next) {
        if (is_beaten(bounds[open[next]])) ++result_.space.dominated;
        else round.push_back(open[next]);
      }
      plan(round);
      if (stop_.stop_requested()) throw Cancelled{};
      tell(static_cast<int64_t>(next));
    }
    double least = std::numeric_limits<double>::infinity();
    for (; next < open.size(); ++next) {
      if (is_beaten(bounds[open[next]])) {
        ++result_.space.dominated;
        continue;
      }
      ++result_.space.open;
      least = std::min(least, value_of(bounds[open[next]], request_.objective));
    }
    finish(least);
    return std::move(result_);
  }

 private:
  // Candidates of one bound differ in what bounds do not see. So that good ones of all kinds come early, they are taken
  // in strides through their list.
  void spread_ties(std::vector<int>& open, const std::vector<Bound>& bounds) const {
    for (size_t begin = 0; begin < open.size();) {
      size_t end = begin;
      const double value = value_of(bounds[open[begin]], request_.objective);
      while (end < open.size() && value_of(bounds[open[end]], request_.objective) <= value * 1.0001) ++end;
      const size_t count = end - begin;
      if (count > 2 * round_size) {
        size_t stride = std::max<size_t>(1, static_cast<size_t>(static_cast<double>(count) * 0.618));
        while (std::gcd(stride, count) != 1) ++stride;
        std::vector<int> spread(count);
        for (size_t i = 0; i < count; ++i) spread[i] = open[begin + i * stride % count];
        std::ranges::copy(spread, open.begin() + static_cast<std::ptrdiff_t>(begin));
      }
      begin = end;
    }
  }

  // Whether no plan of these bounds can be on the front or among the fastest.
  bool is_beaten(const Bound& bound) const {
    if (found_.size() < fastest_count || found_[fastest_count - 1].seconds >= bound.seconds) return false;
    return std::ranges::any_of(found_, [&](const Found& found) {
      return found.seconds <= bound.seconds && found.memory_bytes <= bound.memory_bytes &&
             (found.seconds < bound.seconds || found.memory_bytes < bound.memory_bytes);
    });
  }

  void plan(const std::vector<int>& round) {
    std::vector<std::optional<Found>> planned(round.size());
    std::vector<std::exception_ptr> faults(round.size());
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i = next++; i < round.size() && !stop_.stop_requested(); i = next++) {
        try {
          planned[i] = plan_candidate(request_, bounds_, all_[static_cast<size_t>(round[i])], stop_);
        } catch (...) {
          faults[i] = std::current_exception();
        }
      }
    };
    std::vector<std::jthread> helpers;
    for (int i = 1; i < request_.threads; ++i) helpers.emplace_back(work);
    work();
    helpers.clear();
    if (stop_.stop_requested()) throw Cancelled{};
    for (const std::exception_ptr& fault : faults) {
      if (fault) std::rethrow_exception(fault);
    }
    for (size_t i = 0; i < round.size(); ++i) {
      ++result_.space.planned;
      if (!planned[i]) {
        ++result_.space.illegal;
        continue;
      }
      planned[i]->index = round[i];
      if (planned[i]->memory_bytes > memory_limit_ || planned[i]->seconds > time_limit_) {
        ++result_.space.above_limit;
        if (!nearest_ || planned[i]->memory_bytes < nearest_->memory_bytes) nearest_ = *planned[i];
        continue;
      }
      found_.insert(std::ranges::upper_bound(found_, *planned[i], is_faster), *planned[i]);
    }
  }

  void tell(int64_t taken) const {
    if (!progress_) return;
    const int64_t before = result_.space.too_large + result_.space.too_slow;
    progress_({before + taken, result_.space.candidates, &found_});
  }

  void finish(double least) {
    result_.front = pareto_front(found_);
    result_.fastest.assign(found_.begin(),
                           found_.begin() + static_cast<std::ptrdiff_t>(std::min(fastest_count, found_.size())));
    if (found_.empty()) {
      result_.gap = result_.space.open > 0 ? 1 : 0;
      if (nearest_) result_.smallest_refused = text_of(nearest_->candidate);
      return;
    }
    double best = std::numeric_limits<double>::infinity();
    for (const Found& found : found_) best = std::min(best, value_of(found, request_.objective));
    if (least < best) result_.gap = (best - least) / best;
  }

  const SearchRequest& request_;
  std::stop_token stop_;
  const std::function<void(const SearchProgress&)>& progress_;
  Bounds bounds_;
  std::vector<Candidate> all_;
  double memory_limit_ = 0, time_limit_ = 0;
  std::vector<Found> found_;      // within the limits, by time
  std::optional<Found> nearest_;  // above them, the smallest
  SearchResult result_;
};

}  // namespace

std::optional<Found> plan_candidate(const SearchRequest& request, const Bounds& bounds, const Candidate& candidate,
                                    std::stop_token stop) {
  Found found;
  found.candidate = candidate;
  try {
    const Plan plan = compile({run_of(request.plan.config, candidate), request.plan.machine}, stop);
    found.seconds = plan.totals.seconds_per_step;
    found.memory_bytes = static_cast<double>(plan.arena_bytes());
    for (const Simulation::Communication& of_stage : plan.simulation.communication) {
      if (found.seconds > 0) found.exposed_share = std::max(found.exposed_share, of_stage.exposed / found.seconds);
    }
    found.bubble = plan.simulation.bubble;
  } catch (const Failure&) {
    return std::nullopt;
  }
  const double possible = found.seconds * static_cast<double>(request.devices) * bounds.peak();
  found.mfu = possible > 0 ? bounds.model_flops() / possible : 0;
  const double computing = 1 - found.exposed_share - found.bubble;
  found.limit = found.bubble > std::max(computing, found.exposed_share) ? "bubble"
                : found.exposed_share > computing                       ? "communication"
                                                                        : "compute";
  return found;
}

std::vector<Found> pareto_front(std::vector<Found> found) {
  std::ranges::sort(found, is_faster);
  std::vector<Found> front;
  for (Found& each : found) {
    if (front.empty() || each.memory_bytes < front.back().memory_bytes) front.push_back(std::move(each));
  }
  return front;
}

SearchResult search(const SearchRequest& request, std::stop_token stop,
                    const std::function<void(const SearchProgress&)>& progress) {
  return Search(request, std::move(stop), progress).run();
}

}  // namespace shardscope
