#include "engine/export/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>

namespace shardscope {

namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> crc_table = make_table();

template <class Integer>
std::string little_endian(Integer number) {
  std::string bytes;
  for (size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
  return bytes;
}

// Of Protocol Buffers (protobuf.dev/programming-guides/encoding).
std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes += static_cast<char>(number);
}
enum WireType : uint8_t { of_varint = 0, of_64_bits = 1, of_bytes = 2, of_32_bits = 5 };
std::string key(int field, WireType type) { return varint(static_cast<uint64_t>(field) << 3 | type); }
std::string whole(int field, int64_t number) { return key(field, of_varint) + varint(static_cast<uint64_t>(number)); }
std::string real(int field, double number) {
  return key(field, of_64_bits) + little_endian(std::bit_cast<uint64_t>(number));
}
std::string real(int field, float number) {
  return key(field, of_32_bits) + little_endian(std::bit_cast<uint32_t>(number));
}
std::string bytes(int field, std::string_view data) {
  return key(field, of_bytes) + varint(data.size()) + std::string(data);
}

// Event: wall_time 1, step 2, file_version 3, summary 5, session_log 7.
std::string event(double wall_time, int64_t step, const std::string& what) {
  return tf_record(real(1, wall_time) + whole(2, step) + what);
}

}  // namespace

uint32_t crc32c(std::string_view data) {
  uint32_t crc = ~0u;
  for (char c : data) crc = (crc >> 8) ^ crc_table[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return ~crc;
}

uint32_t masked_crc32c(std::string_view data) { return std::rotr(crc32c(data), 15) + 0xa282ead8u; }

std::string tf_record(std::string_view data) {
  const std::string length = little_endian(uint64_t{data.size()});
  return length + little_endian(masked_crc32c(length)) + std::string(data) + little_endian(masked_crc32c(data));
}

std::string file_version_record(double wall_time) { return tf_record(real(1, wall_time) + bytes(3, "brain.Event:2")); }

std::string scalars_record(double wall_time, int64_t step, const std::vector<Scalar>& scalars) {
  std::string summary;  // of Values: tag 1, simple_value 2
  for (const auto& [tag, value] : scalars) summary += bytes(1, bytes(1, tag) + real(2, value));
  return event(wall_time, step, bytes(5, summary));
}

std::string restart_record(double wall_time, int64_t step) {
  constexpr int start = 1;  // SessionLog.START, of status 1
  return event(wall_time, step, bytes(7, whole(1, start)));
}

std::string event_file_name() {
  static std::atomic<int> made = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("events.out.tfevents.{}.{}.{}.{}", std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                     host.data(), ::getpid(), made++);
}

}  // namespace shardscope
