#include "engine/runtime/collective_rates.h"

#include <Eigen/QR>
#include <algorithm>
#include <limits>
#include <map>

#include "engine/machine/collective_seconds.h"
#include "engine/runtime/calibration.h"

namespace shardscope {

CollectiveRates fit_collective(std::span<const CollectiveTiming> timings, int cores) {
  const auto rows = static_cast<Eigen::Index>(timings.size());
  Eigen::MatrixX3d relative(rows, 3);
  for (Eigen::Index row = 0; row < rows; ++row) {
    const CollectiveTiming& timing = timings[static_cast<size_t>(row)];
    const double bytes = wire_bytes(timing.collective, timing.payload, timing.ranks) * timing.ranks / cores;
    relative.row(row) << 1, timing.ranks, bytes;
    relative.row(row) /= timing.time.seconds;
  }
  // A rate that would be negative is none, and the others are fitted without it.
  std::vector<Eigen::Index> used = {0, 1, 2};
  Eigen::Vector3d rates = Eigen::Vector3d::Zero();
  while (!used.empty()) {
    const Eigen::MatrixXd columns = relative(Eigen::all, used);
    const Eigen::VectorXd found = columns.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(rows));
    Eigen::Index least = 0;
    rates.setZero();
    rates(used) = found;
    if (found.minCoeff(&least) >= 0) break;
    used.erase(used.begin() + least);
  }
  return {std::max(rates[0], 0.0), std::max(rates[1], 0.0), std::max(rates[2], 1e-15)};
}

void set_collective_rates(Machine& machine, const Measurements& measured) {
  std::map<InstructionKind, std::vector<CollectiveTiming>> kinds;
  for (const CollectiveTiming& timing : measured.collectives) kinds[timing.collective].push_back(timing);
  if (kinds.empty()) return;
  std::map<InstructionKind, CollectiveRates> rates;
  double least_latency = std::numeric_limits<double>::infinity(), least_per_byte = least_latency;
  for (const auto& [kind, timings] : kinds) {
    const CollectiveRates& fitted = rates[kind] = fit_collective(timings, measured.cores);
    least_latency = std::min(least_latency, fitted.latency);
    least_per_byte = std::min(least_per_byte, fitted.seconds_per_byte);
  }
  Level& host = machine.levels.front();
  host.latency = least_latency;
  host.bytes_per_second = 1 / least_per_byte;
  host.source = source_text(measured, "fastest of the collectives");
  machine.collectives.clear();
  for (const auto& [kind, timings] : kinds) {
    const CollectiveRates& fitted = rates[kind];
    std::vector<Timing> times;
    for (const CollectiveTiming& timing : timings) times.push_back(timing.time);
    CollectiveRule& rule = machine.collectives.emplace_back();
    rule.collective = kind;
    rule.level = host.name;
    rule.algorithm = Algorithm::direct;
    rule.efficiency = least_per_byte / fitted.seconds_per_byte;
    rule.latency = fitted.latency - least_latency;
    rule.latency_per_member = fitted.latency_per_member;
    rule.source = source_text(measured, times);
  }
}

}  // namespace shardscope
