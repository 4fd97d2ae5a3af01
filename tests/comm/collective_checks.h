#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "engine/comm/communicator.h"
#include "tests/comm/moved_bytes.h"

// Checks that every implementation must pass: all collectives against the plainest reference, element by element. Each
// rank knows what every other one sends, since values follow from (seed, part, rank, index). A check throws
// std::runtime_error; every rank of the group calls it with the same arguments.
namespace shardscope::checks {

inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

template <class What>
void require(bool holds, const What& what) requires std::is_invocable_v<What> {
  if (!holds) throw std::runtime_error(what());
}

// To threads of other ranks, so that their order varies.
inline void give_way(uint64_t times) {
  for (; times > 0; --times) std::this_thread::yield();
}

// Hands out pieces of an arena.
class Pieces {
 public:
  explicit Pieces(std::span<std::byte> arena) : arena_(arena) {}

  std::byte* take(int64_t bytes) {
    size_t first = used_;
    used_ += (static_cast<size_t>(bytes) + 63) / 64 * 64;
    require(used_ <= arena_.size(), "the test's arena is too small");
    return arena_.data() + first;
  }

 private:
  std::span<std::byte> arena_;
  size_t used_ = 0;
};

struct Case {
  Kind kind = Kind::all_gather;
  std::vector<CollectivePart> parts;  // without addresses
  std::vector<bool> in_place;         // all_reduce
  std::vector<int> destination_of;    // permute; -1: of nothing
  uint64_t seed = 0;
  Transport transport;
};

inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (b + 0x9E3779B97F4A7C15u)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 29)) * 0x94D049BB133111EBu;
  return x ^ (x >> 32);
}

inline bool reduces(const Case& test) { return test.kind == Kind::all_reduce || test.kind == Kind::reduce_scatter; }

constexpr uint32_t not_a_number = 0x7fc00000;

// The bits of element `index` of what `rank` sends. Floats are of many magnitudes, so that the order of a sum shows;
// where a maximum is taken, some are no numbers.
inline uint32_t element(const Case& test, size_t part, int rank, int64_t index) {
  const CollectivePart& array = test.parts[part];
  uint64_t bits = mix(mix(mix(test.seed, part), static_cast<uint64_t>(rank)), static_cast<uint64_t>(index));
  if (array.dtype == DType::bf16 && !reduces(test)) return bits & 0xffff;
  if (array.dtype == DType::i32) return static_cast<uint32_t>(bits);
  if (reduces(test) && array.reduction == Reduction::max && bits % 61 == 0) return not_a_number;
  float value = static_cast<float>(static_cast<int32_t>(bits)) * std::ldexp(1.0f, static_cast<int>(bits >> 60) * 2);
  uint32_t result = 0;
  std::memcpy(&result, &value, sizeof(value));
  return array.dtype == DType::bf16 ? result >> 16 : result;
}

inline float as_float(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t as_bits(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

// The nearer of the two neighbours in bf16, the even one where both are as near; of finite values.
inline uint32_t rounded_to_bf16(float value) {
  const uint32_t low = as_bits(value) & 0xffff0000, high = low + 0x10000;
  const double below = std::abs(static_cast<double>(value) - as_float(low));
  const double above = std::abs(static_cast<double>(as_float(high)) - value);
  const bool up = above < below || (above == below && (low >> 16) % 2 == 1);
  return (up ? high : low) >> 16;
}

inline float total(const CollectivePart& part, std::span<const float> values) {
  float total = values[0];
  for (float value : values.subspan(1)) {
    if (part.reduction == Reduction::sum) total += value;
    else if (std::isnan(total) || std::isnan(value)) total = as_float(not_a_number);
    else total = std::max(total, value);
  }
  return total;
}

// What the ranks' elements make together: on each host in the order of ranks, then in the order of hosts.
inline uint32_t combined(const CollectivePart& part, const std::vector<uint32_t>& elements,
                         const std::vector<int>& hosts) {
  if (part.dtype == DType::i32) {
    auto top = static_cast<int32_t>(elements[0]);
    for (uint32_t bits : elements) top = std::max(top, static_cast<int32_t>(bits));
    return static_cast<uint32_t>(top);
  }
  const int shift = part.dtype == DType::bf16 ? 16 : 0;
  std::vector<std::vector<float>> of_hosts;
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t host = hosts.empty() ? 0 : static_cast<size_t>(hosts[i]);
    of_hosts.resize(std::max(of_hosts.size(), host + 1));
    of_hosts[host].push_back(as_float(elements[i] << shift));
  }
  std::vector<float> totals;
  for (const std::vector<float>& values : of_hosts) totals.push_back(total(part, values));
  const float all = total(part, totals);
  return shift ? rounded_to_bf16(all) : as_bits(all);
}

inline void store(std::byte* array, DType dtype, int64_t index, uint32_t bits) {
  auto size = static_cast<size_t>(byte_size(dtype));
  std::memcpy(array + static_cast<size_t>(index) * size, &bits, size);
}

inline uint32_t load(const std::byte* array, DType dtype, int64_t index) {
  auto size = static_cast<size_t>(byte_size(dtype));
  uint32_t bits = 0;
  std::memcpy(&bits, array + static_cast<size_t>(index) * size, size);
  return bits;
}

inline Case random_case(uint64_t seed, int size, int64_t scale) {
  std::mt19937_64 random(seed);
  auto draw = [&](int64_t low, int64_t high) { return low + static_cast<int64_t>(random() % (high - low + 1)); };
  Case test;
  test.seed = seed;
  test.kind = static_cast<Kind>(draw(0, 4));
  bool sums = reduces(test);
  struct Reduced {
    DType dtype;
    Reduction reduction;
  };
  constexpr Reduced choices[] = {{DType::f32, Reduction::sum},
                                 {DType::bf16, Reduction::sum},
                                 {DType::f32, Reduction::max},
                                 {DType::i32, Reduction::max}};
  const Reduced reduced = choices[draw(0, 3)];  // one for all parts of a call
  bool splits = test.kind == Kind::reduce_scatter || test.kind == Kind::all_to_all;
  int64_t count = draw(0, 3) == 0 ? draw(10, 40) : draw(1, 4);
  int64_t large = draw(0, count * 2);  // one part of a few is large
  for (int64_t i = 0; i < count; ++i) {
    CollectivePart part;
    part.dtype = sums ? reduced.dtype : static_cast<DType>(draw(0, 2));
    if (sums) part.reduction = reduced.reduction;
    int64_t dims = draw(1, 4);
    for (int64_t d = 0; d < dims; ++d) part.shape.push_back(draw(1, 4));
    if (i == large) part.shape[static_cast<size_t>(draw(0, dims - 1))] *= scale;
    part.split_dim = static_cast<int>(draw(0, dims - 1));
    part.concat_dim = static_cast<int>(draw(0, dims - 1));
    if (splits) part.shape[static_cast<size_t>(part.split_dim)] *= size;
    if (!sums && !splits && draw(0, 20) == 0) part.shape[0] = 0;
    test.parts.push_back(part);
    test.in_place.push_back(draw(0, 1) == 1);
  }
  test.destination_of.resize(static_cast<size_t>(size));
  std::iota(test.destination_of.begin(), test.destination_of.end(), 0);
  for (size_t i = test.destination_of.size(); i > 1; --i) {
    auto other = static_cast<size_t>(draw(0, static_cast<int64_t>(i) - 1));
    std::swap(test.destination_of[i - 1], test.destination_of[other]);
  }
  if (draw(0, 1) == 0) {
    for (int& destination : test.destination_of) destination = draw(0, 2) == 0 ? -1 : destination;
  }
  return test;
}

inline Shape destination_shape(const Case& test, size_t i, int size) {
  Shape shape = test.parts[i].shape;
  if (test.kind == Kind::reduce_scatter || test.kind == Kind::all_to_all) {
    shape[static_cast<size_t>(test.parts[i].split_dim)] /= size;
  }
  if (test.kind == Kind::all_gather || test.kind == Kind::all_to_all) {
    shape[static_cast<size_t>(test.parts[i].concat_dim)] *= size;
  }
  return shape;
}

// The bits that `rank` must find at `index` of the destination of part `i`.
inline uint32_t expected(const Case& test, size_t i, int rank, int size, int64_t index) {
  const CollectivePart& part = test.parts[i];
  if (test.kind == Kind::permute) {
    const auto sender = std::ranges::find(test.destination_of, rank);
    if (sender == test.destination_of.end()) return 0;
    return element(test, i, static_cast<int>(sender - test.destination_of.begin()), index);
  }
  Shape to = destination_shape(test, i, size);
  std::vector<int64_t> place(to.size());
  for (size_t d = to.size(); d-- > 0; index /= to[d]) place[d] = index % to[d];
  int sender = 0;
  auto split = static_cast<size_t>(part.split_dim), concat = static_cast<size_t>(part.concat_dim);
  if (test.kind == Kind::all_gather || test.kind == Kind::all_to_all) {
    int64_t block = to[concat] / size;
    sender = static_cast<int>(place[concat] / block);
    place[concat] %= block;
  }
  if (test.kind == Kind::reduce_scatter || test.kind == Kind::all_to_all) {
    place[split] += rank * (part.shape[split] / size);
  }
  int64_t from = 0;
  for (size_t d = 0; d < place.size(); ++d) from = from * part.shape[d] + place[d];
  if (test.kind == Kind::all_gather || test.kind == Kind::all_to_all) return element(test, i, sender, from);
  std::vector<uint32_t> elements;
  for (int other = 0; other < size; ++other) elements.push_back(element(test, i, other, from));
  return combined(part, elements, test.transport.hosts);
}

inline double wire_bytes(const Case& test, int rank, int size) {
  double bytes = 0;
  for (size_t i = 0; i < test.parts.size(); ++i) {
    auto source = static_cast<double>(element_count(test.parts[i].shape) * byte_size(test.parts[i].dtype));
    double others = (size - 1.0) / size;
    if (test.kind == Kind::all_gather) bytes += source * size * others;
    if (test.kind == Kind::all_reduce) bytes += source * 2 * others;
    if (test.kind == Kind::reduce_scatter || test.kind == Kind::all_to_all) bytes += source * others;
    if (test.kind == Kind::permute && test.destination_of[static_cast<size_t>(rank)] >= 0) bytes += source;
  }
  return bytes;
}

inline int64_t moved_bytes(const Case& test, int rank, int size) {
  MovedCall call{test.kind, rank, size, 0, true, {}};
  if (test.kind == Kind::permute) {
    call.receiver = test.destination_of[static_cast<size_t>(rank)];
    call.receives = std::ranges::count(test.destination_of, rank) > 0;
  }
  for (size_t i = 0; i < test.parts.size(); ++i) {
    const CollectivePart& part = test.parts[i];
    const int64_t element = byte_size(part.dtype);
    const bool widens = part.dtype == DType::bf16 && part.reduction == Reduction::sum;
    call.arrays.push_back({element_count(part.shape) * element, element, widens ? 4 : element,
                           test.kind == Kind::all_reduce && test.in_place[i]});
  }
  return moved_bytes(call, test.transport);
}

inline Communicator::Ticket start(Communicator& communicator, const Case& test,
                                  const std::vector<CollectivePart>& parts) {
  switch (test.kind) {
    case Kind::all_gather: return communicator.start_all_gather(parts);
    case Kind::all_reduce: return communicator.start_all_reduce(parts);
    case Kind::reduce_scatter: return communicator.start_reduce_scatter(parts);
    case Kind::all_to_all: return communicator.start_all_to_all(parts);
    case Kind::permute: return communicator.start_permute(parts, test.destination_of);
  }
  throw std::runtime_error("no such kind");
}

// A case whose arrays lie in pieces of an arena. Started once, finished once; then its results are checked, that
// sources and surroundings are untouched, and what the record says of bytes.
class RunningCase {
 public:
  RunningCase(Communicator& communicator, Pieces pieces, Case test)
      : communicator_(communicator),
        rank_(communicator.rank()),
        size_(communicator.size()),
        test_(std::move(test)),
        parts_(test_.parts),
        name_("case " + std::to_string(test_.seed) + " of kind " + std::to_string(static_cast<int>(test_.kind)) +
              " with " + std::to_string(size_) + " ranks, rank " + std::to_string(rank_) + ", part ") {
    for (size_t i = 0; i < parts_.size(); ++i) {
      int64_t count = element_count(parts_[i].shape), element_bytes = byte_size(parts_[i].dtype);
      int64_t to_bytes = element_count(destination_shape(test_, i, size_)) * element_bytes;
      bool in_place = test_.kind == Kind::all_reduce && test_.in_place[i];
      sources_.push_back(pieces.take(count * element_bytes + guard));
      destinations_.push_back(in_place ? sources_.back() : pieces.take(to_bytes + guard));
      std::memset(destinations_.back(), 0xA5, static_cast<size_t>(to_bytes + guard));
      for (int64_t k = 0; k < count; ++k) store(sources_.back(), parts_[i].dtype, k, element(test_, i, rank_, k));
      parts_[i].source = sources_.back();
      parts_[i].destination = destinations_.back();
    }
  }

  // Of the arena that it takes.
  static int64_t bytes(const Case& test, int size) {
    int64_t bytes = 0;
    for (size_t i = 0; i < test.parts.size(); ++i) {
      const int64_t elements = element_count(test.parts[i].shape) + element_count(destination_shape(test, i, size));
      bytes += elements * byte_size(test.parts[i].dtype) + 4 * guard;
    }
    return bytes;
  }

  void start() { ticket_ = checks::start(communicator_, test_, parts_); }

  CommunicationRecord finish() {
    const CommunicationRecord record = communicator_.finish(ticket_);
    const double sent = wire_bytes(test_, rank_, size_);
    require(std::abs(record.wire_bytes - sent) <= 1e-6 * (1 + sent), name_ + "all: wire bytes");
    const int64_t must_move = moved_bytes(test_, rank_, size_);
    require(record.moved_bytes == must_move,
            name_ + "all: moved " + std::to_string(record.moved_bytes) + " bytes, not " + std::to_string(must_move));
    require(record.waited_ns >= 0 && record.transfer_ns > 0, name_ + "all: times");
    for (size_t i = 0; i < parts_.size(); ++i) check_part(i);
    return record;
  }

 private:
  static constexpr int64_t guard = 64;

  void check_part(size_t i) const {
    const DType dtype = parts_[i].dtype;
    int64_t count = element_count(destination_shape(test_, i, size_));
    for (int64_t k = 0; k < count; ++k) {
      require(load(destinations_[i], dtype, k) == expected(test_, i, rank_, size_, k),
              [&] { return name_ + std::to_string(i) + ": element " + std::to_string(k); });
    }
    for (int64_t k = 0; k < guard; ++k) {
      require(destinations_[i][count * byte_size(dtype) + k] == std::byte{0xA5},
              [&] { return name_ + std::to_string(i) + ": written behind the destination"; });
    }
    if (sources_[i] == destinations_[i]) return;
    for (int64_t k = 0; k < element_count(parts_[i].shape); ++k) {
      require(load(sources_[i], dtype, k) == element(test_, i, rank_, k),
              [&] { return name_ + std::to_string(i) + ": the source was changed"; });
    }
  }

  Communicator& communicator_;
  int rank_, size_;
  Case test_;
  std::vector<CollectivePart> parts_;
  std::string name_;
  std::vector<std::byte*> sources_, destinations_;
  Communicator::Ticket ticket_ = 0;
};

inline void check_case(Communicator& communicator, std::span<std::byte> arena, const Case& test) {
  RunningCase running(communicator, Pieces(arena), test);
  running.start();
  running.finish();
}

inline Case by(Case test, const Transport& transport) {
  test.transport = transport;
  return test;
}

inline void check_random_cases(Communicator& communicator, std::span<std::byte> arena, uint64_t seed, int cases,
                               const Transport& transport = {}) {
  for (int i = 0; i < cases; ++i) {
    int64_t scale = i % 3 == 0 ? 400 : 1;
    Case test = random_case(mix(seed, static_cast<uint64_t>(i)), communicator.size(), scale);
    check_case(communicator, arena, by(std::move(test), transport));
    if (i % 5 == 0) communicator.barrier();
  }
}

// Buckets of thousands of parts, small and large in sum.
inline void check_long_buckets(Communicator& communicator, std::span<std::byte> arena,
                               const Transport& transport = {}) {
  for (Kind kind : {Kind::all_gather, Kind::all_reduce, Kind::reduce_scatter, Kind::all_to_all, Kind::permute}) {
    Case test;
    test.seed = 77;
    test.kind = kind;
    for (int64_t i = 0; i < 2500; ++i) {
      test.parts.push_back({nullptr, nullptr, {1 + i % 3, communicator.size()}, DType::f32, 1, 0});
      test.in_place.push_back(i % 2 == 0);
    }
    for (int rank = 0; rank < communicator.size(); ++rank) {
      test.destination_of.push_back((rank + 1) % communicator.size());
    }
    check_case(communicator, arena, by(std::move(test), transport));
  }
}

// Sums are the same bits in one bucket, in one call each, and as one array.
inline void check_bucketing(Communicator& communicator, std::span<std::byte> arena) {
  constexpr int64_t count = 7, length = 1001;
  Case test;
  test.parts.resize(1);
  Pieces pieces(arena);
  auto* source = reinterpret_cast<float*>(pieces.take(count * length * 4));
  std::vector<float*> sums;
  for (int i = 0; i < 3; ++i) sums.push_back(reinterpret_cast<float*>(pieces.take(count * length * 4)));
  for (int64_t k = 0; k < count * length; ++k) source[k] = as_float(element(test, 0, communicator.rank(), k));
  std::vector<CollectivePart> bucket;
  for (int64_t i = 0; i < count; ++i) {
    bucket.push_back({source + i * length, sums[0] + i * length, {length}, DType::f32, -1, -1});
    CollectivePart single{source + i * length, sums[1] + i * length, {length}, DType::f32, -1, -1};
    communicator.all_reduce({&single, 1});
  }
  communicator.all_reduce(bucket);
  CollectivePart whole{source, sums[2], {count, length}, DType::f32, -1, -1};
  communicator.all_reduce({&whole, 1});
  require(std::memcmp(sums[0], sums[1], count * length * 4) == 0, "a bucket's sums differ from single sums");
  require(std::memcmp(sums[0], sums[2], count * length * 4) == 0, "a bucket's sums differ from one array's");
}

// What reductions promise beyond sums of f32, in calls short and long: NaN wins a maximum whoever has it, bf16 is
// summed in f32 and rounded once, and what is not of one kind is refused, by every rank for itself.
inline void check_reductions(Communicator& communicator, std::span<std::byte> arena) {
  const int rank = communicator.rank(), size = communicator.size();
  for (int64_t length : {1, 7, 5000}) {
    Pieces pieces(arena);
    auto* floats = reinterpret_cast<float*>(pieces.take(length * 4));
    auto* integers = reinterpret_cast<int32_t*>(pieces.take(length * 4));
    auto* halves = reinterpret_cast<uint16_t*>(pieces.take(length * 2));
    for (int64_t i = 0; i < length; ++i) {
      // Element i is no number on rank i % (size + 1): on one rank, or on none.
      floats[i] = i % (size + 1) == rank ? as_float(not_a_number) : -1.0f - static_cast<float>(rank);
      integers[i] = std::numeric_limits<int32_t>::min() + rank;
      halves[i] = static_cast<uint16_t>(rounded_to_bf16(rank == 0 ? 256.0f : 0.75f));
    }
    CollectivePart of_floats{floats, floats, {length}, DType::f32, -1, -1, Reduction::max};
    CollectivePart of_integers{integers, integers, {length}, DType::i32, -1, -1, Reduction::max};
    CollectivePart of_halves{halves, halves, {length}, DType::bf16, -1, -1};
    for (CollectivePart* part : {&of_floats, &of_integers, &of_halves}) communicator.all_reduce({part, 1});
    // 256 + 0.75 rounds to 256 in bf16: a sum rounded at each rank would stay there.
    const auto sum = static_cast<uint16_t>(rounded_to_bf16(256.0f + 0.75f * static_cast<float>(size - 1)));
    for (int64_t i = 0; i < length; ++i) {
      require(std::isnan(floats[i]) == (i % (size + 1) < size), "NaN wins a maximum");
      require(std::isnan(floats[i]) || floats[i] == -1, "the largest of negative numbers");
      require(integers[i] == std::numeric_limits<int32_t>::min() + size - 1, "the largest of the least integers");
      require(halves[i] == sum, "bf16 is rounded once");
    }
    auto refused = [&](std::vector<CollectivePart> parts) {
      try {
        communicator.all_reduce(parts);
      } catch (const Failure& failure) {
        return failure.errors().front().code == "comm_argument";
      }
      return false;
    };
    CollectivePart sum_of_floats = of_floats, sum_of_integers = of_integers, maximum_of_halves = of_halves;
    sum_of_floats.reduction = sum_of_integers.reduction = Reduction::sum;
    maximum_of_halves.reduction = Reduction::max;
    require(refused({of_floats, of_integers}), "parts of two types");
    require(refused({sum_of_floats, of_halves}), "parts of two types that are summed");
    require(refused({of_floats, sum_of_floats}), "parts of two reductions");
    require(refused({sum_of_integers}), "a sum of integers");
    require(refused({maximum_of_halves}), "a maximum of bf16");
  }
}

// Rows and columns of a grid of ranks, used in turn with the whole; they count to the whole's bytes.
inline void check_grid(Communicator& communicator, std::span<std::byte> arena, int columns, int cases,
                       const Transport& transport = {}) {
  int row = communicator.rank() / columns, column = communicator.rank() % columns;
  std::unique_ptr<Communicator> along_row = communicator.split(row, column);
  std::unique_ptr<Communicator> along_column = communicator.split(column, -row);  // from the last row up
  require(along_row->size() == columns && along_row->rank() == column, "a row's ranks are ordered by key");
  require(along_column->rank() == along_column->size() - 1 - row, "a column's ranks are ordered by key");
  std::vector<int> row_members, column_members;
  for (int i = 0; i < columns; ++i) row_members.push_back(row * columns + i);
  for (int i = along_column->size(); i-- > 0;) column_members.push_back(i * columns + column);
  const Transport of_row = transport.of(row_members), of_column = transport.of(column_members);
  for (int i = 0; i < cases; ++i) {
    auto seed = static_cast<uint64_t>(i);
    Case in_row = random_case(mix(1000 + seed, static_cast<uint64_t>(row)), columns, 100);
    Case in_column = random_case(mix(2000 + seed, static_cast<uint64_t>(column)), along_column->size(), 100);
    check_case(*along_row, arena, by(std::move(in_row), of_row));
    check_case(*along_column, arena, by(std::move(in_column), of_column));
    if (i % 4 == 0) {
      check_case(communicator, arena, by(random_case(3000 + seed, communicator.size(), 100), transport));
    }
  }
  const double before = communicator.wire_bytes();
  const int64_t moved_before = communicator.moved_bytes();
  const Case test = by(random_case(5, columns, 10), of_row);
  check_case(*along_row, arena, test);
  require(std::abs(communicator.wire_bytes() - before - wire_bytes(test, column, columns)) < 1e-6 * (1 + before),
          "a row's bytes count to the whole's");
  require(communicator.moved_bytes() - moved_before == moved_bytes(test, column, columns),
          "a row's moved bytes count to the whole's");
  std::unique_ptr<Communicator> single = along_row->split(column, 0);
  check_random_cases(*single, arena, 9, 5, transport.of({communicator.rank()}));
}

constexpr size_t arena_bytes = size_t{24} << 20;

inline void check_all(Communicator& communicator, std::span<std::byte> arena, int cases,
                      const Transport& transport = {}) {
  check_random_cases(communicator, arena, 1, cases, transport);
  check_long_buckets(communicator, arena, transport);
  check_bucketing(communicator, arena);
  check_reductions(communicator, arena);
  for (int columns : {2, 4}) {
    if (communicator.size() % columns == 0) check_grid(communicator, arena, columns, cases / 4, transport);
  }
  communicator.barrier();
}

}  // namespace shardscope::checks
