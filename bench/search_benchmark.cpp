// search_benchmark FILE DEVICES MACHINE SECONDS [NUMBER=VALUE ...]: what a search knows of its candidates, and what
// knowing it takes. First the time of each level of bounds over a sample of the space, one thread. Then a search of so
// many seconds, and for each of its fastest and of its front which share of the plan's time and memory each bound has.

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <set>
#include <thread>

#include "engine/config/parse.h"
#include "engine/machine/chosen_machine.h"
#include "engine/search/layer_bound.h"
#include "engine/search/search.h"

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
    coarse_keys.insert(layers->profiles().key_of(candidate, true));
    fine_keys.insert(layers->profiles().key_of(candidate, false));
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
  each("a coarse profile", [&](const Candidate& candidate) { layers->profiles().of(candidate, true); });
  each("a coarse bound by it", [&](const Candidate& candidate) { layers->of(candidate, true); });
  each("a profile", [&](const Candidate& candidate) { layers->profiles().of(candidate, false); });
  each("a bound by it", [&](const Candidate& candidate) { layers->of(candidate, false); });
}

void print_shares(const SearchRequest& request, const std::vector<Found>& list) {
  const Bounds bounds(request.plan, request.devices);
  LayerBounds layers(request.plan, request.devices);
  for (const Found& found : list) {
    const Bound of[] = {bounds.of(found.candidate), layers.of(found.candidate, true),
                        layers.of(found.candidate, false)};
    fmt::print("{:9.4g} s {:7.2f} GB  time", found.seconds, found.memory_bytes / 1e9);
    for (const Bound& bound : of) fmt::print(" {:.3f}", bound.seconds / found.seconds);
    fmt::print("  memory");
    for (const Bound& bound : of) fmt::print(" {:.3f}", bound.memory_bytes / found.memory_bytes);
    fmt::print(" likely {:.3f}  {}\n", of[2].likely_bytes / found.memory_bytes, text_of(found.candidate));
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
  const SearchResult result = search(request);
  const SearchSpaceCounts& space = result.space;
  fmt::print("{} candidates: {} too large, {} dominated, {} planned, {} open; gap {:.4f}\nfastest\n", space.candidates,
             space.too_large, space.dominated, space.planned, space.open, result.gap);
  print_shares(request, result.fastest);
  fmt::print("front\n");
  print_shares(request, result.front);
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
