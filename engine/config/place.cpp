#include "engine/config/place.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "engine/config/json_document.h"

namespace shardscope {
namespace {

bool is_bare(const std::string& name) {
  auto has_meaning = [](unsigned char c) {
    return c <= ' ' || c == '.' || c == '[' || c == ']' || c == '"' || c == '=' || c == 0x7f;
  };
  return !name.empty() && std::none_of(name.begin(), name.end(), has_meaning);
}

// End of the JSON string that starts at `start`, behind its closing quote; 0 where it does not end.
size_t string_end(const std::string& text, size_t start) {
  for (size_t i = start + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return 0;
}

// The bracketed step at `at`, which it moves behind the closing bracket.
std::optional<PlaceStep> bracketed_step(const std::string& place, size_t& at) {
  PlaceStep step;
  const size_t start = at + 1;
  size_t end = 0;
  if (start < place.size() && place[start] == '"') {
    end = string_end(place, start);
    if (end == 0) return std::nullopt;
    try {
      step.name = read_json(place.substr(start, end - start), "").text;
    } catch (const Failure&) {
      return std::nullopt;
    }
  } else {
    size_t index = 0;
    auto [rest, fault] = std::from_chars(place.data() + start, place.data() + place.size(), index);
    if (fault != std::errc()) return std::nullopt;
    step.index = index;
    end = static_cast<size_t>(rest - place.data());
  }
  if (end >= place.size() || place[end] != ']') return std::nullopt;
  at = end + 1;
  return step;
}

}  // namespace

std::string member_place(const std::string& place, const std::string& name) {
  if (!is_bare(name)) return place + "[" + quoted(name) + "]";
  return place.empty() ? name : place + "." + name;
}

std::string element_place(const std::string& place, size_t index) { return place + "[" + std::to_string(index) + "]"; }

std::optional<std::vector<PlaceStep>> split_place(const std::string& place) {
  std::vector<PlaceStep> steps;
  size_t at = 0;
  while (at < place.size()) {
    if (place[at] == '[') {
      std::optional<PlaceStep> step = bracketed_step(place, at);
      if (!step) return std::nullopt;
      steps.push_back(std::move(*step));
      continue;
    }
    if (at > 0) {
      if (place[at] != '.') return std::nullopt;
      ++at;
    }
    const size_t end = std::min(place.find_first_of(".[", at), place.size());
    if (end == at) return std::nullopt;
    steps.push_back({place.substr(at, end - at), std::nullopt});
    at = end;
  }
  return steps;
}

}  // namespace shardscope
