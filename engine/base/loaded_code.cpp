#include "engine/base/loaded_code.h"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "engine/base/hash.h"

namespace shardscope {
namespace {

constexpr std::string_view separator = ", ";

// The stamp in a segment of notes: each has the sizes of its name and of its content, a type, and both, padded to 4.
std::string build_id(const char* notes, size_t bytes) {
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const size_t name = at + sizeof note, content = name + ((note.n_namesz + 3) & ~3u);
    if (content + note.n_descsz > bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(notes + name, note.n_namesz) == std::string_view("GNU", 4)) {
      std::string text;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(notes[content + i]));
      }
      return text;
    }
    at = content + ((note.n_descsz + 3) & ~3u);
  }
  return {};
}

std::string build_id(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(object.dlpi_addr + segment.p_vaddr);
    if (std::string id = build_id(notes, segment.p_memsz); !id.empty()) return id;
  }
  return {};
}

std::string hash_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return fmt::format("{:016x}", hash_bytes(std::string(std::istreambuf_iterator<char>(file), {})));
}

int add_object(dl_phdr_info* object, size_t, void* list) {
  const std::string path = object->dlpi_name;
  const std::string name = path.empty() ? "program" : path.substr(path.rfind('/') + 1);
  const bool counts = path.empty() || name.starts_with("libdnnl.") || name.starts_with("libgomp.") ||
                      name.starts_with("libm.") || name.starts_with("libmvec.");
  if (!counts) return 0;
  std::string id = build_id(*object);
  if (id.empty()) id = hash_of_file(path.empty() ? "/proc/self/exe" : path);
  static_cast<std::vector<std::string>*>(list)->push_back(name + " " + id);
  return 0;
}

std::vector<std::string> objects_of(std::string_view code) {
  std::vector<std::string> objects;
  while (!code.empty()) {
    const size_t end = std::min(code.find(separator), code.size());
    objects.emplace_back(code.substr(0, end));
    code.remove_prefix(std::min(end + separator.size(), code.size()));
  }
  return objects;
}

}  // namespace

std::string loaded_code() {
  std::vector<std::string> objects;
  dl_iterate_phdr(add_object, &objects);
  std::sort(objects.begin(), objects.end());
  return fmt::format("{}", fmt::join(objects, separator));
}

std::string code_not_in(const std::string& code, const std::string& other) {
  std::vector<std::string> missing = objects_of(code);
  const std::vector<std::string> known = objects_of(other);
  std::erase_if(missing, [&](const std::string& object) { return std::ranges::count(known, object) > 0; });
  return fmt::format("{}", fmt::join(missing, separator));
}

}  // namespace shardscope
