#include "engine/session/status_page.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "engine/base/error.h"
#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

using StatusWord = std::atomic<uint64_t>;
static_assert(StatusWord::is_always_lock_free && sizeof(StatusWord) == 8);

constexpr uint64_t page_magic = 0x31534b4e41524853;  // "SHRANKS1"
constexpr size_t error_bytes = 1000;

struct Header {
  StatusWord magic, ranks, pid, start_time;
};

struct Line {
  StatusWord pid, start_time, phase;
  StatusWord failing, failed_ns, by_peer, error_size;
  std::array<StatusWord, error_bytes / 8> error;
};

Header& header(const MappedFile& file) { return *static_cast<Header*>(file.data()); }

Line* line(const MappedFile& file, int rank) {
  Header& head = header(file);
  if (rank < 0 || static_cast<uint64_t>(rank) >= head.ranks.load()) return nullptr;
  return reinterpret_cast<Line*>(&head + 1) + rank;
}

size_t file_bytes(uint64_t ranks) { return sizeof(Header) + ranks * sizeof(Line); }

std::string page_path(const std::string& session_directory) { return session_directory + "/ranks"; }

}  // namespace

StatusPage StatusPage::create(const std::string& session_directory, int ranks) {
  MappedFile file = MappedFile::create(page_path(session_directory), file_bytes(static_cast<uint64_t>(ranks)));
  const ProcessId self = this_process();
  header(file).ranks = static_cast<uint64_t>(ranks);
  header(file).pid = static_cast<uint64_t>(self.pid);
  header(file).start_time = self.start_time;
  header(file).magic = page_magic;
  return StatusPage(std::move(file));
}

std::optional<StatusPage> StatusPage::open(const std::string& session_directory) {
  const std::string path = page_path(session_directory);
  std::optional<MappedFile> file = MappedFile::open_where_there(path, MappedFile::Access::read_write);
  if (!file) return std::nullopt;
  if (file->size() < sizeof(Header) || header(*file).magic != page_magic ||
      file->size() != file_bytes(header(*file).ranks)) {
    throw Failure(Error{"session_file", "is not a list of ranks of this version", in_file(path), ""});
  }
  return StatusPage(std::move(*file));
}

ProcessId StatusPage::launcher() const noexcept {
  return {static_cast<int32_t>(header(file_).pid.load()), header(file_).start_time.load()};
}

int StatusPage::ranks() const noexcept { return static_cast<int>(header(file_).ranks.load()); }

RankEntry StatusPage::read(int rank) const {
  RankEntry entry;
  const Line* from = line(file_, rank);
  if (!from) return entry;
  entry.phase = static_cast<RankPhase>(std::min<uint64_t>(from->phase.load(), rank_phase_count - 1));
  entry.process = {static_cast<int32_t>(from->pid.load()), from->start_time.load()};
  entry.failed_ns = static_cast<int64_t>(from->failed_ns.load());
  if (entry.failed_ns == 0) return entry;
  entry.by_peer = from->by_peer.load() != 0;
  const size_t size = std::min<size_t>(from->error_size.load(), error_bytes);
  for (size_t i = 0; i * 8 < size; ++i) {
    const uint64_t word = from->error[i].load();
    entry.error.append(reinterpret_cast<const char*>(&word), std::min<size_t>(8, size - i * 8));
  }
  return entry;
}

void StatusPage::clear() noexcept {
  for (int rank = 0; rank < ranks(); ++rank) {
    Line& one = *line(file_, rank);
    for (StatusWord* word : {&one.pid, &one.start_time, &one.phase, &one.failed_ns, &one.failing}) *word = 0;
  }
}

void StatusPage::sign(int rank, const ProcessId& process) noexcept {
  Line* own = line(file_, rank);
  if (!own) return;
  own->start_time = process.start_time;
  own->pid = static_cast<uint64_t>(process.pid);
  own->phase = static_cast<uint64_t>(RankPhase::starting);
}

void StatusPage::enter(int rank, RankPhase phase) noexcept {
  if (Line* own = line(file_, rank)) own->phase = static_cast<uint64_t>(phase);
}

void StatusPage::fail(int rank, std::string_view text, bool by_peer) noexcept {
  Line* own = line(file_, rank);
  if (!own || own->failing.exchange(1)) return;
  text = text.substr(0, error_bytes);
  for (size_t i = 0; i * 8 < text.size(); ++i) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i * 8, std::min<size_t>(8, text.size() - i * 8));
    own->error[i] = word;
  }
  own->error_size = text.size();
  own->by_peer = by_peer ? 1 : 0;
  own->failed_ns = static_cast<uint64_t>(monotonic_ns());
}

}  // namespace shardscope
