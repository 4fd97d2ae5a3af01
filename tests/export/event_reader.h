#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/export/event_file.h"

namespace shardscope::test {

// An event as our reader understands it.
struct Event {
  double wall_time = 0;
  int64_t step = 0;
  std::string file_version;
  std::map<std::string, float> scalars;
  bool restarts = false;
};

// Reads what event files say by the definitions of TFRecord and Protocol Buffers alone; throws std::runtime_error for
// anything else, wrong sums among them.
class EventReader {
 public:
  explicit EventReader(std::string_view bytes) : bytes_(bytes) {}

  std::optional<Event> next() {
    if (bytes_.empty()) return std::nullopt;
    const std::string_view length = take(8);
    check(length);
    const std::string_view data = take(number<uint64_t>(length));
    check(data);
    return event(data);
  }

 private:
  template <class Number>
  static Number number(std::string_view bytes) {
    Number value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  std::string_view take(size_t count) {
    if (count > bytes_.size()) throw std::runtime_error("a record is cut");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  void check(std::string_view data) {
    if (number<uint32_t>(take(4)) != masked_crc32c(data)) throw std::runtime_error("a sum is wrong");
  }

  struct Field {
    int number = 0;
    uint64_t value = 0;      // of a varint, 32 or 64 bits
    std::string_view bytes;  // of a string or a message
  };
  static std::vector<Field> fields(std::string_view data) {
    const auto varint = [&data] {
      uint64_t value = 0;
      for (int shift = 0;; shift += 7) {
        const uint8_t byte = static_cast<uint8_t>(data.at(0));
        data.remove_prefix(1);
        value |= uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return value;
      }
    };
    std::vector<Field> all;
    while (!data.empty()) {
      const uint64_t key = varint();
      Field field{static_cast<int>(key >> 3), 0, {}};
      const uint64_t type = key & 7;
      if (type == 0) {
        field.value = varint();
      } else {
        const size_t size = type == 1   ? 8
                            : type == 5 ? 4
                            : type == 2 ? varint()
                                        : throw std::runtime_error("wire type");
        field.bytes = data.substr(0, size);
        if (field.bytes.size() != size) throw std::runtime_error("a field is cut");
        data.remove_prefix(size);
      }
      all.push_back(field);
    }
    return all;
  }

  static Event event(std::string_view data) {
    Event read;
    for (const Field& field : fields(data)) {
      if (field.number == 1) read.wall_time = number<double>(field.bytes);
      if (field.number == 2) read.step = static_cast<int64_t>(field.value);
      if (field.number == 3) read.file_version = field.bytes;
      if (field.number == 7) read.restarts = fields(field.bytes).at(0).value == 1;
      if (field.number != 5) continue;
      for (const Field& value : fields(field.bytes)) {
        const std::vector<Field> parts = fields(value.bytes);
        read.scalars[std::string(parts.at(0).bytes)] = number<float>(parts.at(1).bytes);
      }
    }
    return read;
  }

  std::string_view bytes_;
};

inline std::vector<Event> read_events(std::string_view bytes) {
  EventReader reader(bytes);
  std::vector<Event> events;
  while (std::optional<Event> event = reader.next()) events.push_back(std::move(*event));
  return events;
}

}  // namespace shardscope::test
