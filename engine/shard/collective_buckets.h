#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/shard/open_tasks.h"
#include "engine/shard/reshard_section.h"
#include "engine/shard/work_prices.h"

namespace shardscope {

// Arrays for which lower() makes one collective (StagedInstructions).
struct BucketKey {
  TaskPart task = TaskPart::forward;
  Section section = Section::opening;
  int op = -1;  // class of ops; of section before_op
  size_t stage = 0;
  InstructionKind kind = InstructionKind::all_reduce;
  AxisList axes;
  Reduction reduction = Reduction::sum;
  DType dtype = DType::f32;  // of a kind that reduces
  bool operator==(const BucketKey&) const = default;
};

// What the collectives that small arrays share take in a step, while arrays join and leave them.
class CollectiveBuckets {
 public:
  explicit CollectiveBuckets(const WorkPrices& prices) : prices_(prices) {}

  // The bucket, made empty where there is none. `runs` of its task in a step, for each of `count` equal ops.
  int find(const BucketKey& key, double runs, double count);
  // Arrays of so many bytes in all join, or leave (below zero); by how much the step gets longer.
  double add(int bucket, double bytes);
  double increase(int bucket, double bytes) const;  // without joining
  double seconds(int bucket) const { return buckets_[static_cast<size_t>(bucket)].seconds; }
  double seconds() const;
  void clear();

 private:
  struct Bucket {
    BucketKey key;
    double runs = 1, count = 1;
    double bytes = 0;
    double seconds = 0;  // in a step
  };

  double seconds(const Bucket& bucket, double bytes) const;

  const WorkPrices& prices_;
  std::vector<Bucket> buckets_;
  std::unordered_multimap<uint64_t, int> index_;
};

}  // namespace shardscope
