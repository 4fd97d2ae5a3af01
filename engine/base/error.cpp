#include "engine/base/error.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "engine/base/printable.h"

namespace shardscope {

namespace {

constexpr size_t longest_line = 4000;
constexpr size_t longest_written = 200;  // no person means another name by a longer one
constexpr size_t most_listed = 24;

std::string shortened(std::string text) {
  const std::string_view first = first_characters(text, longest_line);
  if (first.size() == text.size()) return text;
  return std::string(first) + " ... (" + std::to_string(text.size()) + " characters)";
}

}  // namespace

std::string to_string(const Error& error) {
  std::string text;
  if (!error.place.empty()) text += to_string(error.place) + ": ";
  text += error.message;
  if (!error.hint.empty()) text += " (" + error.hint + ")";
  return printable(shortened(std::move(text)));
}

Failure::Failure(Error error) : Failure(std::vector<Error>{std::move(error)}) {}

Failure::Failure(std::vector<Error> errors) : errors_(std::move(errors)) {
  for (const Error& error : errors_) {
    if (!text_.empty()) text_ += '\n';
    text_ += to_string(error);
  }
}

namespace {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

void append(std::vector<Error>& errors, std::vector<Error> more) {
  errors.insert(errors.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<std::string> near_names(const std::string& wrong, const std::vector<std::string>& names) {
  std::vector<std::pair<size_t, std::string>> near;
  if (wrong.size() > longest_written) return {};
  const size_t most = std::max<size_t>(2, wrong.size() / 3);
  for (const std::string& name : names) {
    if (name.size() > longest_written) continue;
    const bool contains = wrong.size() >= 3 && name.find(wrong) != std::string::npos;
    if (!contains && std::max(wrong.size(), name.size()) - std::min(wrong.size(), name.size()) > most) continue;
    const size_t distance = edit_distance(wrong, name);
    if (distance <= most || contains) near.emplace_back(distance, name);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (size_t i = 0; i < std::min<size_t>(3, near.size()); ++i) result.push_back(near[i].second);
  return result;
}

std::string name_hint(const std::string& wrong, const std::vector<std::string>& names) {
  auto join = [](const std::vector<std::string>& list, const std::string& quote, const std::string& separator) {
    std::string text;
    for (const std::string& item : list) text += (text.empty() ? "" : separator) + quote + item + quote;
    return text;
  };
  std::vector<std::string> near = near_names(wrong, names);
  if (!near.empty()) return "did you mean " + join(near, "'", " or ") + "?";
  if (names.empty()) return "none exist";
  const size_t listed = std::min(names.size(), most_listed);
  const std::string text =
      "known: " + join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(listed)}, "", ", ");
  return listed == names.size() ? text : text + ", and " + std::to_string(names.size() - listed) + " more";
}

}  // namespace shardscope
