#include "engine/config/placement_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "engine/base/error.h"

namespace shardscope {
namespace {

constexpr std::string_view nothing = "None", largest_word = "largest", from_word = "from", bytes_word = "bytes";

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' || c == '/';
}

bool is_keyword(std::string_view word) { return word == nothing || word == largest_word || word == from_word; }

// A name as it can be read again: in quotes where it is not a plain word ('-' would run into an arrow).
std::string name_text(const std::string& name, bool always_quoted) {
  bool plain = !always_quoted && !name.empty() && !is_keyword(name) && name.back() != '-';
  for (char c : name) plain &= is_word_character(c);
  if (plain) return name;
  std::string text = "'";
  for (char c : name) text += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return text + "'";
}

std::string axes_text(const std::vector<std::string>& axes, bool quoted) {
  if (axes.empty()) return std::string(nothing);
  std::string text;
  for (const std::string& axis : axes) text += (text.empty() ? "" : ", ") + name_text(axis, quoted);
  return axes.size() == 1 ? text : "(" + text + ")";
}

struct Writer {
  std::string operator()(const PartitionSpec& spec) const {
    std::string text;
    for (const auto& axes : spec.dims) text += (text.empty() ? "" : ", ") + axes_text(axes, true);
    return "P(" + text + (spec.dims.size() == 1 ? ",)" : ")");
  }
  std::string operator()(const LogicalAxes& rule) const {
    std::string text;
    for (const auto& [logical, axes] : rule.axes) {
      text += (text.empty() ? "" : ", ") + name_text(logical, false) + " -> " + axes_text(axes, false);
    }
    return text;
  }
  std::string operator()(const LargestDimension& rule) const {
    std::string text = fmt::format("{} -> {}", largest_word, axes_text(rule.axes, false));
    if (rule.minimum_bytes > 0) text += fmt::format(" {} {} {}", from_word, rule.minimum_bytes, bytes_word);
    return text;
  }
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  RulePlacement read() {
    RulePlacement placement = read_placement();
    skip_space();
    if (at_ < text_.size()) fail(fmt::format("'{}' is left over", text_.substr(at_)));
    return placement;
  }

 private:
  RulePlacement read_placement() {
    const size_t start = at_;
    if (peek_word() == "P" || peek_word() == "PartitionSpec") {
      name();
      if (take("(")) return read_spec();
      at_ = start;
    }
    if (peek_word() == largest_word) {
      name();
      if (take("->")) return read_largest();
      at_ = start;
    }
    return read_logical();
  }

  PartitionSpec read_spec() {
    PartitionSpec spec;
    while (!take(")")) {
      spec.dims.push_back(axes());
      if (take(",")) continue;
      expect(")", "',' or ')' behind an entry");
      break;
    }
    return spec;
  }

  LargestDimension read_largest() {
    LargestDimension rule{axes(), 0};
    if (rule.axes.empty()) fail("a rule by size needs an axis");
    if (peek_word() != from_word) return rule;
    name();
    const std::string digits = name();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rule.minimum_bytes);
    if (error != std::errc{} || end != digits.data() + digits.size() || rule.minimum_bytes < 0) {
      fail(fmt::format("'{}' is no number of bytes", digits));
    }
    if (peek_word() == bytes_word) name();
    return rule;
  }

  LogicalAxes read_logical() {
    LogicalAxes rule;
    do {
      std::string logical = name();
      expect("->", "'->' behind the name of a dimension");
      rule.axes.emplace_back(std::move(logical), axes());
    } while (take(","));
    return rule;
  }

  // None, one name, or several in parentheses.
  std::vector<std::string> axes() {
    if (!take("(")) {
      if (peek_word() == nothing) return name(), std::vector<std::string>{};
      return {name()};
    }
    std::vector<std::string> list;
    while (!take(")")) {
      list.push_back(name());
      if (take(",")) continue;
      expect(")", "',' or ')' behind an axis");
      break;
    }
    return list;
  }

  std::string name() {
    skip_space();
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) return quoted_name();
    const std::string word(peek_word());
    if (word.empty()) fail(at_ < text_.size() ? fmt::format("'{}' is no name", text_[at_]) : "a name is missing");
    at_ += word.size();
    return word;
  }

  std::string quoted_name() {
    const char quote = text_[at_++];
    std::string name;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      name += text_[at_];
    }
    if (at_ == text_.size()) fail("a quote is not closed");
    ++at_;
    return name;
  }

  // The word that stands next; "->" ends one.
  std::string_view peek_word() {
    skip_space();
    size_t end = at_;
    while (end < text_.size() && is_word_character(text_[end]) && text_.substr(end, 2) != "->") ++end;
    return text_.substr(at_, end - at_);
  }

  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token, const char* what) {
    if (!take(token)) fail(fmt::format("{} is missing", what));
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Failure(Error{"placement", what, in_file("", 0, static_cast<int>(at_) + 1),
                        "a spec P('data', None), names mlp -> model, embed -> None, or size largest -> data"});
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string placement_text(const RulePlacement& placement) { return std::visit(Writer{}, placement); }

RulePlacement parse_placement(std::string_view text) { return Reader(text).read(); }

PartitionSpec parse_spec(std::string_view text) {
  const char* hint = "a spec such as P('data', None), or [\"data\", null]";
  const std::string_view name = text.substr(0, text.find('('));
  const bool is_name = std::all_of(name.begin(), name.end(), [](char c) { return is_word_character(c) || c == ' '; });
  const size_t skipped = is_name ? name.rfind('.') + 1 : 0;  // the module
  const std::string_view spec = text.substr(skipped);
  try {
    const RulePlacement placement = parse_placement(spec);
    if (const auto* parsed = std::get_if<PartitionSpec>(&placement)) return *parsed;
  } catch (const Failure& failure) {
    Error error = failure.errors().front();
    if (error.place.column > 0) error.place.column += static_cast<int>(skipped);
    error.hint = hint;
    throw Failure(std::move(error));
  }
  throw Failure(Error{"placement", fmt::format("'{}' is no spec", text), "", hint});
}

}  // namespace shardscope
