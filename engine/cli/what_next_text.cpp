#include "engine/cli/what_next_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/units.h"
#include "engine/cli/text_table.h"

namespace shardscope {
namespace {

constexpr size_t most_notches = 8;

std::string notch_table(const PlanCost& now, const std::vector<Notch>& notches) {
  using Align = TextTable::Align;
  TextTable table(
      {{"Setting"}, {"Time", Align::right}, {"", Align::right}, {"Memory", Align::right}, {"", Align::right}});
  for (size_t i = 0; i < std::min(notches.size(), most_notches); ++i) {
    const PlanCost& after = notches[i].after;
    table.add_row({fmt::format("{}", fmt::join(notches[i].settings, " ")),
                   fmt::format("{:.4g} ms", after.seconds * 1e3),
                   fmt::format("{:+.1f} %", 100 * (after.seconds / now.seconds - 1)), bytes_text(double(after.bytes)),
                   fmt::format("{:+.1f} %", 100 * (double(after.bytes) / double(now.bytes) - 1))});
  }
  return table.text();
}

}  // namespace

std::string what_next_text(const WhatNext& next) {
  const PlanCost& now = next.now;
  std::string text = fmt::format(
      "Now {:.4g} ms a step, {} on the heaviest device{}\n", now.seconds * 1e3, bytes_text(double(now.bytes)),
      now.excess_bytes > 0 ? fmt::format(", {} too much", bytes_text(double(now.excess_bytes))) : "");
  std::vector<Notch> shorter, smaller;
  for (const Notch& notch : next.notches) {
    if (notch.after.excess_bytes <= now.excess_bytes && notch.after.seconds < now.seconds) shorter.push_back(notch);
    if (notch.after.bytes < now.bytes) smaller.push_back(notch);
  }
  std::ranges::stable_sort(smaller, {}, [](const Notch& notch) { return notch.after.bytes; });
  text +=
      shorter.empty() ? "\nNo single change makes the step shorter\n" : "\nShorter steps\n" + notch_table(now, shorter);
  text += smaller.empty() ? "\nNo single change saves memory\n" : "\nLess memory\n" + notch_table(now, smaller);
  return text;
}

}  // namespace shardscope
