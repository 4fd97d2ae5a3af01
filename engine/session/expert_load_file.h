#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/session/mapped_file.h"

namespace shardscope {

// The expert load of the newest step (engine/plan/expert_load.h), as one rank leaves it for the launcher.
struct RankExpertLoad {
  int64_t step = 0;
  std::vector<float> numbers;
  bool operator==(const RankExpertLoad&) const = default;
};

std::string expert_load_path(const std::string& session_directory, int rank);

// Stores to a shared mapping: no lock, no allocation, no system call.
class ExpertLoadWriter {
 public:
  // Throws Failure (session_file). A reader finds either no file or a complete one.
  ExpertLoadWriter(const std::string& path, size_t numbers);
  void put(int64_t step, std::span<const float> numbers) noexcept;  // as many

 private:
  MappedFile file_;
};

// The view of another process. Safe at any moment of the writer's work and after its death.
class ExpertLoadReader {
 public:
  explicit ExpertLoadReader(std::string path) : path_(std::move(path)) {}
  // Where it is of a newer step than at the last call and not just being replaced. Throws Failure (session_file) when
  // the file is of something else.
  std::optional<RankExpertLoad> take();

 private:
  std::string path_;
  std::optional<MappedFile> file_;
  uint64_t taken_ = 0;
};

}  // namespace shardscope
