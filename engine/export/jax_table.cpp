#include "engine/export/jax_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/export/jax_source.h"

namespace shardscope {

namespace {

constexpr size_t worth_a_loop = 2;  // rows

struct Numbered {
  std::string before, behind;
  int64_t number;
};

// A name around its first number that ends a part of it: "params/blocks/", 0, "/linear1/kernel".
std::optional<Numbered> around_number(const std::string& name) {
  for (size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
    size_t begin = end;
    while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
    if (begin < end && end - begin < 10) {
      return Numbered{name.substr(0, begin), name.substr(end), std::stoll(name.substr(begin, end - begin))};
    }
  }
  return std::nullopt;
}

// Rows of layers first, first + 1, ... that differ in their number alone.
struct Group {
  std::string before, behind, value;
  int64_t first = 0;
  std::vector<std::optional<int64_t>> numbers;
};

std::vector<Group> groups_of(const std::vector<JaxRow>& rows) {
  std::vector<Group> groups;
  std::map<std::string, size_t> open;  // the last group of names that differ in one number
  for (const JaxRow& row : rows) {
    const std::optional<Numbered> name = around_number(row.name);
    if (!name) {
      groups.push_back({row.name, "", row.value, -1, {row.number}});
      continue;
    }
    const std::string key = name->before + "*" + name->behind;
    if (const auto found = open.find(key); found != open.end()) {
      Group& group = groups[found->second];
      const bool next = group.first + std::ssize(group.numbers) == name->number;
      if (next && group.value == row.value && group.numbers[0].has_value() == row.number.has_value()) {
        group.numbers.push_back(row.number);
        continue;
      }
    }
    open[key] = groups.size();
    groups.push_back({name->before, name->behind, row.value, name->number, {row.number}});
  }
  return groups;
}

// The numbers as a function of i.
std::string number_text(const Group& group) {
  const auto& n = group.numbers;
  const auto count = n.size();
  const int64_t step = count > 1 ? *n[1] - *n[0] : 0;
  for (size_t i = 0; i < count; ++i) {
    if (*n[i] == *n[0] + step * static_cast<int64_t>(i) && std::abs(step) < 100000) continue;
    std::vector<int64_t> list;
    for (const auto& number : n) list.push_back(*number);
    return fmt::format("[{}][{}]", fmt::join(list, ", "), group.first == 0 ? "i" : fmt::format("i - {}", group.first));
  }
  const int64_t start = *n[0] - step * group.first;
  if (step == 0) return fmt::format("{}", start);
  return start == 0 ? fmt::format("{} * i", step) : fmt::format("{} + {} * i", start, step);
}

std::string row_text(const Group& group, int depth) {
  const std::string margin(static_cast<size_t>(4 * depth), ' ');
  const bool loop = group.numbers.size() > 1;
  const std::string one =
      group.first < 0 ? group.before : fmt::format("{}{}{}", group.before, group.first, group.behind);
  const std::string name = loop ? python_format(group.before, "i", group.behind) : python_text(one);
  const std::string number = group.numbers[0] ? number_text(group) : "";
  const std::string value = group.value.empty()                                            ? number
                            : number.empty() && group.value.find(',') == std::string::npos ? group.value
                            : number.empty() ? fmt::format("({})", group.value)
                                             : fmt::format("({}, {})", group.value, number);
  return python_lines(fmt::format("{}{}: {},", margin, name, value));
}

}  // namespace

std::string jax_table(const std::string& name, const std::vector<JaxRow>& rows) {
  std::vector<Group> groups = groups_of(rows);
  const auto loop_of = [](const Group& group) { return std::tuple(group.before, group.first, group.numbers.size()); };
  std::map<std::tuple<std::string, int64_t, size_t>, std::vector<Group>> loops;
  for (const Group& group : groups) loops[loop_of(group)].push_back(group);
  std::string text = name + " = {\n";
  for (const Group& group : groups) {
    if (group.numbers.size() > 1 && loops[loop_of(group)].size() >= worth_a_loop) continue;
    for (size_t i = 0; i < group.numbers.size(); ++i) {
      Group one = group;
      if (group.first >= 0) one.first += static_cast<int64_t>(i);
      one.numbers = {group.numbers[i]};
      text += row_text(one, 1);
    }
  }
  text += "}\n";
  for (const Group& group : groups) {
    const int64_t count = std::ssize(group.numbers);
    std::vector<Group>& members = loops[loop_of(group)];
    if (count == 1 || members.size() < worth_a_loop) continue;
    text += fmt::format(
        "for i in range({}):\n    {} |= {{\n",
        group.first == 0 ? fmt::format("{}", count) : fmt::format("{}, {}", group.first, group.first + count), name);
    for (const Group& member : members) text += row_text(member, 2);
    text += "    }\n";
    members.clear();
  }
  return text;
}

}  // namespace shardscope
