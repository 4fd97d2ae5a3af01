#include "engine/session/telemetry.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <utility>

#include "engine/base/error.h"
#include "engine/session/telemetry_layout.h"

namespace shardscope {

namespace {

using telemetry::File;
using telemetry::Word;

File& layout(const MappedFile& file) { return *static_cast<File*>(file.data()); }

void put(Word& word, int64_t value) noexcept { word.store(static_cast<uint64_t>(value), std::memory_order_release); }
int64_t get(const Word& word) noexcept { return static_cast<int64_t>(word.load(std::memory_order_acquire)); }

constexpr std::array<std::string_view, 4> state_names = {"starting", "running", "finished", "failed"};

// Records [taken, count) that are still whole; the rest of them count as lost.
template <class Record, size_t capacity>
std::vector<Record> take(const telemetry::Ring<Record, capacity>& ring, uint64_t& taken, int64_t& lost) {
  std::vector<Record> records;
  uint64_t count = ring.count.load(std::memory_order_acquire);
  if (count < taken) return records;
  if (count - taken > capacity) {
    lost += static_cast<int64_t>(count - capacity - taken);
    taken = count - capacity;
  }
  records.reserve(count - taken);
  for (; taken < count; ++taken) {
    if (auto record = ring.slots[taken % capacity].load(taken)) records.push_back(*record);
    else ++lost;
  }
  return records;
}

}  // namespace

std::string_view name(RankState state) { return state_names[static_cast<size_t>(state)]; }

std::optional<RankState> rank_state(std::string_view name) {
  auto found = std::find(state_names.begin(), state_names.end(), name);
  if (found == state_names.end()) return std::nullopt;
  return static_cast<RankState>(found - state_names.begin());
}

int64_t monotonic_ns() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string telemetry_path(const std::string& session_directory, int rank) {
  return session_directory + "/rank_" + std::to_string(rank) + ".telemetry";
}

TelemetryWriter::TelemetryWriter(const std::string& session_directory, int rank, int world_size)
    : file_(MappedFile::create(telemetry_path(session_directory, rank) + ".new", sizeof(File))) {
  File& file = layout(file_);
  put(file.rank, rank);
  put(file.world_size, world_size);
  put(file.pid, ::getpid());
  put(file.training_step, -1);
  put(file.plan_step, -1);
  put(file.heartbeat_ns, monotonic_ns());
  file.magic.store(telemetry::magic, std::memory_order_release);
  std::string path = telemetry_path(session_directory, rank);
  std::error_code error;
  std::filesystem::rename(path + ".new", path, error);
  if (error) throw Failure(Error{"session_file", "cannot create: " + error.message(), in_file(path), ""});
}

void TelemetryWriter::set_plan_hash(uint64_t hash) noexcept {
  layout(file_).plan_hash.store(hash, std::memory_order_release);
}

void TelemetryWriter::set_state(RankState state) noexcept {
  uint64_t old = layout(file_).state.load(std::memory_order_acquire);
  while (old != static_cast<uint64_t>(RankState::failed) &&
         !layout(file_).state.compare_exchange_weak(old, static_cast<uint64_t>(state), std::memory_order_acq_rel)) {
  }
}

void TelemetryWriter::fail(std::string_view text) noexcept {
  File& file = layout(file_);
  if (file.failing.exchange(1, std::memory_order_acq_rel)) return;
  text = text.substr(0, telemetry::error_bytes);
  for (size_t i = 0; i * 8 < text.size(); ++i) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i * 8, std::min<size_t>(8, text.size() - i * 8));
    file.error[i].store(word, std::memory_order_release);
  }
  put(file.error_size, static_cast<int64_t>(text.size()));
  put(file.failed_ns, monotonic_ns());
  put(file.state, static_cast<int64_t>(RankState::failed));
}

void TelemetryWriter::begin_training_step(int64_t step) noexcept { put(layout(file_).training_step, step); }

void TelemetryWriter::begin_plan_step(int plan_step) noexcept {
  File& file = layout(file_);
  put(file.plan_step, plan_step);
  put(file.heartbeat_ns, monotonic_ns());
  put(file.heartbeat, get(file.heartbeat) + 1);
}

void TelemetryWriter::add_event(const StepEvent& event) noexcept { layout(file_).events.add(event); }

void TelemetryWriter::add_step(const StepRecord& record) noexcept { layout(file_).steps.add(record); }

std::optional<TelemetryReader> TelemetryReader::open(const std::string& session_directory, int rank) {
  std::string path = telemetry_path(session_directory, rank);
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::nullopt;
  MappedFile file = MappedFile::open(path, MappedFile::Access::read);
  if (file.size() != sizeof(File) || layout(file).magic.load(std::memory_order_acquire) != telemetry::magic) {
    throw Failure(Error{"session_file", "is not a telemetry file of this version", in_file(path), ""});
  }
  return TelemetryReader(std::move(file));
}

RankStatus TelemetryReader::status() const {
  const File& file = layout(file_);
  RankStatus status;
  status.rank = static_cast<int>(get(file.rank));
  status.world_size = static_cast<int>(get(file.world_size));
  status.pid = static_cast<int>(get(file.pid));
  status.state = static_cast<RankState>(std::clamp<int64_t>(get(file.state), 0, 3));
  status.heartbeat = file.heartbeat.load(std::memory_order_acquire);
  status.heartbeat_ns = get(file.heartbeat_ns);
  status.training_step = get(file.training_step);
  status.plan_step = static_cast<int>(get(file.plan_step));
  status.plan_hash = file.plan_hash.load(std::memory_order_acquire);
  status.failed_ns = get(file.failed_ns);
  if (status.state == RankState::failed) {
    size_t size = std::min<size_t>(static_cast<size_t>(get(file.error_size)), telemetry::error_bytes);
    for (size_t i = 0; i * 8 < size; ++i) {
      uint64_t word = file.error[i].load(std::memory_order_acquire);
      status.error_text.append(reinterpret_cast<const char*>(&word), std::min<size_t>(8, size - i * 8));
    }
  }
  return status;
}

std::vector<StepRecord> TelemetryReader::take_steps() { return take(layout(file_).steps, steps_taken_, lost_); }

std::vector<StepEvent> TelemetryReader::take_events() { return take(layout(file_).events, events_taken_, lost_); }

}  // namespace shardscope
