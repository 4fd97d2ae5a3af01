#include "engine/comm/mapping.h"

#include <sys/mman.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.h"

namespace shardscope {

namespace {

std::byte* map(int descriptor, int64_t bytes, int protection, int flags, const std::string& name) {
  void* pages = mmap(nullptr, static_cast<size_t>(std::max<int64_t>(bytes, 1)), protection, flags, descriptor, 0);
  if (pages == MAP_FAILED) {
    throw Failure(Error{"comm_memory",
                        "cannot map " + std::to_string(bytes >> 20) + " MiB: " + std::strerror(errno),
                        in_file(name),
                        {}});
  }
  return static_cast<std::byte*>(pages);
}

}  // namespace

Mapping::~Mapping() {
  if (data_) munmap(data_, static_cast<size_t>(std::max<int64_t>(bytes_, 1)));
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping Mapping::anonymous(int64_t bytes) {
  Mapping mapping;
  mapping.data_ =
      map(-1, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, "anonymous memory");
  mapping.bytes_ = bytes;
  return mapping;
}

Mapping Mapping::inherited(int64_t bytes) {
  Mapping mapping;
  mapping.data_ =
      map(-1, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, "inherited memory");
  mapping.bytes_ = bytes;
  return mapping;
}

Mapping Mapping::shared(int descriptor, int64_t bytes, bool writable, const std::string& name) {
  Mapping mapping;
  int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  mapping.data_ = map(descriptor, bytes, protection, MAP_SHARED | MAP_NORESERVE, name);
  mapping.bytes_ = bytes;
  return mapping;
}

}  // namespace shardscope
