#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/communicator.h"

namespace shardscope {

// Lets every rank know a small record of every other: one all-gather of a line of 192 bytes, small enough for
// communicators to take it from any memory.
class RankExchange {
 public:
  static constexpr size_t line_bytes = 192;

  explicit RankExchange(Communicator& world) : world_(world), lines_(line_bytes * (1 + world.size())) {}

  // Collective; the records in the order of ranks.
  template <class Record>
  std::vector<Record> gather(const Record& own) {
    static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) <= line_bytes);
    std::memcpy(lines_.data(), &own, sizeof(Record));
    all_gather();
    std::vector<Record> records(static_cast<size_t>(world_.size()));
    for (size_t rank = 0; rank < records.size(); ++rank) {
      std::memcpy(&records[rank], lines_.data() + line_bytes * (1 + rank), sizeof(Record));
    }
    return records;
  }

  // Collective: the lowest rank that has an error throws it, and the others wait for that one to abort.
  void throw_together(const std::optional<Failure>& error);

 private:
  void all_gather();

  Communicator& world_;
  std::vector<std::byte> lines_;  // own, then everyone's
};

}  // namespace shardscope
