#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/instruction_kind.h"
#include "engine/base/place.h"
#include "engine/machine/machine_prices.h"

namespace shardscope {

// A collective among the devices 0, stride, 2 stride, ..., and no other at the same time.
struct MeasuredCollective {
  InstructionKind collective = InstructionKind::all_reduce;
  int64_t bytes = 0;  // payload, as collective_seconds.h has it: all-gather, reduce-scatter: the full size
  int ranks = 2, stride = 1;
};

// A training step of a run file.
struct MeasuredStepTime {
  std::string run_file;  // relative to where the program runs
  std::string name;      // as the row has it
  int column = 0;        // of that
};

// What somebody measured on a cluster, and where it is written.
struct MeasuredRow {
  std::variant<PricedProduct, MeasuredCollective, MeasuredStepTime> work;
  double seconds = 0;
  Place place;  // file and line

  bool is_step() const { return std::holds_alternative<MeasuredStepTime>(work); }
};

// The devices of a row's group.
std::vector<int> members_of(const MeasuredCollective& work);

// "product", "collective", "step"; "bf16 4096 x 4096 x 1024", "all-reduce of 64.0 MiB among 8", "run.json".
std::string kind_of(const MeasuredRow& row);
std::string to_string(const MeasuredRow& row);

// The rows of a text: output of nccl-tests (nccl_tests.h) where it has their first line, else comma-separated values.
// Of these the first line names the columns; lines that are empty or begin with # are left out; a cell with commas
// stands between double quotes. What a kind of row has no use for is an empty cell, or a column that is absent.
//
//   kind,seconds,dtype,m,k,n,batch,collective,bytes,ranks,stride,run_file
//   product,0.000213,bf16,4096,4096,4096,,,,,,     batch products of an m x k by a k x n matrix; without batch: one
//   collective,0.00051,,,,,,all-reduce,67108864,8,,  without stride: 1
//   step,1.93,,,,,,,,,,run.json                    a run file, relative to the folder of `name`
//
// Throws Failure with all faults, each at its line and column in `name`; of nccl-tests the first.
std::vector<MeasuredRow> parse_measurements(const std::string& text, const std::string& name);
// Throws likewise, and where the file cannot be read.
std::vector<MeasuredRow> load_measurements(const std::string& path);

// The collective of a name: "all-reduce", and as NCCL and nccl-tests spell them: "all_reduce", "alltoall", "sendrecv"
// (each rank to the next: a permute). Throws Failure (unknown_collective) at the place.
InstructionKind collective_of(const std::string& name, const Place& place);

// What rows take on a machine. A product is one rank's that has its host to itself. Not for several threads at a time:
// placements of groups are remembered.
class RowPrices {
 public:
  explicit RowPrices(const Machine& machine);
  double seconds(const PricedProduct& product) const { return alone_.matrix_product_seconds(product); }
  // Throws Failure (device_count) where the machine has fewer devices.
  double seconds(const MeasuredCollective& work);
  const GroupPlacement& placement(const MeasuredCollective& work) { return group(work).placement; }

 private:
  struct Group {
    MachinePrices prices;
    GroupPlacement placement;
  };
  const Group& group(const MeasuredCollective& work);

  Machine links_;  // without rates of products
  MachinePrices alone_;
  std::map<std::pair<int, int>, Group> groups_;  // by ranks and stride
};

}  // namespace shardscope
