#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/enum_count.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/base/json_memory.h"
#include "engine/session/messages.h"

// Values of messages in JSON. Those that read throw Failure (code bad_message) for what is beyond message_limits, and
// nlohmann's exceptions for what is of another type.
namespace shardscope::message_json {

using Json = nlohmann::json;

inline std::string whole_mebibytes(size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// Of a text for a person, the beginning.
inline std::string cut(std::string text, size_t most) {
  constexpr std::string_view mark = " ...";
  if (text.size() <= most) return text;
  size_t end = most - mark.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // within a character
  return text.substr(0, end).append(mark);
}

[[noreturn]] inline void refuse_message(const std::string& what) {
  throw Failure(Error{"bad_message", cut(what, 1000), in_file("run socket"), ""});
}

inline Json parsed(std::string_view line) {
  if (is_nested_deeply(line)) refuse_message("a message is nested too deeply");
  if (json_memory(line) > message_limits::parsed_bytes)
    refuse_message("a message would take more than " + whole_mebibytes(message_limits::parsed_bytes) + " of memory");
  return Json::parse(line);
}

inline std::string checked_text(const Json& json) { return cut(json.get<std::string>(), message_limits::text_bytes); }

inline std::string limited(const Json& json, size_t most, const char* what) {
  const auto& text = json.get_ref<const std::string&>();
  if (text.size() > most) refuse_message(std::string(what) + " has more than " + std::to_string(most) + " bytes");
  return text;
}

inline std::string metric_name(const Json& json) {
  return limited(json, message_limits::name_bytes, "the name of a metric");
}

template <class Enum, size_t count>
Enum named(const std::array<std::string_view, count>& names, const std::string& text) {
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  refuse_message("unknown name '" + text + "'");
}

// JSON has no NaN or infinity; nlohmann writes them as null.
inline double number(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

template <class Integer>
Integer whole(const Json& json) {
  bool fits = json.is_number_unsigned() ? std::in_range<Integer>(json.get<uint64_t>())
                                        : json.is_number_integer() && std::in_range<Integer>(json.get<int64_t>());
  if (!fits) refuse_message("expected an integer, got " + json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return json.get<Integer>();
}

template <class Integer>
Integer within(const Json& json, Integer least, Integer below, const char* what) {
  const auto value = whole<Integer>(json);
  if (value < least || value >= below) refuse_message(std::string(what) + " is out of range: " + std::to_string(value));
  return value;
}

inline int rank_of(const Json& json) { return within<int>(json, 0, message_limits::ranks, "the number of a rank"); }
// -1 or -2: of none.
inline int speaker_of(const Json& json) {
  return within<int>(json, LogMessage::supervisor, message_limits::ranks, "the number of a rank");
}
inline int64_t step_of(const Json& json) {
  return within<int64_t>(json, 0, message_limits::steps, "the number of a step");
}

inline std::vector<double> numbers(const Json& json) {
  std::vector<double> values;
  for (const Json& item : json.get_ref<const Json::array_t&>()) values.push_back(number(item));
  return values;
}

inline PhaseMs by_phase(const Json& json) {
  const std::vector<double> values = numbers(json);
  PhaseMs table;
  if (values.size() != table.size()) refuse_message("a phase table needs four numbers");
  std::ranges::copy(values, table.begin());
  return table;
}

template <class T, class Read>
std::vector<T> list(const Json& json, Read read, size_t most = SIZE_MAX) {
  const auto& items = json.get_ref<const Json::array_t&>();
  if (items.size() > most) refuse_message("a list has more than " + std::to_string(most) + " entries");
  std::vector<T> values;
  values.reserve(items.size());
  for (const Json& item : items) values.push_back(read(item));
  return values;
}

inline Phase phase_of(const Json& json) {
  auto index = whole<uint64_t>(json);
  if (index >= enum_count<Phase>) refuse_message("unknown phase");
  return static_cast<Phase>(index);
}

template <class T>
Json write_list(const std::vector<T>& values, Json (*write_one)(const T&)) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(write_one(value));
  return list;
}

}  // namespace shardscope::message_json
