#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/data_identity.h"

namespace shardscope {

// An identity of data as it stands in the index of a checkpoint, and as the launcher of a run leaves it to the ranks:
// {"kind": "text", "parts": [{"option": "path", "files": [{"name": "a.txt", "bytes": 1200, "xxh3": "0f3c..."}]}]}.
nlohmann::ordered_json to_json(const DataIdentity& identity);
// Throws nlohmann::json::exception or std::invalid_argument.
DataIdentity data_identity_of(const nlohmann::ordered_json& json);

std::string write_data_identity(const DataIdentity& identity);
// Throws Failure (data_identity at `path`) where the text is not one that was written so.
DataIdentity parse_data_identity(std::string_view text, const std::string& path);
// Of a file; nothing where there is none.
std::optional<DataIdentity> read_data_identity(const std::string& path);

// The 16 digits that stand for a hash. Throws std::invalid_argument.
std::string hash_text(uint64_t hash);
uint64_t stored_hash(const std::string& text);

}  // namespace shardscope
