#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "engine/session/telemetry.h"

// The bytes of a telemetry file. Private to the writer and the reader.
namespace shardscope::telemetry {

using Word = std::atomic<uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8);

inline constexpr uint64_t magic = 0x334d4c5444524853;        // "SHRDTLM3"
inline constexpr uint64_t trace_magic = 0x3243525444524853;  // "SHRDTRC2"
inline constexpr size_t error_bytes = 4000;
inline constexpr size_t trace_slots = 5;  // three kept, one written, one that a reader may still copy

// A value between a version word and itself: odd while it is written, 2 (index + 1) when record `index` is whole.
// Every word is stored with release and loaded with acquire, so a reader that sees any word of a newer record also
// sees that record's version: a torn read is always noticed.
template <class Record>
class Slot {
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) % 8 == 0);
  static constexpr size_t words = sizeof(Record) / 8;

 public:
  void store(uint64_t index, const Record& record) noexcept {
    auto raw = std::bit_cast<std::array<uint64_t, words>>(record);
    version_.store(2 * index + 1, std::memory_order_release);
    for (size_t i = 0; i < words; ++i) words_[i].store(raw[i], std::memory_order_release);
    version_.store(2 * index + 2, std::memory_order_release);
  }

  // Record `index`, or nothing when it is not (or no longer) whole here.
  std::optional<Record> load(uint64_t index) const noexcept {
    if (version_.load(std::memory_order_acquire) != 2 * index + 2) return std::nullopt;
    std::array<uint64_t, words> raw;
    for (size_t i = 0; i < words; ++i) raw[i] = words_[i].load(std::memory_order_acquire);
    if (version_.load(std::memory_order_acquire) != 2 * index + 2) return std::nullopt;
    return std::bit_cast<Record>(raw);
  }

 private:
  Word version_;
  std::array<Word, words> words_;
};

template <class Record, size_t capacity>
struct Ring {
  Word count;  // records ever added
  Word taken;  // records that the reader has
  std::array<Slot<Record>, capacity> slots;

  bool is_full() const noexcept {
    return count.load(std::memory_order_relaxed) - taken.load(std::memory_order_acquire) >= capacity;
  }
  void add(const Record& record) noexcept {
    uint64_t index = count.load(std::memory_order_relaxed);
    slots[index % capacity].store(index, record);
    count.store(index + 1, std::memory_order_release);
  }
};

struct File {
  Word magic;
  Word rank, world_size, pid, plan_hash;
  Word state, heartbeat, heartbeat_ns, training_step, plan_step, held_ns;
  Word failing, failed_ns, error_size;
  std::array<Word, error_bytes / 8> error;
  Ring<StepRecord, TelemetryWriter::step_capacity> steps;
};
static_assert(std::is_standard_layout_v<File>);

// The bytes of a trace file: the header, then trace_slots times a TraceSlot and its plan_steps times.
struct TraceHeader {
  Word magic, plan_steps;
  // By choice: 0, or a number that grows with each publication, times trace_slots, plus the slot.
  std::array<Word, std::size(trace_choices)> published;
};

struct TraceSlot {
  Word version;  // odd while it is written
  Word step;

  std::array<Word, 3>& time(int plan_step) { return reinterpret_cast<std::array<Word, 3>*>(this + 1)[plan_step]; }
};

inline size_t trace_slot_bytes(int plan_steps) {
  return sizeof(TraceSlot) + static_cast<size_t>(plan_steps) * sizeof(std::array<Word, 3>);
}
inline size_t trace_file_bytes(int plan_steps) {
  return sizeof(TraceHeader) + trace_slots * trace_slot_bytes(plan_steps);
}

}  // namespace shardscope::telemetry
