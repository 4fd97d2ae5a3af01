#include "engine/comm/shared_objects.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>

#include <fmt/format.h>

namespace shardscope {

namespace {

constexpr const char* mount_point = "/dev/shm";

struct Announcement {
  int64_t bytes = 0;
  int64_t used_bytes = 0;
  int64_t free_bytes = 0;
  uint64_t nonce = 0;
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

// Throws on every rank when one of them brings a failure.
void agree(Communicator& bootstrap, const std::optional<Failure>& failure, const std::string& purpose) {
  std::vector<int32_t> failed = gather(bootstrap, int32_t{failure.has_value()});
  if (failure) throw Failure(*failure);
  for (size_t rank = 0; rank < failed.size(); ++rank) {
    if (failed[rank]) fail(bootstrap, fmt::format("rank {} could not share its {}", rank, purpose));
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
  Descriptor(Communicator& bootstrap, const std::string& name, int flags)
      : descriptor_(shm_open(name.c_str(), flags | O_CLOEXEC, 0600)) {
    if (descriptor_ < 0) {
      fail(bootstrap, fmt::format("cannot open the shared memory object {}: {}", name, std::strerror(errno)));
    }
  }
  ~Descriptor() { close(descriptor_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// The name of this rank's object, while it has one.
struct Name {
  std::string text;
  ~Name() {
    if (!text.empty()) shm_unlink(text.c_str());
  }
};

void check_space(Communicator& bootstrap, const std::vector<Announcement>& all, const std::string& purpose) {
  int64_t needed = 0;
  for (const Announcement& one : all) needed += one.used_bytes;
  int64_t free = all[0].free_bytes;
  if (needed <= free) return;
  constexpr int64_t mebibyte = 1 << 20;
  fail(bootstrap,
       fmt::format("the {}s of {} ranks need {} MiB of shared memory, {} has {} MiB free", purpose, all.size(),
                   (needed + mebibyte - 1) / mebibyte, mount_point, free / mebibyte),
       fmt::format("make it larger (mount -o remount,size=... {}, or a container's --shm-size), or use a smaller batch",
                   mount_point));
}

Announcement announce(const SharedObjectRequest& request) {
  Announcement own{request.bytes, request.used_bytes, 0, 0};
  struct statvfs space {};
  if (statvfs(mount_point, &space) == 0) {
    own.free_bytes = static_cast<int64_t>(space.f_bavail) * static_cast<int64_t>(space.f_frsize);
  }
  std::random_device random;
  own.nonce = uint64_t{random()} << 32 | random();
  return own;
}

}  // namespace

std::vector<Mapping> share_objects(Communicator& bootstrap, const SharedObjectRequest& request) {
  std::vector<Announcement> all = gather(bootstrap, announce(request));
  check_space(bootstrap, all, request.purpose);
  auto name_of = [&](size_t rank) {
    return fmt::format("/shardscope.{:016x}.{}.{}", all[0].nonce, request.purpose, rank);
  };
  auto own = static_cast<size_t>(bootstrap.rank());

  Name name;
  std::vector<Mapping> mappings(all.size());
  agree(bootstrap, failure_of([&] {
          if (request.bytes == 0) return;
          Descriptor object(bootstrap, name_of(own), O_RDWR | O_CREAT | O_EXCL);
          name.text = name_of(own);
          if (ftruncate(object.get(), request.bytes) != 0) {
            fail(bootstrap, fmt::format("cannot make a shared {} of {} bytes: {}", request.purpose, request.bytes,
                                        std::strerror(errno)));
          }
          mappings[own] = Mapping::shared(object.get(), request.bytes, true, name.text);
        }),
        request.purpose);
  agree(bootstrap, failure_of([&] {
          for (size_t rank = 0; rank < all.size(); ++rank) {
            if (rank == own || all[rank].bytes == 0) continue;
            Descriptor object(bootstrap, name_of(rank), request.peers_write ? O_RDWR : O_RDONLY);
            mappings[rank] = Mapping::shared(object.get(), all[rank].bytes, request.peers_write, name_of(rank));
          }
        }),
        request.purpose);
  return mappings;
}

}  // namespace shardscope
