#pragma once

#include <string>
#include <variant>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/mesh/mesh.h"

namespace shardscope {

// The mesh axes of one entry of a rule, read once.
struct RuleAxes {
  int number = 0;       // among all entries of the table
  std::string logical;  // the dimension's name; empty in a rule by size
  AxisList axes;
  int64_t count = 1;  // of shards
  std::string text;   // "mlp -> model"
  std::string place;  // "sharding.rules[1].axes.mlp"
};

// One line of the whole table: in, out, parameters, constraints and rules alike.
struct TableRule {
  std::string names;
  std::vector<SpecKind> of;
  std::vector<std::string> dimensions;  // of arrays with these alone; empty: of any
  std::string place;                    // of the line in the run file
  int rule = -1;                        // index in sharding.rules
  const PartitionSpec* spec = nullptr;  // of a rule by name; else
  bool by_size = false;                 // by size or by logical names, with
  std::vector<RuleAxes> entries;        // one by size, one for each logical name
  int64_t minimum_bytes = 0;
  std::string spec_place;     // of the spec; errors add the dimension
  std::vector<Error> errors;  // of axis names; a rule that has any replicates

  bool is_of(SpecKind kind) const;
};

// In the order of the file. Refers to specs of `sharding`.
std::vector<TableRule> spec_table(const ShardingConfig& sharding, const Mesh& mesh);

// The order in which the lines are asked: that of the file, but exact names of a section before its patterns.
std::vector<int> asking_order(const std::vector<TableRule>& table);

}  // namespace shardscope
