#include "engine/comm/shared_objects.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "engine/base/control_group.h"
#include "engine/base/plural.h"
#include "engine/base/units.h"

namespace shardscope {

namespace {

struct Announcement {
  int64_t bytes = 0;
  int64_t used_bytes = 0;
  int64_t host_bytes = 0;
  int32_t pid = 0;
  int32_t descriptor = -1;
};

template <class T>
std::vector<T> gather(Communicator& bootstrap, const T& own) {
  std::vector<T> all(static_cast<size_t>(bootstrap.size()));
  CollectivePart part{&own, all.data(), {static_cast<int64_t>(sizeof(T)) / 4}, DType::i32, -1, 0};
  bootstrap.all_gather({&part, 1});
  return all;
}

[[noreturn]] void fail(Communicator& bootstrap, std::string message, std::string hint = {}) {
  throw Failure(Error{"comm_memory", std::move(message), on_rank(bootstrap.rank()), std::move(hint)});
}

// Throws on every rank when one of them brings a failure: what it brings there, and on the others that a peer failed.
void agree(Communicator& bootstrap, const std::optional<Failure>& failure, const std::string& purpose) {
  std::vector<int32_t> failed = gather(bootstrap, int32_t{failure.has_value()});
  if (failure) throw Failure(*failure);
  for (size_t rank = 0; rank < failed.size(); ++rank) {
    if (!failed[rank]) continue;
    throw Failure(Error{
        "comm_aborted", fmt::format("rank {} could not share its {}", rank, purpose), on_rank(bootstrap.rank()), {}});
  }
}

template <class Function>
std::optional<Failure> failure_of(const Function& function) {
  try {
    function();
    return std::nullopt;
  } catch (const Failure& failure) {
    return failure;
  }
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

// Memory that this process may use, and swap space of this host.
int64_t host_bytes() {
  struct sysinfo host {};
  const int64_t usable = usable_memory_bytes();
  if (usable == 0 || sysinfo(&host) != 0) return INT64_MAX;
  return usable + static_cast<int64_t>(host.totalswap) * host.mem_unit;
}

void check_space(Communicator& bootstrap, const std::vector<Announcement>& all, const std::string& purpose) {
  int64_t needed = 0;
  for (const Announcement& one : all) needed += one.used_bytes;
  if (needed <= all[0].host_bytes) return;
  fail(bootstrap,
       fmt::format("the {} of {} {} {}, this host has {} of memory and swap space", plural(std::ssize(all), purpose),
                   counted(std::ssize(all), "rank"), plural(std::ssize(all), "needs", "need"),
                   bytes_text(double(needed)), bytes_text(double(all[0].host_bytes))),
       "split more, or use a smaller batch");
}

Descriptor make_object(Communicator& bootstrap, const SharedObjectRequest& request) {
  const auto cannot = [&](int error) {
    fail(bootstrap, fmt::format("cannot make a shared {} of {}: {}", request.purpose, bytes_text(double(request.bytes)),
                                std::strerror(error)));
  };
  // Above it the kernel would not only refuse but end this process.
  rlimit largest{};
  if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur < static_cast<rlim_t>(request.bytes)) cannot(EFBIG);
  Descriptor object(memfd_create(("shardscope." + request.purpose).c_str(), MFD_CLOEXEC));
  if (object.get() < 0 || ftruncate(object.get(), request.bytes) != 0) cannot(errno);
  if (request.used_bytes == 0) return object;
  if (const int error = posix_fallocate(object.get(), 0, request.used_bytes)) cannot(error);
  return object;
}

Descriptor open_object(Communicator& bootstrap, const Announcement& announced, size_t rank, bool writable) {
  const std::string path = fmt::format("/proc/{}/fd/{}", announced.pid, announced.descriptor);
  Descriptor object(open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC));
  if (object.get() < 0) {
    fail(bootstrap, fmt::format("cannot open the shared memory of rank {} ({}): {}", rank, path, std::strerror(errno)),
         "all ranks of a host run as one user, with a /proc that shows them");
  }
  return object;
}

}  // namespace

std::vector<Mapping> share_objects(Communicator& bootstrap, const SharedObjectRequest& request) {
  const std::string name = "shared " + request.purpose;
  const auto own = static_cast<size_t>(bootstrap.rank());
  Announcement announcement{request.bytes, request.used_bytes, host_bytes(), getpid(), -1};
  check_space(bootstrap, gather(bootstrap, announcement), request.purpose);

  Descriptor object;
  std::vector<Mapping> mappings(static_cast<size_t>(bootstrap.size()));
  const std::optional<Failure> failure = failure_of([&] {
    if (request.bytes == 0) return;
    object = make_object(bootstrap, request);
    mappings[own] = Mapping::shared(object.get(), request.bytes, true, name);
  });
  agree(bootstrap, failure, request.purpose);
  announcement.descriptor = object.get();
  const std::vector<Announcement> all = gather(bootstrap, announcement);
  const std::optional<Failure> unopened = failure_of([&] {
    for (size_t rank = 0; rank < all.size(); ++rank) {
      if (rank == own || all[rank].bytes == 0) continue;
      const Descriptor other = open_object(bootstrap, all[rank], rank, request.peers_write);
      mappings[rank] = Mapping::shared(other.get(), all[rank].bytes, request.peers_write, name);
    }
  });
  agree(bootstrap, unopened, request.purpose);  // and none closes its own before all have opened it
  return mappings;
}

}  // namespace shardscope
