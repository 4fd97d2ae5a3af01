#include "engine/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/path.h"
#include "engine/checkpoint/checkpoint_removal.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

// A file gets to the disk in such pieces: each is written in a time for which one may wait.
constexpr int64_t synced_bytes = int64_t{64} << 20;

// The folder and those above it, synced into what holds them.
void make_folders(const FileCalls& calls, const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return;
  const fs::path parent = fs::absolute(path).parent_path();
  make_folders(calls, parent);
  const HeldFolder above(parent.string(), unwritable_checkpoint);
  calls.make_folder(above, path.filename().string());
  calls.sync_folder(above);
}

bool is_name_of_checkpoint(const std::string& name) { return step_of_checkpoint(name) || step_of_leftover(name); }

// A folder of checkpoints in a checkpoint would be removed with that.
void require_no_checkpoint(const std::string& path) {
  std::error_code error;
  for (const fs::path& whole : {fs::absolute(path).lexically_normal(), fs::weakly_canonical(path, error)}) {
    for (fs::path at = whole; at.has_relative_path(); at = at.parent_path()) {
      const bool is_one = is_name_of_checkpoint(at.filename().string()) || has_checkpoint_index(at.string());
      if (!is_one) continue;
      throw Failure(Error{"bad_checkpoint_folder",
                          at == whole ? "this names a checkpoint, not a folder for checkpoints"
                                      : fmt::format("this is inside a checkpoint, {}", at.string()),
                          in_file(path),
                          fmt::format("the folder of checkpoints itself is {}; --resume names one of them",
                                      at.parent_path().string())});
    }
  }
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string path, const FileCalls& calls, Report report,
                                   std::chrono::milliseconds patience)
    : calls_(calls), report_(std::move(report)) {
  path = without_slashes(std::move(path));
  require_no_checkpoint(path);
  make_folders(calls_, path);
  if (::access(path.c_str(), W_OK) != 0) {
    throw Failure(Error{"unwritable_checkpoint", fmt::format("cannot write: {}", std::strerror(errno)), in_file(path),
                        "name a folder that can be written to"});
  }
  held_.emplace(path, unwritable_checkpoint);
  lock(patience);
}

// A file system without such locks has none to wait for.
void CheckpointFolder::lock(std::chrono::milliseconds patience) const {
  constexpr std::chrono::milliseconds pause{50};
  const auto end = std::chrono::steady_clock::now() + patience;
  bool is_reported = false;
  while (::flock(held_->descriptor(), LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
    if (std::chrono::steady_clock::now() >= end) {
      throw Failure(Error{"checkpoint_in_use",
                          fmt::format("another run writes its checkpoints here, and has not ended within {:.3g} s",
                                      std::chrono::duration<double>(patience).count()),
                          in_file(held_->path()), "another folder, or wait for its end"});
    }
    if (report_ && !std::exchange(is_reported, true)) {
      report_(fmt::format("{}: another run writes its checkpoints here; waiting up to {:.3g} s for its end",
                          held_->path(), std::chrono::duration<double>(patience).count()));
    }
    std::this_thread::sleep_for(pause);
  }
  require_in_place(*held_);
}

std::vector<int64_t> CheckpointFolder::newer_than(std::optional<int64_t> step) const {
  std::vector<int64_t> steps;
  for (const std::string& name : held_->names()) {
    const std::optional<int64_t> found = step_of_checkpoint(name);
    if (found && (!step || *found > *step)) steps.push_back(*found);
  }
  std::ranges::sort(steps);
  return steps;
}

void CheckpointFolder::require_free_after(std::optional<int64_t> step, const std::vector<int64_t>& damaged) const {
  for (int64_t found : newer_than(step)) {
    if (!step) {
      throw Failure(Error{"checkpoint_exists", "there are checkpoints of another run here", in_file(held_->path()),
                          fmt::format("--resume {} goes on from them; else name another folder", held_->path())});
    }
    if (std::ranges::find(damaged, found) != damaged.end()) continue;
    throw Failure(Error{"checkpoint_exists",
                        fmt::format("it is newer than step {}, from which this run would go on", *step),
                        in_file(held_->path_of(step_folder_name(found))),
                        "resume from it, or write to another folder with --checkpoint"});
  }
}

void CheckpointFolder::continue_from(std::optional<int64_t> step, const std::vector<int64_t>& damaged) {
  require_free_after(step, damaged);
  sweep();
  for (int64_t found : newer_than(step)) {
    calls_.rename(*held_, step_folder_name(found), free_name(damaged_name(found)));
  }
}

std::string CheckpointFolder::free_name(const std::string& name) const {
  std::string free = name;
  for (int number = 2; held_->status(free); ++number) free = fmt::format("{}_{}", name, number);
  return free;
}

void CheckpointFolder::require_files(const CheckpointIndex& index, const HeldFolder& part) const {
  for (const CheckpointFile& file : index.files) {
    const std::optional<struct stat> status = part.status(file.name);
    if (status && S_ISREG(status->st_mode) && status->st_size == file.bytes) continue;
    throw Failure(Error{"unwritable_checkpoint", fmt::format("what rank {} has written is not here", file.rank),
                        in_file(part.path_of(file.name)), "name a folder that all hosts share"});
  }
}

void CheckpointFolder::complete(const CheckpointIndex& index, int keep) {
  {
    const HeldFolder part = calls_.open_folder(*held_, part_name(index.step));
    require_files(index, part);
    const std::string text = write_checkpoint_index(index);
    NewFile file(calls_, part, index_file_name);
    file.write(0, std::as_bytes(std::span(text)));
    file.finish();
    calls_.sync_folder(part);
  }
  require_in_place(*held_);
  calls_.rename(*held_, part_name(index.step), step_folder_name(index.step));
  calls_.sync_folder(*held_);
  rotate(keep);
}

bool CheckpointFolder::holds(int64_t step) const { return held_->status(step_folder_name(step)).has_value(); }

void CheckpointFolder::abandon(int64_t step) { remove(part_name(step), step); }

// Links to checkpoints elsewhere are the user's, and count for nothing.
void CheckpointFolder::rotate(int keep) {
  std::vector<int64_t> steps = newer_than(std::nullopt);
  std::erase_if(steps, [this](int64_t step) {
    const std::optional<struct stat> status = held_->status(step_folder_name(step));
    return !status || !S_ISDIR(status->st_mode);
  });
  for (size_t i = 0; i + static_cast<size_t>(keep) < steps.size(); ++i) {
    const std::string name = step_folder_name(steps[i]);
    try {
      calls_.rename(*held_, name, free_name(gone_name(steps[i])));
    } catch (const Failure& failure) {
      report_once(name, failure.what());
    }
  }
  sweep();
}

void CheckpointFolder::sweep() {
  for (const std::string& name : held_->names()) {
    if (const std::optional<int64_t> step = step_of_leftover(name)) remove(name, *step);
  }
}

void CheckpointFolder::remove(const std::string& name, int64_t step) {
  try {
    const Remains remains = remove_checkpoint(calls_, *held_, name);
    if (remains.is_gone) return;
    if (remains.others.empty()) return report_once(name, held_->path_of(name) + ": a process has a file in it open");
    const std::string left = free_name(left_name(step));
    calls_.rename(*held_, name, left);
    if (!report_) return;
    report_(fmt::format("warning: {}: kept, since this program did not write it: {}", held_->path_of(left),
                        fmt::join(remains.others, ", ")));
  } catch (const Failure& failure) {
    report_once(name, failure.what());
  }
}

void CheckpointFolder::report_once(const std::string& name, const std::string& what) {
  if (!report_ || !reported_.insert(name).second) return;
  report_(fmt::format("warning: {}; not removed yet: it is tried again with the next checkpoint", what));
}

std::vector<uint64_t> write_checkpoint_file(const FileCalls& calls, const HeldFolder& folder, int64_t step,
                                            const std::string& name, std::span<const std::byte> image,
                                            const std::stop_token& stop) {
  require_in_place(folder);
  calls.make_folder(folder, part_name(step));
  const HeldFolder part = calls.open_folder(folder, part_name(step));
  NewFile file(calls, part, name);
  std::vector<uint64_t> hashes;
  for (int64_t offset = 0; !image.empty(); offset += checkpoint_block_bytes) {
    if (stop.stop_requested()) return {};
    const auto block = image.first(std::min(image.size(), static_cast<size_t>(checkpoint_block_bytes)));
    hashes.push_back(hash_bytes(block));
    file.write(offset, block);
    if ((offset + checkpoint_block_bytes) % synced_bytes == 0) file.sync();
    image = image.subspan(block.size());
  }
  file.finish();
  return hashes;
}

}  // namespace shardscope
