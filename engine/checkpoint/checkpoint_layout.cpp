#include "engine/checkpoint/checkpoint_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/base/error.h"
#include "engine/checkpoint/checkpoint_names.h"
#include "engine/checkpoint/joined_dimension.h"

namespace shardscope {

CheckpointIndex lay_out_checkpoint(const std::vector<StoredState>& states, const Mesh& mesh) {
  CheckpointIndex index;
  std::vector<int> file_of(static_cast<size_t>(mesh.device_count()), -1);
  for (const StoredState& stored : states) {
    CheckpointState state{stored.name, stored.type, stored.parameter, {}};
    std::set<Shape> begun;
    std::vector<int> holders = stored.devices;
    if (holders.empty()) holders.resize(file_of.size()), std::iota(holders.begin(), holders.end(), 0);
    for (int rank : holders) {
      Box box = shard_box(stored.sharding, mesh, stored.type.shape, rank);
      if (!begun.insert(box.start).second) continue;
      int& file = file_of[rank];
      if (file < 0) {
        file = static_cast<int>(index.files.size());
        index.files.push_back({rank_file_name(rank), rank, 0, {}});
      }
      state.pieces.push_back({file, 0, std::move(box)});
    }
    index.states.push_back(std::move(state));
  }
  for (size_t file = 0; file < index.files.size(); ++file) {
    const SafetensorsLayout layout = file_layout(index, static_cast<int>(file));
    index.files[file].bytes = layout.bytes();
    size_t array = 0;
    for (const FilePiece& at : pieces_of(index, static_cast<int>(file))) {
      index.states[at.state].pieces[at.piece].offset = layout.offset(array++);
    }
  }
  return index;
}

std::vector<FilePiece> pieces_of(const CheckpointIndex& index, int file) {
  std::vector<FilePiece> pieces;
  for (size_t state = 0; state < index.states.size(); ++state) {
    for (size_t piece = 0; piece < index.states[state].pieces.size(); ++piece) {
      if (index.states[state].pieces[piece].file == file) {
        pieces.push_back({static_cast<int>(state), static_cast<int>(piece)});
      }
    }
  }
  return pieces;
}

SafetensorsLayout file_layout(const CheckpointIndex& index, int file) {
  std::vector<NamedArray> arrays;
  for (const FilePiece& at : pieces_of(index, file)) {
    const CheckpointState& state = index.states[at.state];
    arrays.push_back({state.name, {state.pieces[at.piece].box.size, state.type.dtype}});
  }
  return SafetensorsLayout(std::move(arrays));
}

std::vector<Error> differences(const CheckpointIndex& index, const std::string& path, const std::string& model,
                               const std::vector<StoredState>& states, bool all) {
  std::vector<Error> errors;
  const auto add = [&](std::string what) {
    errors.push_back(
        {"other_model", std::move(what), in_file(path),
         fmt::format("it is of model '{}' on {}: resume it with its own run file", index.model, index.mesh)});
  };
  if (index.model != model) {
    add(fmt::format("this is a checkpoint of model '{}', the run file has '{}'", index.model, model));
    return errors;
  }
  const auto by_name = index.by_name();
  std::set<std::string_view> wanted;
  for (const StoredState& state : states) {
    wanted.insert(state.name);
    const auto found = by_name.find(state.name);
    if (found == by_name.end()) {
      add(fmt::format("it holds no '{}'", state.name));
      continue;
    }
    const TensorType& held = found->second->type;
    if (!has_same_elements(held.shape, state.type.shape)) {
      add(fmt::format("'{}' is {} here, and {} in the run", state.name, to_string(held.shape),
                      to_string(state.type.shape)));
    } else if (held.dtype != state.type.dtype) {
      add(fmt::format("'{}' is {} here, and {} in the run", state.name, name(held.dtype), name(state.type.dtype)));
    }
  }
  for (const CheckpointState& held : index.states) {
    if (all && !wanted.contains(held.name)) add(fmt::format("it holds '{}', which the run does not have", held.name));
  }
  constexpr size_t shown = 8;
  if (errors.size() > shown) {
    const size_t more = errors.size() - shown;
    errors.resize(shown);
    add(fmt::format("{} more states differ", more));
  }
  return errors;
}

}  // namespace shardscope
