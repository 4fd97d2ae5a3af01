#pragma once

#include <vector>

#include "engine/shard/layout_tables.h"

namespace shardscope {

// Seconds of a value's reshards, and its bytes that a device holds from forward to backward.
struct ValueCost {
  double seconds = 0;
  double held = 0;
  bool regather = false;
};

// What the placements chosen now in the tables cost: the work of the ops, the reshards of the values, and the bytes
// that are held. Bytes are looked at only where `limited`.
class ChoiceCost {
 public:
  ChoiceCost(LayoutTables& tables, bool limited) : tables_(tables), limited_(limited) {}

  // Seconds that a byte held is worth. At a price, a value's further layouts may be given up after forward and made
  // again in backward.
  double price = 0;

  bool limited() const { return limited_; }
  void stop_limiting() { limited_ = false; }

  // The value as chosen now, and as mode as_written would lower it. Infinite where a use cannot be reached.
  ValueCost value(const ValueNode& value);
  ValueCost value_as_written(const ValueNode& value) { return value_at(value, value.start_pin, false); }
  double objective(const ValueCost& cost) const { return cost.seconds + price * cost.held; }

  // Of the whole step, given the costs of its values.
  double seconds(const std::vector<ValueCost>& values) const;
  double held_bytes(const std::vector<ValueCost>& values) const;
  // What lies on a device between steps.
  double stored_bytes() const;
  // At the end of forward, with room for the operands and results of the largest op.
  double memory_bytes(const std::vector<ValueCost>& values) const;

 private:
  ValueCost value_at(const ValueNode& value, int pin, bool regather);

  LayoutTables& tables_;
  bool limited_;
};

}  // namespace shardscope
