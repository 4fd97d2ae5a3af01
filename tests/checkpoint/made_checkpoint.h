#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/checkpoint/checkpoint_folder.h"
#include "engine/checkpoint/checkpoint_layout.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/mesh/box_runs.h"
#include "tests/base/errors_of.h"

namespace shardscope::test {

using Bytes = std::vector<std::byte>;

inline Bytes random_bytes(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(static_cast<size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// The whole arrays of states, by name: different in each step.
inline std::map<std::string, Bytes> made_values(const std::vector<StoredState>& states, int64_t step) {
  std::map<std::string, Bytes> values;
  for (size_t i = 0; i < states.size(); ++i) {
    values[states[i].name] = random_bytes(states[i].type.bytes(), static_cast<uint32_t>(1000 * step + i));
  }
  return values;
}

inline Bytes part_of(const Bytes& whole, const TensorType& type, const Box& box) {
  const auto element = static_cast<size_t>(byte_size(type.dtype));
  Bytes part;
  const BoxRuns runs(type.shape, box);
  runs.for_each([&](int64_t from, int64_t) {
    const std::byte* begin = whole.data() + static_cast<size_t>(from) * element;
    part.insert(part.end(), begin, begin + static_cast<size_t>(runs.run_length()) * element);
  });
  return part;
}

// Where tests of many saves make their folders: in memory, where there is such a place.
inline const char* scratch() {
  return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/shardscope_test_XXXXXX" : "/tmp/shardscope_test_XXXXXX";
}

// What a rank's file holds.
inline Bytes image_of(const CheckpointIndex& index, int file, const std::map<std::string, Bytes>& values) {
  const std::string header = file_layout(index, file).header();
  Bytes image(static_cast<size_t>(index.files[file].bytes));
  std::memcpy(image.data(), header.data(), header.size());
  for (const FilePiece& at : pieces_of(index, file)) {
    const CheckpointState& state = index.states[at.state];
    const CheckpointPiece& piece = state.pieces[at.piece];
    const Bytes part = part_of(values.at(state.name), state.type, piece.box);
    std::ranges::copy(part, image.begin() + piece.offset);
  }
  return image;
}

// Writes a checkpoint as the ranks of a mesh do, one after the other, and returns its path.
inline std::string make_checkpoint(CheckpointFolder& folder, const std::string& path, const FileCalls& calls,
                                   const std::vector<StoredState>& states, const Mesh& mesh, int64_t step,
                                   const std::map<std::string, Bytes>& values, int keep = 100) {
  CheckpointIndex index = lay_out_checkpoint(states, mesh);
  index.model = "made";
  index.step = step;
  for (size_t file = 0; file < index.files.size(); ++file) {
    index.files[file].blocks = write_checkpoint_file(calls, folder.held(), step, index.files[file].name,
                                                     image_of(index, static_cast<int>(file), values), {});
  }
  folder.complete(index, keep);
  return path + "/" + step_folder_name(step);
}

inline std::string make_checkpoint(CheckpointFolder& folder, const std::string& path, const FileCalls& calls,
                                   const std::vector<StoredState>& states, const Mesh& mesh, int64_t step,
                                   int keep = 100) {
  return make_checkpoint(folder, path, calls, states, mesh, step, made_values(states, step), keep);
}

inline std::string make_checkpoint(const std::string& path, const std::vector<StoredState>& states, const Mesh& mesh,
                                   int64_t step = 1) {
  const FileCalls calls;
  CheckpointFolder folder(path, calls);
  return make_checkpoint(folder, path, calls, states, mesh, step);
}

// Every state of a checkpoint, whole.
inline std::map<std::string, Bytes> values_in(const std::string& checkpoint) {
  CheckpointReader reader(checkpoint);
  std::map<std::string, Bytes> values;
  std::vector<CheckpointReader::Request> requests;
  for (const CheckpointState& state : reader.index().states) {
    Bytes& bytes = values[state.name];
    bytes.resize(static_cast<size_t>(state.type.bytes()));
    requests.push_back({&state, {Shape(state.type.shape.size()), state.type.shape}, bytes});
  }
  reader.read(requests);
  return values;
}

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace shardscope::test
