#include "engine/export/jax_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "engine/export/jax_source.h"

namespace shardscope {

namespace {

struct NumberedName {
  std::string stem;
  int64_t number = -1;
};

NumberedName numbered(const std::string& name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size() || name.size() - digits > 9) return {name, -1};
  return {name.substr(0, digits), std::stoll(name.substr(digits))};
}

class Calls {
 public:
  Calls(const JaxFunctions& all, const JaxBlocks& blocks) : all_(all), blocks_(blocks) {}

  JaxCalls take(const std::vector<int>& run) {
    JaxCalls calls{{run[0]}, {function(run[0]).name}, {}, {}, function(run[0]).results};
    calls.collected.assign(calls.results.size(), false);
    std::vector<int> loop{run[0]};
    while (loop.size() < run.size() && continues(calls, loop, run[loop.size()])) loop.push_back(run[loop.size()]);
    size_t length = 1, changes = 0;
    for (size_t i = 1; i < loop.size(); ++i) changes += function(loop[i]).name != function(loop[i - 1]).name;
    if (changes > 2) length = loop.size();
    else
      while (length < loop.size() && function(loop[length]).name == calls.functions[0]) ++length;
    if (length == 1) return single(run[0]);
    loop.resize(length);
    if (changes > 2) {
      calls.functions.clear();
      for (int block : loop) calls.functions.push_back(function(block).name);
    }
    finish(calls, loop);
    return calls;
  }

 private:
  const JaxFunction& function(int block) const { return all_.functions[static_cast<size_t>(block)]; }
  const JaxBlock& block(int id) const { return blocks_.blocks[static_cast<size_t>(id)]; }

  JaxCalls single(int id) const {
    JaxCalls calls{{id}, {function(id).name}, {}, {}, function(id).results};
    calls.collected.assign(calls.results.size(), false);
    return calls;
  }

  bool counts_on(JaxCalls& calls, const std::vector<std::string>& a, const std::vector<std::string>& b) const {
    if (a.size() != b.size()) return false;
    int differs = -1;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      if (differs >= 0) return false;
      differs = static_cast<int>(i);
    }
    if (differs < 0 || (calls.counted >= 0 && calls.counted != differs)) return false;
    const NumberedName before = numbered(a[static_cast<size_t>(differs)]);
    const NumberedName after = numbered(b[static_cast<size_t>(differs)]);
    if (before.stem != after.stem || before.number < 0 || after.number != before.number + 1) return false;
    if (calls.counted < 0) calls.first = before.number;
    calls.counted = differs;
    return true;
  }

  void add_ops(int id, std::set<OpId>& ops) const {
    for (const JaxBlock::Item& item : block(id).items) {
      if (item.op != no_id) ops.insert(item.op);
      else add_ops(item.block, ops);
    }
  }

  bool continues(JaxCalls& calls, const std::vector<int>& loop, int next) const {
    const JaxFunction &before = function(loop.back()), &after = function(next);
    const JaxBlock &a = block(loop.back()), &b = block(next);
    if (before.arguments.size() != after.arguments.size() || before.results.size() != after.results.size() ||
        before.takes_params != after.takes_params || before.takes_keys != after.takes_keys || a.again != b.again)
      return false;
    std::vector<int> carried;
    for (size_t slot = 0; slot < after.arguments.size(); ++slot) {
      const auto from = std::ranges::find(before.results, after.arguments[slot]);
      const bool same = before.arguments[slot] == after.arguments[slot];
      if (!same && from == before.results.end()) return false;
      carried.push_back(same ? -1 : static_cast<int>(from - before.results.begin()));
    }
    if (loop.size() > 1 && carried != calls.carried) return false;
    std::set<OpId> ops;
    add_ops(next, ops);
    for (int from : carried) {
      if (from < 0) continue;
      for (OpId reader : all_.readers[static_cast<size_t>(before.results[static_cast<size_t>(from)])]) {
        if (!ops.contains(reader)) return false;
      }
    }
    JaxCalls counting = calls;
    if (!counts_on(counting, a.path, b.path)) return false;
    calls.counted = counting.counted;
    calls.first = counting.first;
    calls.carried = carried;
    return true;
  }

  void finish(JaxCalls& calls, const std::vector<int>& loop) const {
    calls.blocks = loop;
    calls.results.clear();
    const size_t count = function(loop[0]).results.size();
    for (size_t i = 0; i < count; ++i) {
      calls.collected[i] = std::ranges::find(calls.carried, static_cast<int>(i)) == calls.carried.end();
      for (int id : loop) {
        if (calls.collected[i] || id == loop.back()) calls.results.push_back(function(id).results[i]);
      }
    }
  }

  const JaxFunctions& all_;
  const JaxBlocks& blocks_;
};

// "[a] * 3 + [b]"
std::string sum_of_lists(const std::vector<std::string>& names, size_t count) {
  std::vector<std::string> parts;
  for (size_t begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && names[end] == names[begin]) ++end;
    parts.push_back(fmt::format("[{}]", names[begin]) + (end - begin == 1 ? "" : fmt::format(" * {}", end - begin)));
  }
  return fmt::format("{}", fmt::join(parts, " + "));
}

// "([a] * 3 + [b]) * 6 + [a] * 2"
std::string list_text(const std::vector<std::string>& names) {
  const auto repeats = [&](size_t period) {
    return std::equal(names.begin() + static_cast<std::ptrdiff_t>(period), names.end(), names.begin());
  };
  size_t period = 1;
  while (period < names.size() && !repeats(period)) ++period;
  const size_t times = names.size() / period, rest = names.size() % period;
  const std::string once = sum_of_lists(names, period);
  if (times < 2) return once;
  const std::string all = fmt::format("({}) * {}", once, times);
  return rest == 0 ? all : all + " + " + sum_of_lists(names, rest);
}

}  // namespace

JaxCalls jax_calls(const JaxFunctions& all, const JaxBlocks& blocks, const std::vector<int>& run) {
  return Calls(all, blocks).take(run);
}

std::string loop_header(const JaxCalls& calls, const std::pair<std::string, int64_t>& layers) {
  const auto count = static_cast<int64_t>(calls.blocks.size());
  if (calls.functions.size() > 1) {
    return fmt::format("for i, function in enumerate({}{}):", list_text(calls.functions),
                       calls.first == 0 ? "" : fmt::format(", start={}", calls.first));
  }
  if (calls.first > 0) return fmt::format("for i in range({}, {}):", calls.first, calls.first + count);
  return fmt::format("for i in range({}):", count == layers.second ? layers.first : fmt::format("{}", count));
}

std::string subscripts(const std::vector<std::string>& path, size_t from, int counted) {
  std::string text;
  for (size_t i = from; i < path.size(); ++i) {
    const auto [stem, number] = numbered(path[i]);
    const bool counts = static_cast<int>(i) == counted;
    if (stem.empty()) text += counts ? "[i]" : fmt::format("[{}]", number);
    else if (counts) text += "[" + python_format(stem, "i", "") + "]";
    else text += fmt::format("[{}]", python_text(path[i]));
  }
  return text;
}

}  // namespace shardscope
