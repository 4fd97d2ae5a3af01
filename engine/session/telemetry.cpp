#include "engine/session/telemetry.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <utility>

#include "engine/base/enum_count.h"
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
static_assert(state_names.size() == enum_count<RankState>);

constexpr std::array<std::string_view, 3> choice_names = {"latest", "slowest", "median"};
static_assert(choice_names.size() == enum_count<TraceChoice>);

template <class Enum, size_t count>
std::optional<Enum> of_name(const std::array<std::string_view, count>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

constexpr int64_t held_nap_ns = 500'000;

using telemetry::TraceHeader;
using telemetry::TraceSlot;

TraceHeader& header_of(const MappedFile& file) { return *static_cast<TraceHeader*>(file.data()); }

TraceSlot& slot_of(const MappedFile& file, uint64_t slot) {
  const size_t bytes = telemetry::trace_slot_bytes(static_cast<int>(get(header_of(file).plan_steps)));
  return *reinterpret_cast<TraceSlot*>(static_cast<std::byte*>(file.data()) + sizeof(TraceHeader) + slot * bytes);
}

std::string trace_path(const std::string& session_directory, int rank) {
  return session_directory + "/rank_" + std::to_string(rank) + ".trace";
}

void give_name(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) throw Failure(Error{"session_file", "cannot create: " + error.message(), in_file(to), ""});
}

}  // namespace

std::string_view name(RankState state) { return state_names[static_cast<size_t>(state)]; }

std::string_view name(TraceChoice choice) { return choice_names[static_cast<size_t>(choice)]; }

std::optional<RankState> rank_state(std::string_view name) { return of_name<RankState>(state_names, name); }

std::optional<TraceChoice> trace_choice(std::string_view name) { return of_name<TraceChoice>(choice_names, name); }

int64_t monotonic_ns() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string telemetry_path(const std::string& session_directory, int rank) {
  return session_directory + "/rank_" + std::to_string(rank) + ".telemetry";
}

TelemetryWriter::TelemetryWriter(const std::string& session_directory, int rank, int world_size)
    : file_(MappedFile::create(telemetry_path(session_directory, rank) + ".new", sizeof(File))),
      trace_path_(trace_path(session_directory, rank)),
      load_path_(expert_load_path(session_directory, rank)) {
  File& file = layout(file_);
  put(file.rank, rank);
  put(file.world_size, world_size);
  put(file.pid, ::getpid());
  put(file.training_step, -1);
  put(file.plan_step, -1);
  put(file.heartbeat_ns, monotonic_ns());
  file.magic.store(telemetry::magic, std::memory_order_release);
  const std::string path = telemetry_path(session_directory, rank);
  give_name(path + ".new", path);
}

void TelemetryWriter::set_plan(uint64_t hash, int plan_steps, size_t load_numbers) {
  if (load_numbers > 0) load_.emplace(load_path_, load_numbers);
  MappedFile traces = MappedFile::create(trace_path_ + ".new", telemetry::trace_file_bytes(plan_steps));
  put(header_of(traces).plan_steps, plan_steps);
  header_of(traces).magic.store(telemetry::trace_magic, std::memory_order_release);
  give_name(trace_path_ + ".new", trace_path_);
  traces_ = std::move(traces);
  layout(file_).plan_hash.store(hash, std::memory_order_release);
}

int64_t TelemetryWriter::file_bytes() { return sizeof(File); }

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

void TelemetryWriter::begin_training_step(int64_t step) noexcept {
  begin_plan_step(-1);
  put(layout(file_).training_step, step);
  if (!traces_) return;
  // The slot that is in use by none, and was written longest ago.
  const TraceHeader& header = header_of(*traces_);
  do slot_ = (slot_ + 1) % static_cast<int>(telemetry::trace_slots);
  while (std::ranges::any_of(header.published, [&](const Word& word) {
    const uint64_t published = word.load(std::memory_order_relaxed);
    return published != 0 && static_cast<int>(published % telemetry::trace_slots) == slot_;
  }));
  TraceSlot& slot = slot_of(*traces_, static_cast<uint64_t>(slot_));
  slot.version.store(slot.version.load(std::memory_order_relaxed) | 1, std::memory_order_release);
  put(slot.step, step);
}

void TelemetryWriter::begin_plan_step(int plan_step, int64_t now_ns) noexcept {
  put(layout(file_).plan_step, plan_step);
  beat(now_ns);
}

void TelemetryWriter::beat(int64_t now_ns) noexcept {
  File& file = layout(file_);
  put(file.heartbeat_ns, now_ns);
  put(file.heartbeat, get(file.heartbeat) + 1);
}

void TelemetryWriter::end_plan_step(int plan_step, const PlanStepTime& time) noexcept {
  if (!traces_) return;
  std::array<Word, 3>& words = slot_of(*traces_, static_cast<uint64_t>(slot_)).time(plan_step);
  put(words[0], time.arrive_ns);
  put(words[1], time.start_ns);
  put(words[2], time.end_ns);
}

void TelemetryWriter::make_room() noexcept {
  File& file = layout(file_);
  if (!file.steps.is_full()) return;
  put(file.held_ns, monotonic_ns());
  while (file.steps.is_full()) {
    const timespec nap{0, held_nap_ns};
    ::nanosleep(&nap, nullptr);
    beat();
  }
  put(file.held_ns, 0);
}

void TelemetryWriter::add_step(const StepRecord& record) noexcept {
  make_room();
  layout(file_).steps.add(record);
}

void TelemetryWriter::put_expert_load(int64_t step, std::span<const float> numbers) noexcept {
  if (load_) load_->put(step, numbers);
}

void TelemetryWriter::keep_trace(TraceChoice choice) noexcept {
  if (!traces_) return;
  TraceSlot& slot = slot_of(*traces_, static_cast<uint64_t>(slot_));
  if (slot.version.load(std::memory_order_relaxed) % 2 != 0) {
    slot.version.store(slot.version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  Word& published = header_of(*traces_).published[static_cast<size_t>(choice)];
  const uint64_t number = published.load(std::memory_order_relaxed) / telemetry::trace_slots + 1;
  published.store(number * telemetry::trace_slots + static_cast<uint64_t>(slot_), std::memory_order_release);
}

std::optional<TelemetryReader> TelemetryReader::open(const std::string& session_directory, int rank) {
  std::string path = telemetry_path(session_directory, rank);
  std::optional<MappedFile> file = MappedFile::open_where_there(path, MappedFile::Access::read_write);
  if (!file) return std::nullopt;
  if (file->size() != sizeof(File) || layout(*file).magic.load(std::memory_order_acquire) != telemetry::magic) {
    throw Failure(Error{"session_file", "is not a telemetry file of this version", in_file(path), ""});
  }
  return TelemetryReader(std::move(*file), trace_path(session_directory, rank),
                         expert_load_path(session_directory, rank));
}

RankStatus TelemetryReader::status() const {
  const File& file = layout(file_);
  RankStatus status;
  status.rank = static_cast<int>(get(file.rank));
  status.world_size = static_cast<int>(get(file.world_size));
  status.pid = static_cast<int>(get(file.pid));
  status.state = static_cast<RankState>(std::clamp<int64_t>(get(file.state), 0, enum_count<RankState> - 1));
  status.heartbeat = file.heartbeat.load(std::memory_order_acquire);
  status.heartbeat_ns = get(file.heartbeat_ns);
  status.training_step = get(file.training_step);
  status.plan_step = static_cast<int>(get(file.plan_step));
  status.plan_hash = file.plan_hash.load(std::memory_order_acquire);
  status.held_ns = get(file.held_ns);
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

std::vector<StepRecord> TelemetryReader::take_steps(size_t most) {
  auto& ring = layout(file_).steps;
  const uint64_t taken = ring.taken.load(std::memory_order_relaxed);
  const uint64_t end = std::min(ring.count.load(std::memory_order_acquire), taken + most);
  std::vector<StepRecord> records;
  for (uint64_t index = taken; index < end; ++index) {
    const auto record = ring.slots[index % TelemetryWriter::step_capacity].load(index);
    if (!record)
      throw Failure(
          Error{"session_file", "a step's record is damaged", on_rank(static_cast<int>(get(layout(file_).rank))), ""});
    records.push_back(*record);
  }
  ring.taken.store(end, std::memory_order_release);
  return records;
}

std::optional<RankTrace> TelemetryReader::take_trace(TraceChoice choice) {
  if (!traces_) {
    std::optional<MappedFile> opened = MappedFile::open_where_there(trace_path_, MappedFile::Access::read);
    if (!opened) return std::nullopt;
    const MappedFile& file = *opened;
    const bool whole = file.size() >= sizeof(TraceHeader) &&
                       header_of(file).magic.load(std::memory_order_acquire) == telemetry::trace_magic &&
                       file.size() == telemetry::trace_file_bytes(static_cast<int>(get(header_of(file).plan_steps)));
    if (!whole) throw Failure(Error{"session_file", "is not a trace of this version", in_file(trace_path_), ""});
    traces_ = std::move(*opened);
  }
  const TraceHeader& header = header_of(*traces_);
  uint64_t& taken = published_.at(static_cast<size_t>(choice));
  const uint64_t published = header.published.at(static_cast<size_t>(choice)).load(std::memory_order_acquire);
  if (published == taken) return std::nullopt;
  TraceSlot& slot = slot_of(*traces_, published % telemetry::trace_slots);
  const uint64_t version = slot.version.load(std::memory_order_acquire);
  if (version % 2 != 0) return std::nullopt;
  RankTrace trace{get(slot.step), std::vector<PlanStepTime>(static_cast<size_t>(get(header.plan_steps)))};
  for (size_t i = 0; i < trace.times.size(); ++i) {
    const std::array<Word, 3>& words = slot.time(static_cast<int>(i));
    trace.times[i] = {get(words[0]), get(words[1]), get(words[2])};
  }
  if (slot.version.load(std::memory_order_acquire) != version) return std::nullopt;
  taken = published;
  return trace;
}

}  // namespace shardscope
