#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

// One value of a JSON text, with the line it stands on. Unlike a map it keeps the order of the keys and every
// repetition of a key, so that both can be reported.
struct JsonNode {
  enum class Kind : uint8_t { null, boolean, integer, number, string, array, object };

  Kind kind = Kind::null;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;
  std::string text;               // of a string its value; of a number read from a file its digits
  std::vector<std::string> keys;  // of an object, beside `items`
  std::vector<JsonNode> items;    // of an array or object
  int line = 0;                   // 1-based; 0 where the node was not read from a text

  static JsonNode of(bool value);
  static JsonNode of(int64_t value);
  static JsonNode of(double value);
  static JsonNode of(std::string value);
  static JsonNode of(const char* value) { return of(std::string(value)); }
  static JsonNode array() { return with_kind(Kind::array); }
  static JsonNode object() { return with_kind(Kind::object); }
  static JsonNode with_kind(Kind kind);

  // The member of this object, or null where there is none (the first, where a key is repeated).
  const JsonNode* find(std::string_view key) const;
  JsonNode* find(std::string_view key);
  JsonNode& add(std::string key, JsonNode value);
  // Takes the member that find() gives out of this object, where there is one.
  void remove(std::string_view key);
  bool is(Kind other) const { return kind == other; }
};

// Reads a JSON text. Throws Failure with one error, at "FILE:line:column" (the column counts bytes from 1), that says
// what was expected: code "empty_file", "truncated" (the text ends too early; the hint says which brackets are open),
// "number_range" (no double can hold it), "nesting" (deeper than 64), "too_long" (a text or number of more than 1,000
// characters, an object of more than 10,000 members, more than 200,000 values in all) or "syntax".
JsonNode read_json(std::string_view text, const std::string& file_name);

// The text of a document, ending in a newline. Arrays without objects stand on one line, as do short objects that
// hold only plain values or stand in an array, and short lists of such; everything else has one member a line.
// Throws Failure where JSON cannot say it: a number that is not finite, text that is not UTF-8, a repeated key.
std::string print_json(const JsonNode& document);

// The same on one line, without a newline. Throws alike for numbers and text.
std::string print_json_line(const JsonNode& node);

// "an object", "an array", "null", "true", "4", "\"four\"": how an error names a value that was not expected.
std::string describe(const JsonNode& node);

// `text` as a JSON string, quotes included. Throws Failure where it is not UTF-8.
std::string quoted(const std::string& text);

}  // namespace shardscope
