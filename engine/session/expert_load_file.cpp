#include "engine/session/expert_load_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <filesystem>

#include "engine/base/error.h"

namespace shardscope {

namespace {

using LoadWord = std::atomic<uint64_t>;

constexpr uint64_t load_magic = 0x31444c5444524853;  // "SHRDTLD1"

// Behind it the numbers, a word each. The version is odd while they are written.
struct LoadHeader {
  LoadWord magic, count, version, step;
};

LoadHeader& load_header_of(const MappedFile& file) { return *static_cast<LoadHeader*>(file.data()); }
LoadWord* load_numbers_of(const MappedFile& file) { return reinterpret_cast<LoadWord*>(&load_header_of(file) + 1); }
size_t load_file_bytes(size_t count) { return sizeof(LoadHeader) + count * sizeof(LoadWord); }

bool is_load(const MappedFile& file) {
  if (file.size() < sizeof(LoadHeader)) return false;
  const LoadHeader& header = load_header_of(file);
  return header.magic.load(std::memory_order_acquire) == load_magic &&
         file.size() == load_file_bytes(header.count.load(std::memory_order_acquire));
}

}  // namespace

std::string expert_load_path(const std::string& session_directory, int rank) {
  return session_directory + "/rank_" + std::to_string(rank) + ".experts";
}

ExpertLoadWriter::ExpertLoadWriter(const std::string& path, size_t numbers)
    : file_(MappedFile::create(path + ".new", load_file_bytes(numbers))) {
  LoadHeader& header = load_header_of(file_);
  header.count.store(numbers, std::memory_order_release);
  header.magic.store(load_magic, std::memory_order_release);
  std::error_code error;
  std::filesystem::rename(path + ".new", path, error);
  if (error) throw Failure(Error{"session_file", "cannot create: " + error.message(), in_file(path), ""});
}

void ExpertLoadWriter::put(int64_t step, std::span<const float> numbers) noexcept {
  LoadHeader& header = load_header_of(file_);
  const uint64_t version = header.version.load(std::memory_order_relaxed);
  header.version.store(version + 1, std::memory_order_release);
  header.step.store(static_cast<uint64_t>(step), std::memory_order_release);
  const size_t count = std::min<size_t>(numbers.size(), header.count.load(std::memory_order_relaxed));
  for (size_t i = 0; i < count; ++i) {
    load_numbers_of(file_)[i].store(std::bit_cast<uint32_t>(numbers[i]), std::memory_order_release);
  }
  header.version.store(version + 2, std::memory_order_release);
}

std::optional<RankExpertLoad> ExpertLoadReader::take() {
  if (!file_) {
    file_ = MappedFile::open_where_there(path_, MappedFile::Access::read);
    if (!file_) return std::nullopt;
    if (!is_load(*file_)) throw Failure(Error{"session_file", "is not the load of experts", in_file(path_), ""});
  }
  const LoadHeader& header = load_header_of(*file_);
  const uint64_t version = header.version.load(std::memory_order_acquire);
  if (version == taken_ || version % 2 != 0) return std::nullopt;
  RankExpertLoad load{static_cast<int64_t>(header.step.load(std::memory_order_acquire)), {}};
  load.numbers.resize(header.count.load(std::memory_order_acquire));
  for (size_t i = 0; i < load.numbers.size(); ++i) {
    const uint64_t word = load_numbers_of(*file_)[i].load(std::memory_order_acquire);
    load.numbers[i] = std::bit_cast<float>(static_cast<uint32_t>(word));
  }
  if (header.version.load(std::memory_order_acquire) != version) return std::nullopt;
  taken_ = version;
  return load;
}

}  // namespace shardscope
