#pragma once

#include <QString>
#include <memory>
#include <string>

#include "engine/config/run_config.h"

namespace shardscope {

// How the run file on the disk stands to what was read or written there last: the same (also where it is only written
// otherwise), changed by somebody else, unreadable (changed into what is no run file, or must not be read), missing.
enum class FileState : uint8_t { same, changed, unreadable, missing };

// The run file as it is on the disk now.
struct StoredFile {
  FileState state = FileState::same;
  std::string text;       // where it could be read
  RunConfig config = {};  // where it is a run file; absolute paths
  QString fault = {};     // why it is none
  bool operator==(const StoredFile&) const = default;
};

// What was read or written last: the file's text and what it says.
struct KnownFile {
  std::string text;
  std::shared_ptr<const RunConfig> config;
};

// Compares what the files say, whatever their times are. Follows symbolic links; never waits at a pipe.
StoredFile look_at(const QString& path, const KnownFile& known);

}  // namespace shardscope
