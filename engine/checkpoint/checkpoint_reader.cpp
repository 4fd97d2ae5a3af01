#include "engine/checkpoint/checkpoint_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/checkpoint/checkpoint_layout.h"
#include "engine/checkpoint/checkpoint_list.h"
#include "engine/mesh/box_runs.h"

namespace shardscope {

namespace {

constexpr int64_t most_index_bytes = int64_t{1} << 30;

std::string index_text(const std::string& folder) {
  const std::string path = folder + "/" + index_file_name;
  if (const std::optional<InputFile> file = InputFile::find(path, "unreadable_checkpoint")) {
    return file->text(most_index_bytes);
  }
  if (std::filesystem::is_directory(folder)) {
    throw Failure(Error{"damaged_checkpoint", "the index is missing", in_file(path), ""});
  }
  throw Failure(Error{"no_checkpoint", "there is no such folder", in_file(folder), "shardrun checkpoint list DIR"});
}

// Of a checkpoint that is removed while it is read, files are missing; it is not damaged.
template <class Read>
auto unless_removed(const std::string& folder, Read&& read) {
  try {
    return read();
  } catch (const Failure& failure) {
    if (!is_removed(folder) || failure.errors().front().code == "no_checkpoint") throw;
    throw Failure(Error{"no_checkpoint", "this checkpoint was removed while it was read", in_file(folder),
                        "shardrun checkpoint list DIR"});
  }
}

}  // namespace

CheckpointReader::CheckpointReader(std::string path)
    : path_(std::move(path)), index_(unless_removed(path_, [this] {
        return parse_checkpoint_index(index_text(path_), path_ + "/" + index_file_name);
      })) {
  unless_removed(path_, [this] {
    for (const CheckpointFile& file : index_.files) BlockFile(path_, file, {});
  });
}

void CheckpointReader::open(int file) {
  if (opened_ == file) return;
  opened_ = -1;
  file_ = std::make_unique<BlockFile>(path_, index_.files[file],
                                      [this, file](int64_t begin, int64_t end) { return contents(file, begin, end); });
  file_->check(0, static_cast<int64_t>(file_layout(index_, file).header().size()));
  opened_ = file;
}

// "the header, params/b1, params/w1 and 4 more"
std::string CheckpointReader::contents(int file, int64_t begin, int64_t end) const {
  constexpr size_t reported = 3;
  std::vector<std::string> names;
  if (begin < static_cast<int64_t>(file_layout(index_, file).header().size())) names.push_back("the header");
  for (const FilePiece& at : pieces_of(index_, file)) {
    const CheckpointState& state = index_.states[at.state];
    const CheckpointPiece& piece = state.pieces[at.piece];
    const int64_t bytes = TensorType{piece.box.size, state.type.dtype}.bytes();
    if (piece.offset < end && piece.offset + bytes > begin) names.push_back(state.name);
  }
  const size_t more = names.size() - std::min(names.size(), reported);
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

void CheckpointReader::read(std::span<const Request> requests) {
  unless_removed(path_, [&] { read_pieces(requests); });
}

void CheckpointReader::read_pieces(std::span<const Request> requests) {
  for (int file = 0; file < static_cast<int>(index_.files.size()); ++file) {
    for (const Request& request : requests) {
      const int64_t element = byte_size(request.state->type.dtype);
      for (const CheckpointPiece& piece : request.state->pieces) {
        if (piece.file != file) continue;
        const std::optional<Box> common = intersection(piece.box, request.box);
        if (!common) continue;
        open(file);
        for_each_common_run(piece.box, request.box, *common, [&](int64_t from, int64_t to, int64_t length) {
          file_->read(piece.offset + from * element,
                      request.out.subspan(static_cast<size_t>(to * element), static_cast<size_t>(length * element)));
        });
      }
    }
  }
}

void CheckpointReader::verify() {
  unless_removed(path_, [this] { check_pieces(); });
}

void CheckpointReader::check_pieces() {
  for (int file = 0; file < static_cast<int>(index_.files.size()); ++file) {
    open(file);
    for (const FilePiece& at : pieces_of(index_, file)) {
      const CheckpointState& state = index_.states[at.state];
      const CheckpointPiece& piece = state.pieces[at.piece];
      file_->check(piece.offset, TensorType{piece.box.size, state.type.dtype}.bytes());
    }
  }
}

}  // namespace shardscope
