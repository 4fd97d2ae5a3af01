#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace shardscope {

// A regular file that is open for reading. Opening it never waits: what a user named by mistake or what was put in its
// place (a FIFO without a writer, a device, a socket, a folder) is refused as what it is. Symbolic links are followed.
// A pipe that the caller of this program holds open for it (/dev/stdin, /dev/fd/63) is read by text() alone. "-" is
// standard input, whatever that is; a pipe or terminal is read once.
//
//   InputFile file("tokens.bin");
//   std::vector<std::byte> head(64);
//   file.read(0, head);
//
// All throw Failure with the given code ("unreadable_file" where none is given) at the path.
class InputFile {
 public:
  explicit InputFile(const std::string& path, const std::string& code = "unreadable_file");
  // The same; nothing where there is no such file, which the constructor throws for.
  static std::optional<InputFile> find(const std::string& path, const std::string& code = "unreadable_file");
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  int64_t bytes() const { return bytes_; }  // when it was opened
  // Throws for a pipe or terminal, of which read() takes nothing.
  void require_regular() const;
  // Bytes [offset, offset + out.size()), all of them: a file that has become shorter is an error.
  void read(int64_t offset, std::span<std::byte> out) const;
  // From its beginning to its end, as it is now; at most `limit` bytes. A pipe can be read once.
  std::string text(int64_t limit) const;

 private:
  InputFile() = default;

  std::string path_, code_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;
  bool is_pipe_ = false;
};

// The descriptor alone, which the caller closes.
int open_regular(const std::string& path, const std::string& code = "unreadable_file");
// A whole file, of at most `limit` bytes.
std::string read_text(const std::string& path, int64_t limit, const std::string& code = "unreadable_file");

}  // namespace shardscope
