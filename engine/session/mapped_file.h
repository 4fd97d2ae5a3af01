#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace shardscope {

// A file mapped shared into memory, unmapped on destruction. Throws Failure (code session_file) that names the path.
class MappedFile {
 public:
  enum class Access { read, read_write };

  // A new file of `bytes` zeros; its disk space is reserved, so that writing to the map cannot fault later.
  static MappedFile create(const std::string& path, size_t bytes);
  static MappedFile open(const std::string& path, Access access);
  // Nothing where there is no such file yet, or no descriptor is free at this moment.
  static std::optional<MappedFile> open_where_there(const std::string& path, Access access);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}

  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace shardscope
