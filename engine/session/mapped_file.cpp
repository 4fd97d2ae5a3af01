#include "engine/session/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.h"

namespace shardscope {

namespace {

[[noreturn]] void fail_file(const std::string& path, const std::string& action, int error_number) {
  throw Failure(Error{"session_file", "cannot " + action + ": " + std::strerror(error_number), in_file(path), ""});
}

void* map(int descriptor, size_t bytes, int protection, const std::string& path) {
  void* data = ::mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0);
  int error_number = errno;
  ::close(descriptor);
  if (data == MAP_FAILED) fail_file(path, "map", error_number);
  return data;
}

}  // namespace

MappedFile MappedFile::create(const std::string& path, size_t bytes) {
  int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) fail_file(path, "create", errno);
  if (int error_number = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes))) {
    ::close(descriptor);
    fail_file(path, "reserve space for", error_number);
  }
  return {map(descriptor, bytes, PROT_READ | PROT_WRITE, path), bytes};
}

MappedFile MappedFile::open(const std::string& path, Access access) {
  std::optional<MappedFile> file = open_where_there(path, access);
  if (!file) fail_file(path, "open", errno);
  return std::move(*file);
}

std::optional<MappedFile> MappedFile::open_where_there(const std::string& path, Access access) {
  bool writable = access == Access::read_write;
  int descriptor = ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (descriptor < 0 && (errno == ENOENT || errno == EMFILE || errno == ENFILE)) return std::nullopt;
  if (descriptor < 0) fail_file(path, "open", errno);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || status.st_size <= 0) {
    ::close(descriptor);
    fail_file(path, "map an empty file", EINVAL);
  }
  auto bytes = static_cast<size_t>(status.st_size);
  return MappedFile(map(descriptor, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, path), bytes);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

}  // namespace shardscope
