#include "engine/compare/difference_rows.h"

#include <fmt/format.h>

#include "engine/base/units.h"

namespace shardscope {

namespace {

template <class Lines, class Row>
DifferenceSection section_of(std::string title, std::string name_title, bool has_changes, const Lines& lines, Row row) {
  DifferenceSection section{std::move(title), std::move(name_title), has_changes, {}};
  for (const auto& line : lines) section.rows.push_back(row(line));
  return section;
}

DifferenceRow numbers(std::string name, double before, double after, std::string (*text)(double)) {
  return {std::move(name), text(before), text(after), signed_text(after - before, text)};
}

std::string with_remark(const std::string& name, const std::string& remark) {
  return remark.empty() ? name : fmt::format("{}, {}", name, remark);
}

std::string or_none(const std::string& text) { return text.empty() ? "none" : text; }

}  // namespace

std::vector<DifferenceSection> difference_sections(const PlanDifference& difference) {
  std::vector<PlanDifference::Memory> memory = difference.memory;
  std::erase_if(memory, [](const PlanDifference::Memory& line) { return line.before == line.after; });
  return {section_of("Settings", "Setting", false, difference.settings,
                     [](const SettingChange& line) {
                       return DifferenceRow{line.path, or_none(line.before), or_none(line.after), {}};
                     }),
          section_of("Predicted time of a step by cause", "Cause", true, difference.times,
                     [](const PlanDifference::Time& line) {
                       return numbers(with_remark(line.cause, line.note), line.before, line.after, seconds_text);
                     }),
          section_of("Hidden communication of a step by cause", "Cause", true, difference.hidden,
                     [](const PlanDifference::Hidden& line) {
                       return numbers(line.cause, line.before, line.after, seconds_text);
                     }),
          section_of("Memory of the heaviest device", "Category", true, memory,
                     [](const PlanDifference::Memory& line) {
                       return numbers(line.category, double(line.before), double(line.after), bytes_text);
                     }),
          section_of("Sent by a device in a step", "Collective", true, difference.traffic,
                     [](const PlanDifference::Traffic& line) {
                       return numbers(with_remark(line.name, line.what()), line.before_bytes, line.after_bytes,
                                      bytes_text);
                     }),
          section_of("Shardings", "Array", false, difference.layouts, [](const PlanDifference::Layout& line) {
            const bool is_part = line.count > 1 && line.count < line.of;
            return DifferenceRow{with_remark(line.array, is_part ? fmt::format("{} of {}", line.count, line.of) : ""),
                                 or_none(line.before),
                                 or_none(line.after),
                                 {}};
          })};
}

std::string step_difference_text(const PlanDifference& difference) {
  const double before = difference.before_seconds, after = difference.after_seconds;
  return fmt::format("Predicted step: {} -> {} ({})", seconds_text(before), seconds_text(after),
                     signed_text(after - before, seconds_text));
}

}  // namespace shardscope
