#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/data_identity.h"
#include "engine/base/error.h"

namespace shardscope {

// A row of tokens that is read in parts.
class TokenStore {
 public:
  virtual ~TokenStore() = default;
  virtual int64_t size() const = 0;
  // Before the reads of a step.
  virtual void begin_step() const {}
  // Tokens first, first + 1, ..., all of which are there.
  virtual void read(int64_t first, std::span<int64_t> out) const = 0;
  // For a person: "token 17 (byte 34) of '/data/train.bin'".
  virtual std::string place_of(int64_t token) const = 0;
};

// Files of tokens, unsigned numbers of `width` bytes each, little-endian: one file, or all files of a folder and the
// folders in it, in the order of their paths, but for those whose names begin with a dot.
struct TokenFiles {
  struct File {
    std::string path;
    std::string name;  // below the folder, or its own
    int64_t tokens = 0;
  };
  std::vector<File> files;
  int width = 1;
  int64_t tokens = 0;
  // Their sizes alone are looked at. Faults, at `where`: missing_file, unreadable_file, file_size (no whole number of
  // tokens).
  std::vector<Error> errors;
};
TokenFiles find_token_files(const std::string& path, int width, const std::string& where);

// What they hold at this moment. Throws Failure: their errors, unreadable_file.
std::vector<FileIdentity> identify(const TokenFiles& files);

// What is never read is never loaded. Throws Failure, as do its reads: unreadable_file, changed_data (see
// engine/data/data_files.h).
std::unique_ptr<TokenStore> open_token_files(const TokenFiles& files);

}  // namespace shardscope
