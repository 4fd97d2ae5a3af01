#include "engine/base/data_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "engine/base/hash.h"
#include "engine/base/plural.h"
#include "engine/base/printable.h"

namespace shardscope {

namespace {

constexpr size_t most_shown = 3;

bool have_same_content(const FileIdentity& a, const FileIdentity& b) { return a.bytes == b.bytes && a.hash == b.hash; }

void compare(const DataPart& before, const DataPart& now, std::vector<std::string>& found) {
  if (std::ranges::equal(before.files, now.files, have_same_content)) return;
  if (before.files.size() == 1 && now.files.size() == 1) {
    FileIdentity renamed = before.files.front();
    renamed.name = now.files.front().name;
    if (before.files.front().name != renamed.name) return compare({before.option, {renamed}}, now, found);
  }
  std::map<std::string, std::pair<const FileIdentity*, const FileIdentity*>> by_name;
  for (const FileIdentity& file : before.files) by_name[file.name].first = &file;
  for (const FileIdentity& file : now.files) by_name[file.name].second = &file;
  for (const auto& [name, files] : by_name) {
    const auto& [old, current] = files;
    if (!old) {
      found.push_back(fmt::format("data.{}: '{}' ({}) is new", now.option, name, counted(current->bytes, "byte")));
    } else if (!current) {
      found.push_back(fmt::format("data.{}: '{}' ({}) is gone", now.option, name, counted(old->bytes, "byte")));
    } else if (old->bytes != current->bytes) {
      found.push_back(fmt::format("data.{}: '{}' had {} and has {}", now.option, name, counted(old->bytes, "byte"),
                                  current->bytes));
    } else if (old->hash != current->hash) {
      found.push_back(fmt::format("data.{}: '{}' has other content, of {} as before", now.option, name,
                                  counted(current->bytes, "byte")));
    }
  }
}

}  // namespace

FileIdentity identify(const InputFile& file, const std::string& name) {
  const int64_t bytes = file.bytes();
  const bool whole = bytes <= identity_blocks * identity_block_bytes;
  Hasher hasher;
  std::vector<std::byte> block(static_cast<size_t>(identity_block_bytes));
  for (int64_t k = 0, begin = 0; k < identity_blocks && begin < bytes; ++k) {
    if (!whole) begin = k * (bytes - identity_block_bytes) / (identity_blocks - 1);
    const auto length = static_cast<size_t>(std::min(identity_block_bytes, bytes - begin));
    file.read(begin, std::span(block).first(length));
    hasher.add_bytes(std::span(block).first(length));
    if (whole) begin += identity_block_bytes;
  }
  return {printable(name), bytes, hasher.digest()};
}

int64_t DataIdentity::sampled_bytes() const {
  int64_t sum = 0;
  for (const DataPart& part : parts) {
    for (const FileIdentity& file : part.files) sum += std::min(file.bytes, identity_blocks * identity_block_bytes);
  }
  return sum;
}

std::vector<std::string> differences(const DataIdentity& before, const DataIdentity& now) {
  if (before.kind != now.kind) return {fmt::format("data.kind was '{}' and is '{}'", before.kind, now.kind)};
  std::vector<std::string> found;
  for (const DataPart& part : now.parts) {
    const auto same = std::ranges::find(before.parts, part.option, &DataPart::option);
    if (same != before.parts.end()) compare(*same, part, found);
  }
  return found;
}

std::string summary(const std::vector<std::string>& differences) {
  const size_t shown = std::min(differences.size(), most_shown);
  const std::string text = fmt::format("{}", fmt::join(differences.begin(), differences.begin() + shown, "; "));
  return differences.size() > shown ? fmt::format("{}; and {} more", text, differences.size() - shown) : text;
}

}  // namespace shardscope
