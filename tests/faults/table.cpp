#include "tests/faults/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <sstream>

namespace shardscope::faults {

namespace {

std::string in_seconds(double seconds) { return fmt::format("{:.2f}", seconds); }

constexpr const char* columns = "{:<58}{:>7}{:>7}{:>9}{:>7}{:>8}{:>8}{:>6}{:>6}{}\n";

std::string row(const std::string& name, const std::vector<const Trial*>& trials) {
  size_t right = 0, culprits = 0, named = 0, late = 0, left = 0, missed = 0;
  std::vector<double> seconds;
  for (const Trial* trial : trials) {
    missed += trial->missed;
    right += !trial->missed && trial->right();
    culprits += trial->has_culprit;
    named += trial->named;
    late += trial->late;
    left += trial->left.size();
    if (trial->named_after) seconds.push_back(*trial->named_after);
  }
  std::sort(seconds.begin(), seconds.end());
  const std::string median = seconds.empty() ? "-" : in_seconds(seconds[seconds.size() / 2]);
  const std::string worst = seconds.empty() ? "-" : in_seconds(seconds.back());
  return fmt::format(columns, name, trials.size() - missed, right, culprits, named, median, worst, late, left,
                     missed ? fmt::format("   {} not harmed: always too late", missed) : "");
}

std::string rows(const std::vector<Trial>& trials, const std::string& title,
                 const std::function<std::string(const Trial&)>& group_of) {
  std::string text =
      fmt::format(columns, title, "trials", "right", "culprit", "named", "median", "worst", "late", "left", "");
  std::vector<std::pair<std::string, std::vector<const Trial*>>> groups;
  for (const Trial& trial : trials) {
    const std::string name = group_of(trial);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == name; });
    if (group == groups.end()) group = groups.insert(group, {name, {}});
    group->second.push_back(&trial);
  }
  for (const auto& [name, members] : groups) text += row(name, members);
  return text + "\n";
}

std::string last_lines(const std::string& text, size_t count) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line.substr(0, 300));
  std::string last;
  for (size_t i = lines.size() - std::min(lines.size(), count); i < lines.size(); ++i)
    last += "      | " + lines[i] + "\n";
  return last;
}

std::string wrong(const Trial& trial) {
  std::string text = fmt::format("{}, {} (aimed at {}){}:\n", trial.fault, name(trial.hit), name(trial.aimed),
                                 trial.named_after ? fmt::format(", after {:.2f} s", *trial.named_after) : "");
  for (const std::string& complaint : trial.complaints) text += "    " + complaint + "\n";
  if (trial.late) text += "    late\n";
  for (const std::string& one : trial.left) text += "    left: " + one + "\n";
  return text + last_lines(trial.errors, 4);
}

}  // namespace

std::string table_of(const std::vector<Trial>& trials) {
  std::string text = rows(trials, "fault", [](const Trial& trial) { return trial.fault; });
  text += rows(trials, "phase", [](const Trial& trial) { return std::string(name(trial.hit)); });
  text += rows(trials, "", [](const Trial&) { return std::string("all"); });
  text += summary_of(trials) + "\n";
  for (const Trial& trial : trials) {
    if (!trial.missed && (!trial.right() || trial.late)) text += wrong(trial);
  }
  return text;
}

std::string summary_of(const std::vector<Trial>& trials) {
  std::vector<double> seconds;
  size_t harmed = 0, culprits = 0, others_right = 0, missed = 0;
  for (const Trial& trial : trials) {
    missed += trial.missed;
    if (trial.missed) continue;
    ++harmed;
    culprits += trial.has_culprit;
    if (trial.named) seconds.push_back(*trial.named_after);
    others_right += !trial.has_culprit && trial.right();
  }
  std::sort(seconds.begin(), seconds.end());
  const std::string times = seconds.empty()
                                ? ""
                                : fmt::format(", after {} s (median), {} s at most",
                                              in_seconds(seconds[seconds.size() / 2]), in_seconds(seconds.back()));
  std::string text =
      fmt::format("{} of {} trials had a culprit to name: {} named it{}.\n", culprits, harmed, seconds.size(), times);
  text +=
      fmt::format("{} had none, and had to finish or to end with a reason: {} did.\n", harmed - culprits, others_right);
  if (missed > 0) text += fmt::format("{} could not be harmed in time.\n", missed);
  return text;
}

}  // namespace shardscope::faults
