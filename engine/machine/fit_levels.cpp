#include "engine/machine/fit_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace shardscope {

namespace {

// What a machine file can say (machine_keys.cpp).
constexpr double most_latency = 1e3, least_seconds_per_byte = 1e-20, most_seconds_per_byte = 1e-3;
// Rows whose shares of latency and bytes differ by less do not tell them apart: about 2 % of the size.
constexpr double least_difference = 1e-4;
// Of the time of the row that the bytes take most of.
constexpr double least_bytes_share = 0.1;
constexpr int most_steps = 50;
constexpr double least_part = 1e-3;        // of a step
constexpr double rounding_misfit = 1e-18;  // errors of 1e-9
constexpr int64_t small_bytes = 1 << 20;

struct LevelRates {
  double latency = 0, seconds_per_byte = 0;
};

double within_range(double seconds_per_byte) {
  return std::clamp(seconds_per_byte, least_seconds_per_byte, most_seconds_per_byte);
}

// A row's time as base + latency x messages + seconds per byte x bytes, near some rates.
struct LinearTime {
  double base = 0, messages = 0, bytes = 0, measured = 1;
};

// Sums over rows of products of messages, bytes and the time that is left, each relative to what was measured.
struct NormalEquations {
  explicit NormalEquations(std::span<const LinearTime> times) {
    for (const LinearTime& time : times) {
      const double a = time.messages / time.measured, b = time.bytes / time.measured;
      const double left = 1 - time.base / time.measured;
      aa += a * a, ab += a * b, bb += b * b, al += a * left, bl += b * left;
    }
  }

  // 0 where messages and bytes are in one proportion in all rows; 1 where no row has both.
  double difference() const { return aa > 0 && bb > 0 ? 1 - ab * ab / (aa * bb) : 0; }

  // Neither is below 0.
  LevelRates solution() const {
    const double determinant = aa * bb - ab * ab;
    LevelRates rates = {(al * bb - bl * ab) / determinant, (aa * bl - ab * al) / determinant};
    if (rates.latency < 0) rates = {0, bl / bb};
    if (rates.seconds_per_byte < 0) rates = {al / aa, 0};
    return {std::clamp(rates.latency, 0.0, most_latency), within_range(rates.seconds_per_byte)};
  }

  double aa = 0, ab = 0, bb = 0, al = 0, bl = 0;
};

class LevelFit {
 public:
  LevelFit(Machine& machine, size_t number, std::vector<const MeasuredRow*> rows)
      : machine_(machine), level_(machine.levels[number]), rows_(std::move(rows)) {}

  // Throws Failure where the rows do not say both.
  void fit() {
    const Level was = level_;
    const LevelRates own = {was.latency, 1 / was.bytes_per_second};
    const std::vector<LinearTime> slowest = linear_times({1, 1e-3});  // at these rates no other level decides
    level_ = was;
    const NormalEquations equations(slowest);
    if (equations.difference() < least_difference) {
      const auto& work = std::get<MeasuredCollective>(rows_.front()->work);
      fail(*rows_.front(),
           fmt::format("rows of about one size do not tell the latency of level '{}' from its rate", level_.name),
           fmt::format("add a row of {} among {} with {}", name(work.collective), work.ranks,
                       work.bytes > small_bytes ? bytes_text(small_bytes / 64) + " or less"
                                                : bytes_text(64 * static_cast<double>(work.bytes)) + " or more"));
    }
    const LevelRates first = equations.solution();
    require_rate(slowest, first);
    const Fitted from_first = descend(first), from_own = descend(own);
    const Fitted& best = from_own.misfit < from_first.misfit ? from_own : from_first;
    const bool is_nearer = best.misfit + rounding_misfit < misfit(own);
    level_ = was;
    if (is_nearer) set(best.rates);
  }

 private:
  struct Fitted {
    LevelRates rates;
    double misfit = 0;
  };

  // Gauss-Newton, each step shortened until it is one downwards.
  Fitted descend(const LevelRates& start) {
    Fitted best = {start, misfit(start)};
    for (int step = 0; step < most_steps; ++step) {
      const NormalEquations here(linear_times(best.rates));
      LevelRates aim = best.rates;
      if (here.difference() >= least_difference) aim = here.solution();
      else if (here.aa == 0 && here.bb > 0)
        aim.seconds_per_byte = within_range(here.bl / here.bb);  // no row waits here
      else if (here.bb == 0 && here.aa > 0) aim.latency = std::clamp(here.al / here.aa, 0.0, most_latency);
      const double before = best.misfit;
      for (double part = 1; part > least_part && best.misfit == before; part /= 2) {
        const LevelRates there = {std::lerp(best.rates.latency, aim.latency, part),
                                  std::lerp(best.rates.seconds_per_byte, aim.seconds_per_byte, part)};
        if (const double found = misfit(there); found < before) best = {there, found};
      }
      if (best.misfit == before) break;
    }
    return best;
  }

  [[noreturn]] static void fail(const MeasuredRow& row, std::string message, std::string hint) {
    throw Failure(Error{"bad_measurements", std::move(message), row.place, std::move(hint)});
  }

  void set(const LevelRates& rates) {
    level_.latency = rates.latency;
    level_.bytes_per_second = 1 / rates.seconds_per_byte;
  }

  std::vector<double> seconds(const LevelRates& rates) {
    set(rates);
    RowPrices prices(machine_);
    std::vector<double> all;
    for (const MeasuredRow* row : rows_) all.push_back(prices.seconds(std::get<MeasuredCollective>(row->work)));
    return all;
  }

  double misfit(const LevelRates& rates) {
    const std::vector<double> predicted = seconds(rates);
    double sum = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const double error = predicted[i] / rows_[i]->seconds - 1;
      sum += error * error;
    }
    return sum;
  }

  // Times are linear between the points at which another level, or rule, begins to decide.
  std::vector<LinearTime> linear_times(const LevelRates& at) {
    const double more_latency = std::max(at.latency, 1e-9) * 1e-3, more_per_byte = at.seconds_per_byte * 1e-3;
    const std::vector<double> here = seconds(at), later = seconds({at.latency + more_latency, at.seconds_per_byte}),
                              slower = seconds({at.latency, at.seconds_per_byte + more_per_byte});
    std::vector<LinearTime> times;
    for (size_t i = 0; i < rows_.size(); ++i) {
      LinearTime time;
      time.messages = (later[i] - here[i]) / more_latency;
      time.bytes = (slower[i] - here[i]) / more_per_byte;
      time.base = here[i] - time.messages * at.latency - time.bytes * at.seconds_per_byte;
      time.measured = rows_[i]->seconds;
      times.push_back(time);
    }
    return times;
  }

  void require_rate(std::span<const LinearTime> times, const LevelRates& rates) {
    size_t most = 0;
    const auto share = [&](size_t i) { return times[i].bytes * rates.seconds_per_byte / times[i].measured; };
    for (size_t i = 0; i < times.size(); ++i)
      if (share(i) > share(most)) most = i;
    if (share(most) >= least_bytes_share) return;
    const auto& work = std::get<MeasuredCollective>(rows_[most]->work);
    fail(*rows_[most],
         fmt::format("the rate of level '{}' does not follow from rows in which bytes hardly take time", level_.name),
         fmt::format("add rows of {} and more", bytes_text(64 * static_cast<double>(work.bytes))));
  }

  Machine& machine_;
  Level& level_;
  std::vector<const MeasuredRow*> rows_;
};

// How many members of a group each unit of a level has, of those that have any: the fewest and the most.
std::pair<int, int> members_in_units(const Topology& topology, int level, const std::vector<int>& members) {
  std::map<int, int> counts;
  for (int member : members) ++counts[topology.unit(level, member)];
  const auto [fewest, most] = std::ranges::minmax(counts | std::views::values);
  return {fewest, most};
}

// The outermost level of a row's group. Throws Failure at the row.
int level_of_row(RowPrices& prices, const Machine& machine, const MeasuredRow& row) {
  const auto& work = std::get<MeasuredCollective>(row.work);
  try {
    const int outer = prices.placement(work).level();
    const Topology topology(machine.levels, work.ranks * work.stride);
    for (int number = 0; number < outer; ++number) {
      const auto [fewest, most] = members_in_units(topology, number, members_of(work));
      if (fewest == most) continue;
      throw Failure(Error{"bad_measurements",
                          fmt::format("a group of {} fills a unit of level '{}' only partly", work.ranks,
                                      machine.levels[static_cast<size_t>(number)].name),
                          row.place, fmt::format("a multiple of {}, or at most {}", most, most)});
    }
    return outer;
  } catch (const Failure& failure) {
    std::vector<Error> errors = failure.errors();
    for (Error& error : errors) error.place = row.place;
    throw Failure(std::move(errors));
  }
}

}  // namespace

Machine fit_levels(Machine machine, std::span<const MeasuredRow> rows, const std::string& source) {
  std::map<int, std::vector<const MeasuredRow*>> by_level;
  std::vector<Error> errors;
  const auto collect = [&](auto&& action) {
    try {
      action();
    } catch (const Failure& failure) {
      append(errors, failure.errors());
    }
  };
  Machine links = machine;
  links.device.products.clear();  // which would only take time
  RowPrices prices(links);
  for (const MeasuredRow& row : rows) {
    if (std::holds_alternative<MeasuredCollective>(row.work))
      collect([&] { by_level[level_of_row(prices, links, row)].push_back(&row); });
  }
  if (!errors.empty()) throw Failure(std::move(errors));
  for (auto& [number, own] : by_level) {
    collect([&] { LevelFit(links, static_cast<size_t>(number), std::move(own)).fit(); });
    links.levels[static_cast<size_t>(number)].source = source;
  }
  if (!errors.empty()) throw Failure(std::move(errors));
  machine.levels = std::move(links.levels);
  return machine;
}

}  // namespace shardscope
