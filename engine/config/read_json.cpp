#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/config/json_document.h"

namespace shardscope {
namespace {

constexpr size_t max_nesting = 64;
constexpr size_t max_text = 1000;
constexpr size_t max_members = 10'000;
constexpr int max_values = 200'000;

// Walks the text and tells how far the reader has come, so that every value gets its line.
struct TrackedChar {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** reached = nullptr;

  reference operator*() const { return *at; }
  TrackedChar& operator++() {
    *reached = ++at;
    return *this;
  }
  TrackedChar operator++(int) {
    TrackedChar before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackedChar& other) const { return at == other.at; }
  bool operator!=(const TrackedChar& other) const { return at != other.at; }
};

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// What people who come from Python, JavaScript or configuration files write, by the character where JSON stops.
std::string syntax_hint(std::string_view text, size_t offset) {
  const char at = offset < text.size() ? text[offset] : '\0';
  size_t before = offset;
  while (before > 0 && is_space(text[before - 1])) --before;
  if ((at == '}' || at == ']') && before > 0 && text[before - 1] == ',') return "remove the comma before it";
  auto starts = [&](std::string_view word) { return text.substr(offset, word.size()) == word; };
  if (at == '\'') return "JSON strings stand in double quotes";
  if (starts("None")) return "JSON writes null";
  if (starts("True")) return "JSON writes true";
  if (starts("False")) return "JSON writes false";
  if (starts("P(") || starts("PartitionSpec(") || at == '(') return "write a spec as an array: [\"data\", null]";
  if (starts("NaN") || starts("Infinity") || starts("inf")) return "JSON has no number that is not finite";
  if (at == '#' || at == '/') return "JSON has no comments";
  return {};
}

// The line around `offset`, at most 48 bytes of it, in characters that any terminal can show.
std::string excerpt(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  size_t start = offset, end = offset;
  while (start > 0 && text[start - 1] != '\n' && offset - start < 32) --start;
  while (end < text.size() && text[end] != '\n' && end - start < 48) ++end;
  while (start < end && is_space(text[start])) ++start;
  std::string shown(text.substr(start, end - start));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

class DocumentBuilder {
 public:
  using json = nlohmann::json;

  DocumentBuilder(std::string_view text, const std::string& file_name)
      : text_(text), file_name_(file_name), reached_(text.data()), counted_(text.data()) {}

  JsonNode build() {
    const char* end = text_.data() + text_.size();
    json::sax_parse(TrackedChar{text_.data(), &reached_}, TrackedChar{end, &reached_}, this);
    return std::move(root_);
  }

  bool null() { return add(JsonNode{}); }
  bool boolean(bool value) { return add(JsonNode::of(value)); }
  bool number_integer(int64_t value) { return add_number(JsonNode::of(value), std::to_string(value)); }
  bool number_unsigned(uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return add_number(JsonNode::of(static_cast<double>(value)), std::to_string(value));
    }
    return add_number(JsonNode::of(static_cast<int64_t>(value)), std::to_string(value));
  }
  bool number_float(double value, const std::string& digits) { return add_number(JsonNode::of(value), digits); }
  bool string(std::string& value) {
    check_length(value.size(), "a text");
    return add(JsonNode::of(std::move(value)));
  }
  bool binary(json::binary_t&) { return false; }
  bool start_object(size_t) { return open(JsonNode::object()); }
  bool start_array(size_t) { return open(JsonNode::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& value) {
    check_length(value.size(), "a key");
    if (open_.back()->keys.size() == max_members) {
      fail(static_cast<size_t>(reached_ - text_.data()) - 1, "too_long", "an object of too many members",
           fmt::format("at most {}", max_members));
    }
    open_.back()->keys.push_back(std::move(value));
    return true;
  }

  bool parse_error(size_t position, const std::string& token, const nlohmann::detail::exception& error) {
    std::string message = error.what();
    if (size_t at = message.find(": "); at != std::string::npos) message.erase(0, at + 2);
    if (size_t at = message.find("] "); message.starts_with('[') && at != std::string::npos) message.erase(0, at + 2);
    check_length(token.size(), "a word");
    if (error.id == 406)
      fail(position - token.size(), "number_range", token + " is beyond any number", "at most about 1.8e308");
    if (position > text_.size()) {
      const std::string missing = closing_brackets();
      fail(text_.size(), "truncated", "the file ends too early; " + message,
           missing.empty() ? "the file was cut" : "the file was cut, or its end lacks " + missing);
    }
    size_t offset = position == 0 ? 0 : position - 1;
    const bool whole_token = message.find("unexpected string literal") != std::string::npos ||
                             message.find("unexpected number literal") != std::string::npos;
    if (whole_token && token.size() <= offset + 1) offset -= token.size() - 1;
    std::string hint = syntax_hint(text_, offset);
    if (hint.empty()) hint = "near: " + excerpt(text_, offset);
    fail(offset, "syntax", message, hint);
  }

  [[noreturn]] void fail(size_t offset, const char* code, std::string message, std::string hint) const {
    const std::string_view before = text_.substr(0, offset);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t line_start = before.rfind('\n');
    const size_t column = offset - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
    throw Failure(Error{code, std::move(message), in_file(file_name_, static_cast<int>(line), static_cast<int>(column)),
                        std::move(hint)});
  }

 private:
  void check_length(size_t length, const char* what) const {
    if (length <= max_text) return;
    fail(static_cast<size_t>(reached_ - text_.data()) - 1, "too_long", fmt::format("{} of {} characters", what, length),
         fmt::format("at most {}", max_text));
  }
  JsonNode* place(JsonNode node, const char* last) {
    if (++values_ > max_values) {
      fail(static_cast<size_t>(last - text_.data()) - 1, "too_long", fmt::format("more than {} values", max_values),
           "a run file holds names, sizes and specs, not data");
    }
    line_ += static_cast<int>(std::count(counted_, std::max(counted_, last), '\n'));
    counted_ = std::max(counted_, last);
    node.line = line_;
    if (open_.empty()) return &(root_ = std::move(node));
    return &open_.back()->items.emplace_back(std::move(node));
  }
  bool add(JsonNode node) {
    place(std::move(node), reached_);
    return true;
  }
  // The end of a number is only seen at the character after it.
  bool add_number(JsonNode node, std::string digits) {
    check_length(digits.size(), "a number");
    node.text = std::move(digits);
    place(std::move(node), reached_[-1] == '\n' ? reached_ - 1 : reached_);
    return true;
  }
  bool open(JsonNode node) {
    if (open_.size() == max_nesting) {
      fail(static_cast<size_t>(reached_ - text_.data()) - 1, "nesting", "nested too deeply",
           fmt::format("at most {} levels", max_nesting));
    }
    open_.push_back(place(std::move(node), reached_));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  std::string closing_brackets() const {
    std::string closing;
    for (size_t i = open_.size(); i-- > 0;) closing += open_[i]->is(JsonNode::Kind::object) ? '}' : ']';
    return closing;
  }

  std::string_view text_;
  const std::string& file_name_;
  const char* reached_;
  const char* counted_;
  int line_ = 1, values_ = 0;
  JsonNode root_;
  std::vector<JsonNode*> open_;
};

}  // namespace

JsonNode read_json(std::string_view text, const std::string& file_name) {
  DocumentBuilder builder(text, file_name);
  if (std::all_of(text.begin(), text.end(), is_space)) {
    builder.fail(0, "empty_file", "the file is empty",
                 "a run file is one JSON object, {\"model\": ..., \"mesh\": ...}");
  }
  if (size_t nul = text.find('\0'); nul != std::string_view::npos) {
    builder.fail(nul, "syntax", "a zero byte", "a run file is text");
  }
  return builder.build();
}

}  // namespace shardscope
