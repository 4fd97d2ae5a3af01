#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace shardscope {

// Pages of memory, all zero until touched, given back by the destructor. Nothing is reserved: a page costs memory from
// its first write on.
class Mapping {
 public:
  Mapping() = default;
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  // Memory of this process alone. Throws Failure comm_memory.
  static Mapping anonymous(int64_t bytes);
  // Memory of this process and of those that it forks, which all see the same. Throws Failure comm_memory.
  static Mapping inherited(int64_t bytes);
  // Pages of an open shared-memory object, of which `bytes` exist. Throws Failure comm_memory naming `name`.
  static Mapping shared(int descriptor, int64_t bytes, bool writable, const std::string& name);

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace shardscope
