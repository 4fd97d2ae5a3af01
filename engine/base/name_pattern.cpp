#include "engine/base/name_pattern.h"

#include <algorithm>
#include <utility>

namespace shardscope {
namespace {

// Cuts the first part off `name`.
std::string_view next_part(std::string_view& name, bool& last) {
  const size_t end = std::min(name.find('/'), name.size());
  const std::string_view part = name.substr(0, end);
  last = end == name.size();
  name.remove_prefix(last ? end : end + 1);
  return part;
}

bool part_matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

constexpr size_t most_alternatives = 1000;

// "{a,b}" in a text: the positions of its braces and, between these, of the commas that part its alternatives.
using Braces = std::vector<size_t>;

// The outermost that are closed and have a comma, of these the first; empty where there are none.
Braces first_braces(std::string_view text) {
  Braces first;
  std::vector<Braces> open;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '{') open.push_back({at});
    if (open.empty() || (text[at] != ',' && text[at] != '}')) continue;
    open.back().push_back(at);
    if (text[at] == ',') continue;
    if (open.back().size() > 2 && (first.empty() || open.back().front() < first.front())) first = open.back();
    open.pop_back();
  }
  return first;
}

}  // namespace

bool is_pattern(std::string_view name) {
  return name.find('*') != std::string_view::npos || !first_braces(name).empty();
}

std::vector<std::string> alternatives(std::string_view pattern) {
  std::vector<std::string> done, open{std::string(pattern)};
  while (!open.empty()) {
    const std::string text = std::move(open.back());
    open.pop_back();
    const Braces braces = first_braces(text);
    if (braces.empty()) {
      done.push_back(text);
      continue;
    }
    if (done.size() + open.size() + braces.size() - 1 > most_alternatives) return {std::string(pattern)};
    for (size_t i = braces.size() - 1; i > 0; --i) {
      const size_t begin = braces[i - 1] + 1;
      open.push_back(text.substr(0, braces.front()) + text.substr(begin, braces[i] - begin) +
                     text.substr(braces.back() + 1));
    }
  }
  return done;
}

std::vector<std::string> split_patterns(std::string_view list) {
  std::vector<std::string> patterns;
  const auto add = [&](size_t begin, size_t end) {
    begin = std::min(list.find_first_not_of(' ', begin), end);
    while (end > begin && list[end - 1] == ' ') --end;
    if (begin < end) patterns.emplace_back(list.substr(begin, end - begin));
  };
  size_t begin = 0;
  for (size_t at = 0; at < list.size();) {
    const Braces braces = first_braces(list.substr(at));
    const size_t end = braces.empty() ? list.size() : at + braces.front();
    for (; at < end; ++at) {
      if (list[at] == ',') add(std::exchange(begin, at + 1), at);
    }
    if (!braces.empty()) at += braces.back() - braces.front() + 1;
  }
  add(begin, list.size());
  return patterns;
}

std::string pattern_of_list(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) text += (text.empty() ? "" : ",") + pattern;
  return patterns.size() == 1 ? text : "{" + text + "}";
}

std::vector<std::string> list_of_pattern(std::string_view pattern) {
  const Braces braces = first_braces(pattern);
  if (braces.empty() || braces.front() != 0 || braces.back() + 1 != pattern.size()) return {};
  std::vector<std::string> list;
  for (size_t i = 1; i < braces.size(); ++i)
    list.emplace_back(pattern.substr(braces[i - 1] + 1, braces[i] - braces[i - 1] - 1));
  return std::ranges::find(list, std::string()) == list.end() ? list : std::vector<std::string>();
}

std::string pattern_hint(std::string_view pattern, const std::vector<std::string>& names) {
  if (names.empty()) return "there are none";
  NamePatterns beginnings;
  std::vector<std::string_view> begun;  // by their number of parts
  std::string_view rest = pattern;
  for (bool last = false; !last;) {
    if (next_part(rest, last) == "**") break;
    begun.push_back(pattern.substr(0, static_cast<size_t>(rest.data() - pattern.data()) - (last ? 0 : 1)));
    beginnings.add(std::string(begun.back()) + "/*/**", static_cast<int>(begun.size()));
  }
  int best = 0;
  std::vector<std::string> below;
  for (const std::string& name : names) {
    std::vector<int> ids{0};
    beginnings.match(name, ids);
    if (ids.back() < best) continue;
    if (ids.back() > best) below.clear();
    best = ids.back();
    std::string_view part, left = name;
    bool last = false;
    for (int skipped = 0; skipped <= best; ++skipped) part = next_part(left, last);
    if (below.size() < 6 && std::find(below.begin(), below.end(), part) == below.end()) below.emplace_back(part);
  }
  std::string list;
  for (const std::string& part : below) list += (list.empty() ? "'" : ", '") + part + "'";
  if (best == 0) return "names begin with " + list;
  return "below '" + std::string(begun[static_cast<size_t>(best) - 1]) + "' there are " + list;
}

int NamePatterns::step(int node, std::string_view part) {
  const int fresh = static_cast<int>(nodes_.size());
  int next = fresh;
  if (part == "**") {
    if (nodes_[node].stays) return node;
    if (nodes_[node].rest < 0) nodes_[node].rest = fresh;
    next = nodes_[node].rest;
  } else if (part.find('*') != std::string_view::npos) {
    auto& globs = nodes_[node].globs;
    const auto at = std::find_if(globs.begin(), globs.end(), [&](const auto& glob) { return glob.first == part; });
    if (at == globs.end()) {
      globs.emplace_back(part, fresh);
    } else {
      next = at->second;
    }
  } else {
    next = nodes_[node].literals.try_emplace(std::string(part), fresh).first->second;
  }
  if (next == fresh) nodes_.emplace_back().stays = part == "**";
  return next;
}

void NamePatterns::add(std::string_view pattern, int id) {
  for (const std::string& alternative : alternatives(pattern)) {
    std::string_view rest = alternative;
    int node = 0;
    for (bool last = false; !last;) node = step(node, next_part(rest, last));
    nodes_[node].ids.push_back(id);
  }
}

void NamePatterns::enter(int node, std::vector<int>& nodes, std::vector<int>& ids) const {
  if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return;
  const Node& entered = nodes_[node];
  if (entered.stays && entered.is_leaf()) {
    ids.insert(ids.end(), entered.ids.begin(), entered.ids.end());
    return;
  }
  nodes.push_back(node);
  if (entered.rest >= 0) enter(entered.rest, nodes, ids);
}

int NamePatterns::match(std::string_view name, std::vector<int>& ids) const {
  const auto first = static_cast<std::ptrdiff_t>(ids.size());
  std::vector<int> nodes, next;
  enter(0, nodes, ids);
  int compared = 0;
  for (bool last = false; !last && !nodes.empty();) {
    const std::string_view part = next_part(name, last);
    next.clear();
    for (int n : nodes) {
      const Node& node = nodes_[n];
      if (node.stays) enter(n, next, ids);
      if (!node.literals.empty()) {
        ++compared;
        if (auto at = node.literals.find(part); at != node.literals.end()) enter(at->second, next, ids);
      }
      for (const auto& [glob, target] : node.globs) {
        ++compared;
        if (part_matches(glob, part)) enter(target, next, ids);
      }
    }
    std::swap(nodes, next);
  }
  for (int n : nodes) ids.insert(ids.end(), nodes_[n].ids.begin(), nodes_[n].ids.end());
  std::sort(ids.begin() + first, ids.end());
  ids.erase(std::unique(ids.begin() + first, ids.end()), ids.end());
  return compared;
}

}  // namespace shardscope
