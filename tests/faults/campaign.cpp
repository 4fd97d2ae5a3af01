#include "tests/faults/campaign.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

namespace shardscope::faults {

namespace {

// Each fault in each phase, kinds taking turns.
std::vector<TrialRequest> round_of(const std::vector<Fault>& faults, const std::regex& only, Random& random) {
  std::map<size_t, std::vector<TrialRequest>> by_kind;
  for (size_t i = 0; i < faults.size(); ++i) {
    if (!faults[i].lacks.empty() || !std::regex_search(faults[i].name, only)) continue;
    for (Phase phase : faults[i].phases) by_kind[faults[i].kind].push_back({i, phase, random()});
  }
  std::vector<TrialRequest> round;
  for (auto& [kind, requests] : by_kind) std::shuffle(requests.begin(), requests.end(), random);
  for (size_t turn = 0, before = 0; turn == 0 || round.size() > before; ++turn) {
    before = round.size();
    for (const auto& [kind, requests] : by_kind) {
      if (turn < requests.size()) round.push_back(requests[turn]);
    }
  }
  return round;
}

}  // namespace

std::vector<TrialRequest> requests_of(const Campaign& campaign) {
  const std::vector<Fault> faults = all_faults();
  Random random(campaign.seed);
  std::vector<TrialRequest> chosen = round_of(faults, campaign.only, random);
  if (campaign.trials == 0 || chosen.empty()) return chosen;
  const auto trials = static_cast<size_t>(campaign.trials);
  while (chosen.size() < trials) std::ranges::copy(round_of(faults, campaign.only, random), std::back_inserter(chosen));
  chosen.resize(trials);
  return chosen;
}

std::vector<Trial> run_campaign(const Campaign& campaign, const std::vector<TrialRequest>& requests) {
  std::vector<std::pair<size_t, Trial>> done;
  std::mutex mutex;
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < requests.size();) {
      Trial trial = run_trial(requests[i], campaign.program);
      const std::lock_guard lock(mutex);
      campaign.on_trial(trial);
      done.emplace_back(requests[i].fault, std::move(trial));
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < campaign.at_a_time; ++i) workers.emplace_back(work);
  workers.clear();
  std::stable_sort(done.begin(), done.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Trial> trials;
  for (auto& [fault, trial] : done) trials.push_back(std::move(trial));
  return trials;
}

bool went_well(const std::vector<Trial>& trials) {
  return std::ranges::all_of(trials, [](const Trial& trial) { return !trial.missed && trial.right(); });
}

bool were_in_time(const std::vector<Trial>& trials) { return std::ranges::none_of(trials, &Trial::late); }

std::vector<std::string> left_out() {
  std::vector<std::string> lines;
  for (const Fault& fault : all_faults()) {
    if (!fault.lacks.empty()) lines.push_back(fault.name + ": this machine lacks " + fault.lacks);
  }
  return lines;
}

}  // namespace shardscope::faults
