#include "engine/comm/collective_call.h"

#include <algorithm>
#include <string>

namespace shardscope {

namespace {

struct CallPlace {
  CallKind kind;
  int rank;
  size_t part;

  [[noreturn]] void fail(std::string message, std::string hint = {}) const {
    Place place = on_rank(rank);
    place.name = std::string(name(kind)) + " part " + std::to_string(part);
    throw Failure(Error{"comm_argument", std::move(message), std::move(place), std::move(hint)});
  }
};

bool reduces(CallKind kind) { return kind == CallKind::all_reduce || kind == CallKind::reduce_scatter; }

bool overlap(const std::byte* a, int64_t a_bytes, const std::byte* b, int64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

void check_dimension(const CallPlace& place, const Shape& shape, int dim, std::string_view what) {
  if (dim < 0 || dim >= static_cast<int>(shape.size())) {
    place.fail(std::string(what) + " " + std::to_string(dim) + " is not a dimension of " + to_string(shape));
  }
}

int64_t product(const Shape& shape, size_t first, size_t last) {
  int64_t result = 1;
  for (size_t i = first; i < last; ++i) result *= shape[i];
  return result;
}

// Strides, in bytes, of the block [.., low.size, .., high.size, ..] inside an array of `shape`, whose dimensions
// beyond `high` the block has whole.
Stride strides(const Shape& shape, size_t low, size_t high, int64_t element) {
  int64_t row = product(shape, high, shape.size()) * element;
  return {product(shape, low, high) * row, row};
}

// Bytes from one block to the next along `dim`, where a block has `block_size` of it.
int64_t block_stride(const Shape& shape, size_t dim, int64_t block_size, int64_t element) {
  return block_size * product(shape, dim + 1, shape.size()) * element;
}

// Fewer, longer runs where both sides are contiguous.
void merge_runs(CallPart& part) {
  if (part.rows == 1 || (part.source_stride.row == part.run && part.destination_stride.row == part.run)) {
    part.run *= part.rows;
    part.rows = 1;
    if (part.outer == 1 || (part.source_stride.outer == part.run && part.destination_stride.outer == part.run)) {
      part.run *= part.outer;
      part.outer = 1;
    } else {
      part.rows = part.outer;
      part.outer = 1;
      part.source_stride.row = part.source_stride.outer;
      part.destination_stride.row = part.destination_stride.outer;
    }
  }
}

CallPart lay_out(const CallPlace& place, const CollectivePart& argument, int size) {
  const Shape& shape = argument.shape;
  bool splits = place.kind == CallKind::reduce_scatter || place.kind == CallKind::all_to_all;
  bool concats = place.kind == CallKind::all_gather || place.kind == CallKind::all_to_all;
  if (std::ranges::any_of(shape, [](int64_t n) { return n < 0; })) {
    place.fail("a negative size in " + to_string(shape));
  }
  const DType untaken = argument.reduction == Reduction::sum ? DType::i32 : DType::bf16;
  if (reduces(place.kind) && argument.dtype == untaken) {
    place.fail("no " + std::string(name(argument.reduction)) + " of " + std::string(name(argument.dtype)) +
               " is taken");
  }
  if (splits) {
    check_dimension(place, shape, argument.split_dim, "split_dim");
    int64_t length = shape[static_cast<size_t>(argument.split_dim)];
    if (length % size != 0) {
      place.fail("dimension " + std::to_string(argument.split_dim) + " of " + to_string(shape) +
                     " does not divide into " + std::to_string(size) + " blocks",
                 "nearest sizes that do: " + std::to_string(length / size * size) + ", " +
                     std::to_string((length / size + 1) * size));
    }
  }
  if (concats) check_dimension(place, shape, argument.concat_dim, "concat_dim");

  int64_t element = byte_size(argument.dtype);
  CallPart part;
  part.source = static_cast<const std::byte*>(argument.source);
  part.destination = static_cast<std::byte*>(argument.destination);
  part.source_bytes = part.destination_bytes = element_count(shape) * element;

  Shape piece = shape, gathered = shape;
  if (splits) piece[static_cast<size_t>(argument.split_dim)] /= size;
  if (splits) gathered[static_cast<size_t>(argument.split_dim)] /= size;
  if (concats) gathered[static_cast<size_t>(argument.concat_dim)] *= size;
  part.destination_bytes = element_count(gathered) * element;
  if (!splits && !concats) {
    part.run = part.source_bytes;
    return part;
  }
  auto split = static_cast<size_t>(splits ? argument.split_dim : argument.concat_dim);
  auto concat = static_cast<size_t>(concats ? argument.concat_dim : argument.split_dim);
  auto [low, high] = std::minmax(split, concat);
  part.outer = product(piece, 0, low);
  part.rows = product(piece, low, high);
  part.run = product(piece, high, piece.size()) * element;
  part.source_stride = strides(shape, low, high, element);
  part.destination_stride = strides(gathered, low, high, element);
  if (splits) part.source_block = block_stride(shape, split, piece[split], element);
  if (concats) part.destination_block = block_stride(gathered, concat, piece[concat], element);
  if (place.kind == CallKind::all_to_all && (argument.received_rows || argument.sent_rows)) {
    if (!argument.received_rows || !argument.sent_rows)
      place.fail("rows are counted on one side", "sent_rows and received_rows are both given, or neither");
    if (high != 1 || shape.size() < 3)
      place.fail("counted rows of " + to_string(shape), "dimensions 0 and 1 are exchanged");
    part.sent_rows = argument.sent_rows;
    part.received_rows = argument.received_rows;
    part.row_groups = argument.row_groups;
    part.row_bytes = product(shape, 3, shape.size()) * element;
    part.block_bytes = shape[2] * part.row_bytes;
    return part;
  }
  merge_runs(part);
  return part;
}

void check_addresses(const CallPlace& place, const CallPart& part) {
  if (part.source_bytes > 0 && part.source == nullptr) place.fail("no source");
  if (part.destination_bytes > 0 && part.destination == nullptr) place.fail("no destination");
  bool in_place = place.kind == CallKind::all_reduce && part.source == part.destination;
  if (!in_place && overlap(part.source, part.source_bytes, part.destination, part.destination_bytes)) {
    place.fail("the destination overlaps the source");
  }
}

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace

void CollectiveCall::assign(CallKind call_kind, std::span<const CollectivePart> arguments,
                            std::span<const int> destinations, int rank, int size) {
  kind = call_kind;
  parts.clear();
  source_bytes = 0;
  signature = mix(static_cast<uint64_t>(kind) + 1, arguments.size());
  if (reduces(kind) && !arguments.empty()) {
    reduction = arguments[0].reduction;
    dtype = arguments[0].dtype;
    signature = mix(mix(signature, static_cast<uint64_t>(reduction)), static_cast<uint64_t>(dtype));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    CallPlace place{kind, rank, i};
    const CallPart& part = parts.emplace_back(lay_out(place, arguments[i], size));
    check_addresses(place, part);
    if (reduces(kind) && (arguments[i].reduction != reduction || arguments[i].dtype != dtype)) {
      place.fail("its type or reduction is not that of part 0");
    }
    source_bytes += part.source_bytes;
    for (int64_t value : {part.source_bytes, part.outer, part.rows, part.run, part.source_stride.row,
                          part.destination_stride.row, part.source_block, part.destination_block}) {
      signature = mix(signature, static_cast<uint64_t>(value));
    }
  }
  destination_of.assign(destinations.begin(), destinations.end());
  if (kind != CallKind::permute) return;
  bool apart = destinations.size() == static_cast<size_t>(size);
  for (size_t i = 0; i < destinations.size() && apart; ++i) {
    const int to = destinations[i];
    apart = to >= -1 && to < size && (to < 0 || std::ranges::count(destinations, to) == 1);
  }
  if (!apart) {
    CallPlace{kind, rank, 0}.fail("destination_of does not name different ones of the group's " + std::to_string(size) +
                                  " ranks");
  }
  for (int member : destinations) signature = mix(signature, static_cast<uint64_t>(member));
}

int CollectiveCall::sender_to(int member) const {
  const auto found = std::ranges::find(destination_of, member);
  return found == destination_of.end() ? -1 : static_cast<int>(found - destination_of.begin());
}

double CollectiveCall::wire_bytes(int member, int size) const {
  double others = static_cast<double>(size - 1) / size;
  double bytes = 0;
  for (const CallPart& part : parts) {
    auto source = static_cast<double>(part.source_bytes);
    switch (kind) {
      case CallKind::all_gather: bytes += others * static_cast<double>(part.destination_bytes); break;
      case CallKind::all_reduce: bytes += 2 * others * source; break;
      case CallKind::reduce_scatter:
      case CallKind::all_to_all: bytes += others * source; break;
      case CallKind::permute: bytes += sends(member) ? source : 0; break;
      default: break;
    }
  }
  return bytes;
}

}  // namespace shardscope
