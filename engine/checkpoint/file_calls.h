#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/held_folder.h"

namespace shardscope {

// The system calls by which checkpoints are written and removed: on names in folders that are held open. None follows a
// symbolic link. Each throws Failure (unwritable_checkpoint, with the path and the system's reason).
class FileCalls {
 public:
  // Asked before each call, by any thread, with the call's name ("write", "rename") and the path it works on: 0 lets it
  // be made, an errno is its failure. For tests of every fault that can be.
  using Before = std::function<int(std::string_view call, const std::string& path)>;

  explicit FileCalls(Before before = {}) : before_(std::move(before)) {}

  void make_folder(const HeldFolder& in, const std::string& name) const;  // one that is there stays
  HeldFolder open_folder(const HeldFolder& in, const std::string& name) const;
  int create(const HeldFolder& in, const std::string& name) const;  // a descriptor; a file that is there is replaced
  // Past the page cache where the file system can and the bytes begin and end at its blocks: copying them into it would
  // take the cores from training.
  void write(int descriptor, const std::string& path, int64_t offset, std::span<const std::byte> bytes) const;
  void sync(int descriptor, const std::string& path) const;
  void close(int descriptor, const std::string& path) const;
  void sync_folder(const HeldFolder& folder) const;
  void rename(const HeldFolder& in, const std::string& from, const std::string& to) const;
  // Of what is gone already, nothing.
  void unlink(const HeldFolder& in, const std::string& name) const;
  // False where something is in it.
  bool remove_empty_folder(const HeldFolder& in, const std::string& name) const;

 private:
  void ask(std::string_view call, const std::string& path) const;

  Before before_;
};

// A new file, of which nothing remains open.
class NewFile {
 public:
  NewFile(const FileCalls& calls, const HeldFolder& in, const std::string& name)
      : calls_(calls), path_(in.path_of(name)), descriptor_(calls.create(in, name)) {}
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(int64_t offset, std::span<const std::byte> bytes) const {
    calls_.write(descriptor_, path_, offset, bytes);
  }
  void sync() const { calls_.sync(descriptor_, path_); }
  // It is on the disk now.
  void finish();

 private:
  const FileCalls& calls_;
  std::string path_;
  int descriptor_;
};

}  // namespace shardscope
