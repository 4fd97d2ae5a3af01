#include "engine/base/place.h"

#include <fmt/format.h>

namespace shardscope {
namespace {

// "x.json:3:7", "line 3, column 7", "column 7".
std::string position_text(const Place& place) {
  if (!place.file.empty()) {
    std::string text = place.file;
    if (place.line > 0) text += fmt::format(":{}", place.line);
    if (place.column > 0) text += fmt::format(":{}", place.column);
    return text;
  }
  std::string text;
  if (place.line > 0) text = fmt::format("line {}", place.line);
  if (place.column > 0) text += fmt::format("{}column {}", text.empty() ? "" : ", ", place.column);
  return text;
}

}  // namespace

Place in_file(std::string file, int line, int column, std::string path) {
  Place place(std::move(path));
  place.file = std::move(file);
  place.line = line;
  place.column = column;
  return place;
}

Place at_argument(std::string argument) {
  Place place;
  place.argument = std::move(argument);
  return place;
}

Place on_rank(int rank) {
  Place place;
  place.rank = rank;
  return place;
}

Place at_name(std::string name) {
  Place place;
  place.name = std::move(name);
  return place;
}

std::string to_string(const Place& place) {
  std::string text;
  auto add = [&](const char* separator, const std::string& part) {
    if (!part.empty()) text += text.empty() ? part : separator + part;
  };
  add("", place.argument);
  add(": ", position_text(place));
  add(": ", place.step);
  if (place.rank >= 0) add(", ", fmt::format("rank {}", place.rank));
  add(", ", place.name);
  add(place.step.empty() ? ": " : ", ", place.path);
  return text;
}

bool is_inside(const std::string& path, const std::string& outer) {
  if (outer.empty() || !path.starts_with(outer)) return false;
  return path.size() == outer.size() || path[outer.size()] == '.' || path[outer.size()] == '[';
}

}  // namespace shardscope
