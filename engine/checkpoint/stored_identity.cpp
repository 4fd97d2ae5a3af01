#include "engine/checkpoint/stored_identity.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/checkpoint/stored_array.h"

namespace shardscope {

using Json = nlohmann::ordered_json;

namespace {

constexpr int64_t most_bytes = int64_t{1} << 30;

}  // namespace

std::string hash_text(uint64_t hash) { return fmt::format("{:016x}", hash); }

uint64_t stored_hash(const std::string& text) {
  uint64_t hash = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, hash, 16);
  if (error != std::errc{} || read != end || text.size() != 16) throw std::invalid_argument("a hash is none");
  return hash;
}

Json to_json(const DataIdentity& identity) {
  Json parts = Json::array();
  for (const DataPart& part : identity.parts) {
    Json files = Json::array();
    for (const FileIdentity& file : part.files) {
      files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3", hash_text(file.hash)}});
    }
    parts.push_back({{"option", part.option}, {"files", std::move(files)}});
  }
  return {{"kind", identity.kind}, {"parts", std::move(parts)}};
}

DataIdentity data_identity_of(const Json& json) {
  DataIdentity identity{json.at("kind"), {}};
  for (const Json& part : json.at("parts")) {
    DataPart& read = identity.parts.emplace_back(DataPart{part.at("option"), {}});
    for (const Json& file : part.at("files")) {
      read.files.push_back({file.at("name"), stored_number(file.at("bytes")), stored_hash(file.at("xxh3"))});
    }
  }
  return identity;
}

std::string write_data_identity(const DataIdentity& identity) { return to_json(identity).dump() + '\n'; }

std::optional<DataIdentity> read_data_identity(const std::string& path) {
  const std::optional<InputFile> file = InputFile::find(path);
  if (!file) return std::nullopt;
  return parse_data_identity(file->text(most_bytes), path);
}

DataIdentity parse_data_identity(std::string_view text, const std::string& path) {
  try {
    return data_identity_of(Json::parse(text));
  } catch (const std::exception& error) {
    throw Failure(Error{"data_identity", std::string("this is no identity of data: ") + error.what(), in_file(path),
                        "it is written anew by each run"});
  }
}

}  // namespace shardscope
