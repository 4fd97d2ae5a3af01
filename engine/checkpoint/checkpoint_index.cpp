#include "engine/checkpoint/checkpoint_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/checkpoint/box_cover.h"
#include "engine/checkpoint/stored_array.h"
#include "engine/checkpoint/stored_identity.h"

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 1;
constexpr int64_t most_file_bytes = int64_t{1} << 50;

std::string head(std::string_view body) {
  return fmt::format("{}{:016x}\", \"checkpoint\":\n", checkpoint_index_begin, hash_bytes(body));
}
constexpr std::string_view tail = "}\n";

Json numbers(const Shape& shape) { return std::vector<int64_t>(shape.begin(), shape.end()); }

DType dtype_of(const std::string& text) {
  for (DType dtype : {DType::f32, DType::bf16, DType::i32}) {
    if (name(dtype) == text) return dtype;
  }
  throw std::invalid_argument("unknown dtype " + text);
}

Json to_json(const CheckpointFile& file) {
  Json blocks = Json::array();
  for (uint64_t hash : file.blocks) blocks.push_back(hash_text(hash));
  return {{"name", file.name}, {"rank", file.rank}, {"bytes", file.bytes}, {"blocks", std::move(blocks)}};
}

Json to_json(const CheckpointState& state) {
  Json pieces = Json::array();
  for (const CheckpointPiece& piece : state.pieces) {
    pieces.push_back({{"file", piece.file},
                      {"offset", piece.offset},
                      {"start", numbers(piece.box.start)},
                      {"size", numbers(piece.box.size)}});
  }
  return {{"name", state.name},
          {"dtype", name(state.type.dtype)},
          {"shape", numbers(state.type.shape)},
          {"parameter", state.parameter},
          {"pieces", std::move(pieces)}};
}

CheckpointFile file_of(const Json& json) {
  CheckpointFile file{
      json.at("name"), static_cast<int>(stored_number(json.at("rank"))), stored_number(json.at("bytes")), {}};
  for (const std::string hash : json.at("blocks")) file.blocks.push_back(stored_hash(hash));
  return file;
}

CheckpointState state_of(const Json& json) {
  CheckpointState state{json.at("name"),
                        {stored_shape(json.at("shape")), dtype_of(json.at("dtype"))},
                        json.at("parameter").get<bool>(),
                        {}};
  for (const Json& piece : json.at("pieces")) {
    state.pieces.push_back({static_cast<int>(stored_number(piece.at("file"))),
                            stored_number(piece.at("offset")),
                            {stored_shape(piece.at("start")), stored_shape(piece.at("size"))}});
  }
  return state;
}

bool is_inside(const CheckpointPiece& piece, const CheckpointState& state, const CheckpointIndex& index) {
  if (piece.file < 0 || piece.file >= static_cast<int>(index.files.size()) || piece.offset < 0) return false;
  const TensorType part{piece.box.size, state.type.dtype};
  const std::optional<int64_t> bytes = stored_bytes(part);
  if (!bytes || *bytes > index.files[piece.file].bytes - piece.offset) return false;
  const Shape& shape = state.type.shape;
  if (piece.box.start.size() != shape.size() || piece.box.size.size() != shape.size()) return false;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (piece.box.start[dim] < 0 || piece.box.size[dim] < 0) return false;
    if (piece.box.start[dim] > shape[dim] - piece.box.size[dim]) return false;
  }
  return true;
}

// What a reader relies on.
bool is_sound(const CheckpointIndex& index) {
  const bool files = std::ranges::all_of(index.files, [](const CheckpointFile& file) {
    const auto blocks = static_cast<int64_t>(file.blocks.size());
    const bool is_name = !file.name.empty() && file.name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
    return is_name && file.bytes >= 0 && file.bytes <= most_file_bytes &&
           blocks == (file.bytes + checkpoint_block_bytes - 1) / checkpoint_block_bytes;
  });
  return files && index.by_name().size() == index.states.size() &&
         std::ranges::all_of(index.states, [&](const CheckpointState& state) {
           if (!stored_bytes(state.type)) return false;
           std::vector<const Box*> boxes;
           for (const CheckpointPiece& piece : state.pieces) {
             if (!is_inside(piece, state, index)) return false;
             boxes.push_back(&piece.box);
           }
           return covers_once(boxes, state.type.shape);
         });
}

}  // namespace

std::unordered_map<std::string_view, const CheckpointState*> CheckpointIndex::by_name() const {
  std::unordered_map<std::string_view, const CheckpointState*> states_by_name;
  for (const CheckpointState& state : states) states_by_name.emplace(state.name, &state);
  return states_by_name;
}

int64_t CheckpointIndex::bytes() const {
  int64_t sum = 0;
  for (const CheckpointFile& file : files) sum += file.bytes;
  return sum;
}

std::string write_checkpoint_index(const CheckpointIndex& index) {
  Json json{{"format", format_version}, {"model", index.model},       {"step", index.step},
            {"mesh", index.mesh},       {"run_file", index.run_file}, {"block_bytes", checkpoint_block_bytes}};
  if (!index.description.empty()) json["description"] = index.description;
  if (index.data) json["data"] = to_json(*index.data);
  for (const CheckpointFile& file : index.files) json["files"].push_back(to_json(file));
  for (const CheckpointState& state : index.states) json["states"].push_back(to_json(state));
  const std::string body = json.dump();
  return head(body) + body + std::string(tail);
}

CheckpointIndex parse_checkpoint_index(std::string_view text, const std::string& path) {
  const auto damaged = [&](const std::string& what) {
    return Failure(Error{"damaged_checkpoint", what, in_file(path), "resume from another checkpoint"});
  };
  const size_t head_bytes = head("").size();
  if (text.size() < head_bytes + tail.size()) throw damaged("the index is cut short");
  const std::string_view body = text.substr(head_bytes, text.size() - head_bytes - tail.size());
  if (!text.starts_with(head(body)) || !text.ends_with(tail)) {
    throw damaged("the index is not what was written: its hash differs");
  }
  try {
    const Json json = Json::parse(body);
    if (json.at("format") != format_version || json.at("block_bytes") != checkpoint_block_bytes) {
      throw damaged("the index is of another version of this program");
    }
    CheckpointIndex index{json.at("model"),
                          stored_number(json.at("step")),
                          json.at("mesh"),
                          json.at("run_file"),
                          json.value("description", ""),
                          {},
                          {},
                          {}};
    if (json.contains("data")) index.data = data_identity_of(json["data"]);
    for (const Json& file : json.at("files")) index.files.push_back(file_of(file));
    for (const Json& state : json.at("states")) index.states.push_back(state_of(state));
    if (!is_sound(index)) throw damaged("the index contradicts itself");
    return index;
  } catch (const nlohmann::json::exception& error) {
    throw damaged(fmt::format("this is no index: {}", error.what()));
  } catch (const std::invalid_argument& error) {
    throw damaged(fmt::format("this is no index: {}", error.what()));
  }
}

}  // namespace shardscope
