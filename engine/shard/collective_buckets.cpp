#include "engine/shard/collective_buckets.h"

#include <utility>

#include "engine/shard/hash_mix.h"

namespace shardscope {

int CollectiveBuckets::find(const BucketKey& key, double runs, double count) {
  uint64_t hash = mix(static_cast<uint64_t>(key.task), static_cast<uint64_t>(key.section));
  hash = mix(mix(hash, static_cast<uint64_t>(key.op)), key.stage);
  hash = mix(hash, static_cast<uint64_t>(key.kind));
  for (AxisIndex axis : key.axes) hash = mix(hash, axis);
  auto [first, last] = index_.equal_range(hash);
  for (; first != last; ++first) {
    if (buckets_[first->second].key == key) return first->second;
  }
  buckets_.push_back({key, runs, count, 0, 0});
  index_.emplace(hash, static_cast<int>(buckets_.size()) - 1);
  return static_cast<int>(buckets_.size()) - 1;
}

double CollectiveBuckets::add(int bucket, double bytes) {
  Bucket& changed = buckets_[static_cast<size_t>(bucket)];
  changed.bytes += bytes;
  const double before = std::exchange(changed.seconds, seconds(changed, changed.bytes));
  return changed.seconds - before;
}

double CollectiveBuckets::increase(int bucket, double bytes) const {
  const Bucket& changed = buckets_[static_cast<size_t>(bucket)];
  return seconds(changed, changed.bytes + bytes) - changed.seconds;
}

double CollectiveBuckets::seconds() const {
  double total = 0;
  for (const Bucket& bucket : buckets_) total += bucket.seconds;
  return total;
}

void CollectiveBuckets::clear() {
  for (Bucket& bucket : buckets_) bucket.bytes = bucket.seconds = 0;
}

double CollectiveBuckets::seconds(const Bucket& bucket, double bytes) const {
  if (bytes == 0) return 0;
  return bucket.runs * bucket.count * prices_.collective(bucket.key.kind, bytes / bucket.count, bucket.key.axes);
}

}  // namespace shardscope
