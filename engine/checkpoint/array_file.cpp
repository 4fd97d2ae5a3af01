#include "engine/checkpoint/array_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/mesh/box_runs.h"

namespace shardscope {

namespace {

[[noreturn]] void fail(const std::string& path) {
  throw Failure(Error{"unwritable_file", fmt::format("cannot write: {}", std::strerror(errno)), in_file(path), ""});
}

// Never waits for the reader of a FIFO that stands in the file's place.
int open_to_write(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat status {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) fail(path);
  if (S_ISREG(status.st_mode)) return descriptor;
  ::close(descriptor);
  throw Failure(Error{"unwritable_file", "this is no regular file", in_file(path), "the name of a new file"});
}

}  // namespace

ArrayFile::ArrayFile(std::string path, SafetensorsLayout layout)
    : path_(std::move(path)), layout_(std::move(layout)), descriptor_(open_to_write(path_)) {}

ArrayFile::~ArrayFile() { ::close(descriptor_); }

void ArrayFile::write(size_t array, const Box& box, std::span<const std::byte> elements) const {
  const TensorType& type = layout_.arrays().at(array).type;
  const int64_t element = byte_size(type.dtype);
  const BoxRuns runs(type.shape, box);
  const auto run_bytes = static_cast<size_t>(runs.run_length() * element);
  runs.for_each([&](int64_t to, int64_t from) {
    put(layout_.offset(array) + to * element, elements.subspan(static_cast<size_t>(from * element), run_bytes));
  });
}

void ArrayFile::write_header() const { put(0, std::as_bytes(std::span(layout_.header()))); }

void ArrayFile::put(int64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
}

bool is_whole_array_file(const std::string& path) {
  try {
    uint64_t length = 0;
    InputFile(path).read(0, std::as_writable_bytes(std::span(&length, 1)));
    return length != 0;
  } catch (const Failure&) {
    return false;
  }
}

}  // namespace shardscope
