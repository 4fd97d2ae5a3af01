#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/shard/op_classes.h"
#include "engine/shard/open_tasks.h"

namespace shardscope {

// A layout problem reduced to small numbers, so that a search over it is table look-ups.

// The placements of one kind of op, as layout ids and seconds; made when first asked for.
class PlacementTable {
 public:
  PlacementTable(const LayoutProblem& problem, LayoutCosts& costs, OpId op,
                 const std::vector<std::vector<AxisIndex>>& orders);

  // Index of a placement; -1 where it is not legal.
  int find(const Placement& placement);
  // Placements that a search may try in the place of this one: all of them where they are few, else those with another
  // place for one axis, or with two axes exchanged.
  const std::vector<int>& neighbours(int placement);

  const FactorRule& rule() const { return rule_; }
  const Placement& placement(int index) const { return placements_[index]; }
  double seconds(int index) const { return seconds_[index]; }  // work of one device
  double bytes(int index) const { return bytes_[index]; }      // its operands and results
  int operand(int index, int i) const { return layouts_[static_cast<size_t>(index) * arrays_ + i]; }
  int result(int index, int i) const { return layouts_[static_cast<size_t>(index) * arrays_ + operands_ + i]; }

 private:
  int add(const Placement& placement, uint64_t key);
  std::vector<int> near(const Placement& placement);

  const LayoutProblem& problem_;
  LayoutCosts& costs_;
  const FactorRule& rule_;
  const std::vector<std::vector<AxisIndex>>& orders_;
  size_t operands_, arrays_;
  const Op& op_;
  std::vector<int> types_;  // of operands, then results
  std::vector<Placement> placements_;
  std::vector<double> seconds_, bytes_;
  std::vector<int> layouts_;  // [placement][operand, then result]
  std::unordered_multimap<uint64_t, int> index_;
  std::vector<int> all_;                      // empty where they are many
  std::vector<std::vector<int>> neighbours_;  // where they are many, as far as asked for
};

// One class of ops.
struct OpNode {
  OpId op = no_id;  // the first
  int count = 0;
  double runs = 0;  // of all its ops in a step
  int table = 0;
  int chosen = 0;
  bool fixed = false;  // in place
  TaskPart part = TaskPart::forward;
  bool takes_scalars_alone = false;
  std::vector<int> touched;  // value nodes
};

// Values that come from the same result of one class, lie alike and go to the same operands of the same classes.
struct ValueNode {
  ValueId value = no_id;  // the first
  int count = 0;
  int producer = -1;  // op node
  int result = 0;
  int type = 0;
  int pin = -1;        // layout id
  int start_pin = -1;  // layout id: where it is laid out as written
  bool start_reshard_after_forward = false;
  bool small = false;       // resharded with others
  bool is_of_step = false;  // its layouts for forward and backward are made once a step
  bool is_reported = false;
  std::vector<std::pair<int, int>> uses;  // op node and operand, in order, each once
};

// (op node, factor) pairs that are tied by the values between the ops: splitting "the batch" means all of them.
using DimensionClass = std::vector<std::pair<int, int>>;

struct LayoutTables {
  explicit LayoutTables(const LayoutProblem& problem);
  LayoutTables(const LayoutTables&) = delete;

  PlacementTable& table(const OpNode& op) { return tables[op.table]; }
  // How often a step runs a task.
  double runs(TaskPart part) const { return is_repeated(part) ? microbatches : 1; }

  double microbatches;
  double devices, stages;  // of a stage; of the pipeline
  bool apart_from_update;  // forward and backward may run several times before the update
  bool begins = false;     // something is made of states alone, once a step

  LayoutCosts costs;
  // Orders of the axes that may share a dimension: the mesh's, and those that pins use.
  std::vector<std::vector<AxisIndex>> orders;
  std::vector<PlacementTable> tables;
  OpClasses classes;
  std::vector<OpNode> ops;
  std::vector<ValueNode> values;
  std::vector<int> node_of_value;
  std::vector<DimensionClass> dimensions;
  // Per op that has gradients, it and them: all their factors, sorted by label.
  std::vector<std::vector<std::pair<int, int>>> groups;
  // Per gradient of a parameter that is widened: the casts, and the ops through which sums of its parts pass behind
  // them. One of them alone in parts only moves the sum to where it is of more bytes.
  std::vector<std::vector<int>> widened_sums;
};

}  // namespace shardscope
