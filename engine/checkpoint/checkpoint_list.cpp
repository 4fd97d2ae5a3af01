#include "engine/checkpoint/checkpoint_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/base/path.h"
#include "engine/checkpoint/checkpoint_names.h"
#include "engine/checkpoint/checkpoint_reader.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  if (error && error != std::errc::no_such_file_or_directory) {
    throw Failure(Error{"unreadable_checkpoint", "cannot read: " + error.message(), in_file(folder), ""});
  }
  return names;
}

}  // namespace

bool is_checkpoint(const std::string& path) {
  std::error_code error;
  return step_of_checkpoint(fs::path(without_slashes(path)).filename().string()) ||
         fs::exists(path + "/" + index_file_name, error);
}

bool has_checkpoint_index(const std::string& folder) {
  try {
    const std::optional<InputFile> index = InputFile::find(folder + "/" + index_file_name);
    std::string head(checkpoint_index_begin.size(), '\0');
    if (!index || index->bytes() < std::ssize(head)) return false;
    index->read(0, std::as_writable_bytes(std::span(head)));
    return head == checkpoint_index_begin;
  } catch (const Failure&) {
    return false;
  }
}

bool is_removed(const std::string& checkpoint) {
  std::error_code error;
  return fs::symlink_status(checkpoint, error).type() == fs::file_type::not_found;
}

std::string folder_of(const std::string& checkpoint) {
  return fs::absolute(without_slashes(checkpoint)).lexically_normal().parent_path().string();
}

std::vector<FoundCheckpoint> list_checkpoints(const std::string& folder) {
  std::vector<FoundCheckpoint> found;
  for (const std::string& name : names_in(folder)) {
    if (const std::optional<int64_t> step = step_of_checkpoint(name)) found.push_back({*step, folder + "/" + name});
  }
  std::ranges::sort(found, {}, &FoundCheckpoint::step);
  return found;
}

std::optional<FoundCheckpoint> newest_good_checkpoint(const std::string& folder) {
  std::vector<FoundCheckpoint> found = list_checkpoints(folder);
  for (; !found.empty(); found.pop_back()) {
    try {
      CheckpointReader(found.back().path).verify();
      return found.back();
    } catch (const Failure&) {
      continue;
    }
  }
  return std::nullopt;
}

std::string hint_for_damaged(const std::string& checkpoint) {
  const std::optional<FoundCheckpoint> good = newest_good_checkpoint(folder_of(checkpoint));
  return good ? fmt::format("resume from {}, the newest whole one", good->path)
              : "there is no whole checkpoint beside it";
}

}  // namespace shardscope
