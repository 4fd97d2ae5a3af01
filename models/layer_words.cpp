#include "models/layer_words.h"

#include "engine/base/error.h"
#include "engine/base/number_text.h"

namespace shardscope {

namespace {

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

template <class Number>
std::optional<Number> number_within(const std::string& text, Number low, Number high) {
  const std::optional<Number> number = number_of<Number>(text);
  return number && *number >= low && *number <= high ? number : std::nullopt;
}

}  // namespace

Words words_of(const std::string& text) {
  Words words = parts_of(text, ' ');
  std::erase(words, "");
  return words;
}

std::optional<int64_t> size_of(const std::string& text) { return number_within<int64_t>(text, 1, most_numbers); }

std::optional<Shape> shape_of(const std::string& text, size_t rank) {
  const std::vector<std::string> parts = parts_of(text, 'x');
  if (parts.size() != rank) return std::nullopt;
  Shape shape;
  for (const std::string& part : parts) {
    const std::optional<int64_t> size = size_of(part);
    if (!size) return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

std::optional<double> real_of(const std::string& text, double low, double high) {
  return number_within<double>(text, low, high);
}

std::optional<IndexRange> range_of(const std::string& text, int64_t size) {
  const std::vector<std::string> parts = parts_of(text, ':');
  if (parts.size() != 2) return std::nullopt;
  const auto bound = [&](const std::string& part, int64_t otherwise) {
    return part.empty() ? std::optional<int64_t>(otherwise) : number_within<int64_t>(part, 0, size);
  };
  const std::optional<int64_t> first = bound(parts[0], 0), end = bound(parts[1], size);
  if (!first || !end || *first >= *end) return std::nullopt;
  return IndexRange{*first, *end};
}

void fail_layer(std::string message, std::string hint) {
  throw Failure(Error{"layer", std::move(message), "", std::move(hint)});
}

}  // namespace shardscope
