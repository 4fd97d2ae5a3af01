#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/process.h"
#include "engine/session/mapped_file.h"
#include "engine/session/rank_entry.h"

namespace shardscope {

// The file DIR/ranks: a line for each rank, all of its bytes reserved by the launcher before any rank is started, so
// that a rank can always say where it is and why it fails: without memory, disk, telemetry or MPI.
class StatusPage {
 public:
  // By the process that starts the ranks. Throws Failure (session_file).
  static StatusPage create(const std::string& session_directory, int ranks);
  // By a rank. Nothing where there is no such file (nobody watches), or no descriptor
  // is free at this moment. Throws Failure (session_file).
  static std::optional<StatusPage> open(const std::string& session_directory);

  ProcessId launcher() const noexcept;
  int ranks() const noexcept;
  RankEntry read(int rank) const;
  void clear() noexcept;  // before ranks are started again

  // Of a rank, about itself; `rank` is in [0, ranks()), or these are without effect.
  void sign(int rank, const ProcessId& process) noexcept;
  void enter(int rank, RankPhase phase) noexcept;
  // With the first 1000 bytes of the text. Only the first call counts. From any thread.
  void fail(int rank, std::string_view text, bool by_peer) noexcept;

 private:
  explicit StatusPage(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
};

}  // namespace shardscope
