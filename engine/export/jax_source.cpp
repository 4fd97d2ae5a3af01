#include "engine/export/jax_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/error.h"
#include "engine/base/name_pattern.h"

namespace shardscope {

namespace {

struct Line {
  std::string code;
  std::string activations;  // a pattern; empty: none
  bool stands = true;
};

Line read_line(std::string_view text, const std::set<std::string_view>& flags) {
  Line line;
  size_t end = text.size();
  for (size_t mark = text.rfind("  #"); mark != std::string_view::npos && mark + 4 < end; mark = text.rfind("  #")) {
    const char kind = text[mark + 3];
    const std::string_view word = text.substr(mark + 5, end - mark - 5);
    if (kind == '@') line.activations = word;
    else if (kind == '?') line.stands &= flags.contains(word);
    else if (kind == '!') line.stands &= !flags.contains(word);
    else break;
    text = text.substr(0, mark);
    end = text.size();
  }
  line.code = text;
  return line;
}

// "y = constrain(y, P("data", None))" for "y = self.norm(x)", as far to the right.
std::string constraint_behind(const std::string& code, const PartitionSpec& spec) {
  const size_t begin = code.find_first_not_of(' ');
  const std::string variable = code.substr(begin, code.find(" = ") - begin);
  return fmt::format("{}{} = constrain({}, {})", std::string(begin, ' '), variable, variable, python_spec(spec));
}

Error not_placed(const ResolvedSpec& resolved, const std::string& message) {
  return {"not_exportable", message, resolved.place, "leave it out, or export --to specs: the specs alone"};
}

// The constraint of the activations that each line of the source makes.
class Activations {
 public:
  explicit Activations(const JaxArrays& arrays) {
    for (const JaxArray* array : arrays.of(SpecKind::activation)) activations_.push_back({array, false});
  }

  const ResolvedSpec* constraint(const std::string& pattern) {
    NamePatterns matcher;
    matcher.add(pattern, 0);
    const JaxArray* first = nullptr;
    for (auto& [array, is_made] : activations_) {
      std::vector<int> ids;
      matcher.match(array->name, ids);
      if (ids.empty()) continue;
      is_made = true;
      if (!first) first = array;
      if (first->resolved.pinned == array->resolved.pinned && first->resolved.spec == array->resolved.spec) continue;
      const JaxArray& pinned = array->resolved.pinned ? *array : *first;
      throw Failure(not_placed(pinned.resolved,
                               fmt::format("'{}' and '{}' lie differently, and one line of the program makes both",
                                           first->name, array->name)));
    }
    return first && first->resolved.pinned ? &first->resolved : nullptr;
  }

  void check_all_made() const {
    for (const auto& [array, is_made] : activations_) {
      if (!is_made && array->resolved.pinned) {
        throw Failure(not_placed(array->resolved, fmt::format("the program has no variable for '{}'", array->name)));
      }
    }
  }

 private:
  std::vector<std::pair<const JaxArray*, bool>> activations_;
};

std::string filled(std::string_view source, const std::set<std::string_view>& flags, Activations* activations,
                   const std::function<void(double)>& tell) {
  std::string text;
  int blank = 0;
  for (size_t begin = source.find_first_not_of('\n'); begin < source.size();) {
    const size_t end = std::min(source.find('\n', begin), source.size());
    tell(static_cast<double>(begin) / static_cast<double>(source.size()));
    const Line line = read_line(source.substr(begin, end - begin), flags);
    begin = end + 1;
    if (!line.stands) continue;
    if (line.code.empty()) {
      ++blank;
      continue;
    }
    if (!text.empty()) text.append(static_cast<size_t>(std::min(blank, 2)), '\n');
    blank = 0;
    text += line.code + '\n';
    if (!activations || line.activations.empty()) continue;
    if (const ResolvedSpec* spec = activations->constraint(line.activations)) {
      text += constraint_behind(line.code, spec->spec) + '\n';
    }
  }
  return text;
}

}  // namespace

std::string jax_source(std::string_view source, const std::set<std::string_view>& flags, const JaxArrays& arrays,
                       const std::function<void(double share)>& tell) {
  Activations activations(arrays);
  std::string text = filled(source, flags, &activations, tell);
  activations.check_all_made();
  return text;
}

std::string jax_lines(std::string_view source, const std::set<std::string_view>& flags) {
  return filled(source, flags, nullptr, [](double) {});
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

std::string python_text(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) quoted += fmt::format("\\x{:02x}", c);
    else quoted += c;
  }
  return quoted + '"';
}

std::string python_value(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const auto* whole = std::get_if<int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return python_text(*text);
  std::vector<std::string> items;
  for (const std::string& item : std::get<TextList>(value)) items.push_back(python_text(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

}  // namespace shardscope
