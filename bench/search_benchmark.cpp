// search_benchmark FILE DEVICES MACHINE SECONDS [NUMBER=VALUE ...]: what a search knows of its candidates, and what
// knowing it takes. First the time of each level of bounds over a sample of the space, one thread. Then a search of so
// many seconds, and for each of its fastest and of its front which share of the plan's time and memory each bound has,
// what is left open, and how many candidates each level of bounds leaves that may be faster than the best, one thread.

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/config/parse.h"
#include "engine/machine/chosen_machine.h"
#include "engine/plan/memory_limit.h"
#include "engine/search/layer_bound.h"
#include "engine/search/open_candidates.h"
#include "engine/search/search.h"
#include "engine/search/search_record.h"

namespace {

using namespace shardscope;

constexpr size_t sample_size = 20;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_costs(const SearchRequest& request) {
  std::optional<Bounds> bounds;
  std::optional<LayerBounds> layers;
  std::vector<Candidate> all;
  fmt::print("{:8.3f} s bounds of the request\n", seconds_of([&] { bounds.emplace(request.plan, request.devices); }));
  fmt::print("{:8.3f} s profiles of the request\n", seconds_of([&] { layers.emplace(request.plan, request.devices); }));
  const ModelLimits limits = model_limits(request.plan.config);
  const double listing = seconds_of([&] { all = candidates(limits, request.devices, request.fixed); });
  fmt::print("{:8.3f} s to list {} candidates\n", listing, all.size());
  fmt::print("{:8.3f} s their first bounds\n", seconds_of([&] {
               for (const Candidate& candidate : all) bounds->of(candidate);
             }));
  std::set<std::string> coarse_keys, fine_keys;
  for (const Candidate& candidate : all) {
    coarse_keys.insert(layers->profiles().key_of(candidate, ProfileKind::coarse));
    fine_keys.insert(layers->profiles().key_of(candidate, ProfileKind::own));
  }
  fmt::print("{} coarse profiles, {} profiles of all candidates\n", coarse_keys.size(), fine_keys.size());
  std::vector<Candidate> sample;
  for (size_t i = 0; i < sample_size && !all.empty(); ++i) sample.push_back(all[i * all.size() / sample_size]);
  const auto each = [&](const char* name, const std::function<void(const Candidate&)>& work) {
    const double took = seconds_of([&] {
      for (const Candidate& candidate : sample) work(candidate);
    });
    fmt::print("{:8.3f} ms {}\n", 1000 * took / static_cast<double>(sample.size()), name);
  };
  each("a coarse profile", [&](const Candidate& candidate) { layers->profiles().of(candidate, ProfileKind::coarse); });
  each("a coarse bound by it", [&](const Candidate& candidate) { layers->of(candidate, ProfileKind::coarse); });
  each("a profile", [&](const Candidate& candidate) { layers->profiles().of(candidate, ProfileKind::own); });
  each("a bound by it", [&](const Candidate& candidate) { layers->of(candidate, ProfileKind::own); });
  each("a plan", [&](const Candidate& candidate) { plan_candidate(request, candidate, {}); });
}

// How replicas split what they have.
std::string split_of_replicas(const StrategyConfig& s) { return s.fsdp > 1 ? "fsdp" : fmt::format("zero {}", s.zero); }

// Of what was planned: how close the last bounds are, and how many are neither on the front nor among the fastest.
void print_planned(const SearchRecord& record, const SearchResult& result) {
  std::set<int> listed;
  for (const auto* list : {&result.front, &result.fastest}) {
    for (const Found& found : *list) listed.insert(found.index);
  }
  struct Group {
    int planned = 0, listed = 0;
    double time = 0, memory = 0, least_time = 1, least_memory = 1;  // shares: sums, and the least
    std::string of_least_memory;
  };
  std::map<std::string, Group> groups;
  for (const auto& [index, planned] : record.plans) {
    if (!planned) continue;
    const auto known = record.bounds.find({index, static_cast<int>(SearchLevel::coarse)});
    if (known == record.bounds.end()) continue;
    const double time = known->second.seconds / planned->seconds,
                 memory = known->second.memory_bytes / planned->memory_bytes;
    const StrategyConfig& s = planned->candidate.strategy;
    Group& group = groups[fmt::format("{:<7} {:<13} {:<9}", split_of_replicas(s),
                                      s.pipeline > 1 ? s.pipeline_schedule : "", s.recompute)];
    ++group.planned;
    group.listed += listed.contains(index);
    group.time += time;
    group.memory += memory;
    group.least_time = std::min(group.least_time, time);
    if (memory < group.least_memory) group.least_memory = memory, group.of_least_memory = text_of(planned->candidate);
  }
  fmt::print("planned, listed, shares of time and memory that bounds by own layers have in the mean, and the least\n");
  for (const auto& [name, g] : groups)
    fmt::print("{} {:5} {:4}  {:.3f} {:.3f}  {:.3f} {:.3f}  {}\n", name, g.planned, g.listed, g.time / g.planned,
               g.memory / g.planned, g.least_time, g.least_memory, g.of_least_memory);
}

void print_shares(const SearchRequest& request, const std::vector<Found>& list) {
  const Bounds bounds(request.plan, request.devices);
  LayerBounds layers(request.plan, request.devices);
  for (const Found& found : list) {
    std::vector<Bound> of = {bounds.of(found.candidate)};
    for (const ProfileKind kind : profile_kinds) of.push_back(layers.of(found.candidate, kind));
    fmt::print("{:9.4g} s {:7.2f} GB  time", found.seconds, found.memory_bytes / 1e9);
    for (const Bound& bound : of) fmt::print(" {:.3f}", bound.seconds / found.seconds);
    fmt::print("  memory");
    for (const Bound& bound : of) fmt::print(" {:.3f}", bound.memory_bytes / found.memory_bytes);
    fmt::print(" likely {:.3f}  {}\n", of.back().likely_bytes / found.memory_bytes, text_of(found.candidate));
  }
}

constexpr const char* level_names[] = {"undivided", "proportional", "coarse", "own"};

// What the search has bounded, by level: candidates, and profiles for these.
void print_bounded(const SearchRequest& request, const SearchRecord& record) {
  const LayerProfiles profiles(request.plan.config, request.plan.machine);
  const std::vector<Candidate> all = candidates(model_limits(request.plan.config), request.devices, request.fixed);
  std::map<int, std::set<std::string>> keys;
  std::map<int, int> count;
  for (const auto& [at, bound] : record.bounds) {
    const auto& [index, level] = at;
    ++count[level];
    keys[level].insert(profiles.key_of(all[static_cast<size_t>(index)], profile_kinds[static_cast<size_t>(level)]));
  }
  for (const auto& [level, bounded] : count)
    fmt::print("{:>8} bounded {:<12} {:6} profiles\n", bounded, level_names[level], keys[level].size());
}

// What is not planned and may be better than the best: by what is known of it, how many and the lowest bound.
void print_open(const SearchRequest& request, const SearchRecord& record, double best) {
  const Bounds bounds(request.plan, request.devices);
  const LayerBounds layers(request.plan, request.devices);
  const auto memory = static_cast<double>(memory_limit(request.plan.config.sharding, layers.prices()));
  struct Open {
    double seconds = 0;
    const Candidate* candidate = nullptr;
  };
  std::map<std::string, std::vector<Open>> open;
  const std::vector<Candidate> all = candidates(model_limits(request.plan.config), request.devices, request.fixed);
  for (size_t i = 0; i < all.size(); ++i) {
    const int index = static_cast<int>(i);
    if (record.plans.contains(index)) continue;
    Bound bound = bounds.of(all[i]);
    int level = 0;
    for (auto at = record.bounds.lower_bound({index, 0}); at != record.bounds.end() && at->first.first == index; ++at) {
      bound.seconds = std::max(bound.seconds, at->second.seconds);
      bound.memory_bytes = std::max(bound.memory_bytes, at->second.memory_bytes);
      ++level;
    }
    if (bound.seconds >= best || (memory > 0 && bound.memory_bytes > memory)) continue;
    const StrategyConfig& s = all[i].strategy;
    open[fmt::format("{} {:<7} {:<7} {:<9}", level, split_of_replicas(s), s.pipeline > 1 ? "stages" : "", s.recompute)]
        .push_back({bound.seconds, &all[i]});
  }
  fmt::print("open, by the level of what is known: candidates, of these by more than 5 %, lowest bound of the best\n");
  for (auto& [key, list] : open) {
    const auto least = std::ranges::min_element(list, {}, &Open::seconds);
    const auto more = std::ranges::count_if(list, [&](const Open& of) { return of.seconds < 0.95 * best; });
    fmt::print("{} {:7} {:7} {:.4f}  {}\n", key, list.size(), more, least->seconds / best, text_of(*least->candidate));
  }
}

void print_left(const SearchRequest& request, double best) {
  const Bounds bounds(request.plan, request.devices);
  LayerBounds layers(request.plan, request.devices);
  const std::vector<Candidate> all = candidates(model_limits(request.plan.config), request.devices, request.fixed);
  const int64_t memory = memory_limit(request.plan.config.sharding, layers.prices());
  const double limit = memory > 0 ? static_cast<double>(memory) : std::numeric_limits<double>::infinity();
  std::vector<const Candidate*> left;
  for (const Candidate& candidate : all) left.push_back(&candidate);
  size_t profiles = 0;
  const auto leave = [&](const char* level, const std::function<Bound(const Candidate&)>& bound_of) {
    const double took = seconds_of([&] {
      std::erase_if(left, [&](const Candidate* candidate) {
        const Bound bound = bound_of(*candidate);
        return bound.memory_bytes > limit || bound.seconds >= best;
      });
    });
    fmt::print("{:>8} left {:<12} {:6} profiles {:8.2f} s\n", left.size(), level, profiles, took);
  };
  fmt::print("that may be faster than the best\n");
  leave("at once", [&](const Candidate& candidate) { return bounds.of(candidate); });
  for (const ProfileKind kind : profile_kinds) {
    // Those that share a profile, and what it is made of, together.
    std::map<std::string, std::vector<const Candidate*>> by_profile;
    for (const Candidate* candidate : left) by_profile[layers.profiles().key_of(*candidate, kind)].push_back(candidate);
    profiles = by_profile.size();
    left.clear();
    for (const auto& [key, sharing] : by_profile) left.insert(left.end(), sharing.begin(), sharing.end());
    leave(level_names[static_cast<size_t>(kind)],
          [&](const Candidate& candidate) { return layers.of(candidate, kind, limit, best); });
  }
}

int run(int count, char** arguments) {
  if (count < 5) {
    fmt::print(stderr, "search_benchmark FILE DEVICES MACHINE SECONDS [NUMBER=VALUE ...]\n");
    return 2;
  }
  SearchRequest request;
  request.plan = {load_run_config(arguments[1]), chosen_machine(fmt::format("\"{}\"", arguments[3]), {})};
  request.devices = std::atoll(arguments[2]);
  request.budget_seconds = std::atof(arguments[4]);
  request.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 5; i < count; ++i) fix(request.fixed, arguments[i]);
  print_costs(request);
  SearchRecord record;
  request.record = &record;
  const SearchResult result = search(request);
  const SearchSpaceCounts& space = result.space;
  fmt::print("{} candidates: {} too large, {} dominated, {} planned, {} open; gap {:.4f}\nfastest\n", space.candidates,
             space.too_large, space.dominated, space.planned, space.open, result.gap);
  print_shares(request, result.fastest);
  print_bounded(request, record);
  print_planned(record, result);
  fmt::print("front\n");
  print_shares(request, result.front);
  if (!result.fastest.empty()) print_open(request, record, result.fastest.front().seconds);
  if (!result.fastest.empty()) print_left(request, result.fastest.front().seconds);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const Failure& failure) {
    for (const Error& error : failure.errors()) fmt::print(stderr, "{}\n", error.message);
    return 1;
  }
}
