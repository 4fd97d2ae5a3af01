#include "engine/export/jax_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace shardscope {

namespace {

// The line without its marks; nothing where it does not stand.
std::optional<std::string> read_line(std::string_view text, const std::set<std::string_view>& flags) {
  bool stands = true;
  for (size_t mark = text.rfind("  #"); mark != std::string_view::npos && mark + 4 < text.size();
       mark = text.rfind("  #")) {
    const char kind = text[mark + 3];
    if (kind != '?' && kind != '!') break;
    stands &= flags.contains(text.substr(mark + 5)) == (kind == '?');
    text = text.substr(0, mark);
  }
  return stands ? std::optional(std::string(text)) : std::nullopt;
}

// Calls `take` with the place of each character that is outside of string literals.
template <class Take>
void each_outside_strings(std::string_view line, Take take) {
  bool quoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '"') quoted = !quoted;
    else if (!quoted) take(at);
    else if (line[at] == '\\') ++at;
  }
}

// Parts of a bracket's inside, each with its comma.
std::vector<std::string> parts_of(std::string_view inside) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t begin = 0;
  each_outside_strings(inside, [&](size_t at) {
    const char c = inside[at];
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth > 0 || c != ',') return;
    parts.emplace_back(inside.substr(begin, at + 1 - begin));
    begin = at + 2;
  });
  if (begin < inside.size()) parts.emplace_back(inside.substr(begin));
  return parts;
}

// Where the widest bracket opens and closes.
std::pair<size_t, size_t> widest_bracket(std::string_view line) {
  std::pair<size_t, size_t> widest{0, 0};
  std::vector<size_t> open;
  each_outside_strings(line, [&](size_t at) {
    if (line[at] == '(' || line[at] == '[') open.push_back(at);
    if ((line[at] != ')' && line[at] != ']') || open.empty()) return;
    if (at - open.back() > widest.second - widest.first) widest = {open.back(), at};
    open.pop_back();
  });
  return widest;
}

}  // namespace

std::string python_lines(const std::string& line) {
  const auto [open, close] = widest_bracket(line);
  if (line.size() <= longest_python_line || close == 0) return line + "\n";
  const size_t indent = line.find_first_not_of(' ');
  std::string text = line.substr(0, open + 1) + "\n";
  std::string inner(indent + 3, ' ');
  for (const std::string& part : parts_of(std::string_view(line).substr(open + 1, close - open - 1))) {
    if (inner.size() > indent + 3 && inner.size() + part.size() >= longest_python_line) {
      text += python_lines(inner);
      inner.assign(indent + 3, ' ');
    }
    inner += " " + part;
  }
  return text + python_lines(inner) + std::string(indent, ' ') + line.substr(close) + "\n";
}

std::string jax_lines(std::string_view source, const std::set<std::string_view>& flags) {
  std::string text;
  int blank = 0;
  for (size_t begin = source.find_first_not_of('\n'); begin < source.size();) {
    const size_t end = std::min(source.find('\n', begin), source.size());
    const std::optional<std::string> line = read_line(source.substr(begin, end - begin), flags);
    begin = end + 1;
    if (!line) continue;
    if (line->empty()) {
      ++blank;
      continue;
    }
    if (!text.empty()) text.append(static_cast<size_t>(std::min(blank, 2)), '\n');
    blank = 0;
    text += *line + '\n';
  }
  return text;
}

std::string python_spec(const PartitionSpec& spec) {
  std::vector<std::string> entries;
  for (const std::vector<std::string>& axes : spec.dims) {
    std::vector<std::string> names;
    for (const std::string& axis : axes) names.push_back(python_text(axis));
    entries.push_back(names.empty()       ? "None"
                      : names.size() == 1 ? names[0]
                                          : fmt::format("({})", fmt::join(names, ", ")));
  }
  return fmt::format("P({})", fmt::join(entries, ", "));
}

void replace(std::string& text, std::string_view from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string python_escaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    if (static_cast<unsigned char>(c) < 0x20) escaped += fmt::format("\\x{:02x}", c);
    else escaped += c;
  }
  return escaped;
}

std::string python_text(std::string_view text) { return '"' + python_escaped(text) + '"'; }

std::string python_format(std::string_view before, std::string_view variable, std::string_view behind) {
  const auto plain = [](std::string_view text) {
    std::string escaped = python_escaped(text);
    replace(escaped, "{", "{{");
    replace(escaped, "}", "}}");
    return escaped;
  };
  return fmt::format("f\"{}{{{}}}{}\"", plain(before), variable, plain(behind));
}

std::string python_value(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const auto* whole = std::get_if<int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return python_text(*text);
  if (const auto* numbers = std::get_if<NumberList>(&value)) return fmt::format("[{}]", fmt::join(*numbers, ", "));
  if (std::holds_alternative<Null>(value)) return "None";
  std::vector<std::string> items;
  for (const std::string& item : std::get<TextList>(value)) items.push_back(python_text(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

}  // namespace shardscope
