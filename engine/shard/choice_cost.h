#pragma once

#include <array>
#include <optional>
#include <vector>

#include "engine/shard/collective_buckets.h"
#include "engine/shard/layout_tables.h"
#include "engine/shard/reshard_section.h"

namespace shardscope {

// What a value's reshards cost in a step: seconds of those that it has for itself, its bytes in the collectives that it
// shares with other small arrays, and its bytes that a device holds from forward to backward.
struct ValueCost {
  struct Share {
    int bucket = -1;
    double bytes = 0;
    bool operator==(const Share&) const = default;
  };

  double seconds = 0;
  double held = 0;
  bool reshard_after_forward = false;
  std::vector<Share> shares;
};

// What the placements chosen now in the tables cost: the work of the ops and the reshards of the values, as lower()
// makes them, and the bytes that are held. Of one stage the seconds are those of the lowered program's instructions,
// one after the other.
class ChoiceCost {
 public:
  ChoiceCost(LayoutTables& tables, const WorkPrices& prices) : tables_(tables), prices_(prices), buckets_(prices) {}

  // Seconds that a byte held is worth. At a price, a value's further layouts may be given up after forward and made
  // again in backward.
  double price = 0;
  // Of what a collective of no bytes takes, for each small array, in the place of what it shares with others; none:
  // what it shares. A search that moves one array at a time sees at such prices what moving all of them would give.
  std::optional<double> latency_share;
  // Whether bytes held are looked at.
  bool counts_bytes = false;

  // The value as chosen now, beside the others as they were last brought up to date. Infinite where a use cannot be
  // reached.
  ValueCost value(const ValueNode& value);
  double objective(const ValueCost& cost) const { return cost.seconds + price * cost.held; }

  // Looks at all values anew.
  void refresh(std::vector<ValueCost>& values);
  // By how much the step gets longer where a value goes from one cost to another, what it shares with others included.
  double exchange(const ValueNode& value, const ValueCost& before, const ValueCost& after);

  // At most so much the step gets shorter where a value costs less.
  double savable(const ValueNode& value, const ValueCost& cost) const;

  // Of the whole step, given the costs of its values.
  double seconds(const std::vector<ValueCost>& values) const;
  double held_bytes(const std::vector<ValueCost>& values) const;
  // A device of any choice holds no less at the end of forward: what is stored, and what backward uses of forward's
  // results, split among all devices. In a pipeline the mean of the stages.
  double least_bytes() const;
  // Of the step that mode as_written would lower, whose placements are chosen now; forgets the other.
  double seconds_as_written();

 private:
  // A layout of the value at hand, and where lower() makes it.
  struct Layout {
    int id = -1;
    Making making;
    bool saved = false;  // used in backward
  };
  // More are forgotten: they would be made from others.
  static constexpr int most_layouts = 32;

  ValueCost value_at(const ValueNode& value, int pin, bool reshard_after_forward);
  void define(const ValueNode& value, int pin, ValueCost& cost);
  bool is_used_as_defined(const ValueNode& value);
  // The layout that an operand needs, made in the task of its op or another. False where it cannot be.
  bool use(const ValueNode& value, const OpNode& user, int needed, TaskPart task, bool reshard_after_forward,
           ValueCost& cost);
  void move(const ValueNode& value, const Layout& from, int needed, const BucketKey& place, ValueCost& cost);
  void finish_reported(const ValueNode& value, ValueCost& cost);
  void add_made(const Layout& layout) {
    if (made_count_ < most_layouts) made_[made_count_++] = layout;
  }

  LayoutTables& tables_;
  const WorkPrices& prices_;
  CollectiveBuckets buckets_;
  std::array<Layout, most_layouts> made_;  // of the value at hand, in the order made
  int made_count_ = 0;
};

}  // namespace shardscope
