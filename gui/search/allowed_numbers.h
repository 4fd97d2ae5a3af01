#pragma once

#include <QString>
#include <cstdint>
#include <vector>

namespace shardscope {

// The values that a number of a strategy may have, as they are typed: "8"; "1, 2, 4"; "2..8" with both ends; "4.." and
// "..8". An empty text allows all.
struct AllowedNumbers {
  struct Range {
    int64_t low = 0, high = 0;
    bool operator==(const Range&) const = default;
  };

  std::vector<Range> ranges;  // empty: all
  QString fault;              // what cannot be read, and what can; empty: the text is legal

  bool is_any() const { return ranges.empty(); }
  bool allows(int64_t number) const;
  bool operator==(const AllowedNumbers&) const = default;
};

AllowedNumbers allowed_numbers(const QString& text);

// Why no strategy of so many devices has one of these as the number of that key ("tensor"), whatever the model; empty
// where some may have.
QString never_of(const AllowedNumbers& allowed, const QString& key, int64_t devices);

}  // namespace shardscope
