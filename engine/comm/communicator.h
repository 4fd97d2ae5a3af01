#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/reduction.h"
#include "engine/base/shape.h"
#include "engine/comm/channel.h"

namespace shardscope {

// One array of a collective; a bucket is a list of them, done in one rendezvous. Arrays are contiguous and row-major.
// With p ranks in the group and `shape` the local shape of the source:
//   all_gather      destination[concat_dim] = p * shape[concat_dim]; rank i's source is block i
//   reduce_scatter  destination[split_dim] = shape[split_dim] / p; rank i gets block i of the sum or maximum
//   all_to_all      both; rank i sends block j of split_dim to rank j, which stores it as block i of concat_dim
//   all_reduce      same shape; source may be the destination
//   permute         same shape
// Sums are taken in the order of ranks, so results do not depend on timing or bucketing. f32 and bf16 are summed, in
// f32; of f32 and i32 the maximum is taken.
struct CollectivePart {
  const void* source = nullptr;
  void* destination = nullptr;
  Shape shape;
  DType dtype = DType::f32;
  int split_dim = -1;
  int concat_dim = -1;
  Reduction reduction = Reduction::sum;
};

// From one rank of a group to another.
struct ChannelEnds {
  int from = 0, to = 0;
};

// What a rank has sent, moved and waited, shared by a communicator with those that are split off it, and with its
// channels.
struct CommunicationCounts {
  std::shared_ptr<double> wire_bytes = std::make_shared<double>(0);
  std::shared_ptr<int64_t> moved_bytes = std::make_shared<int64_t>(0);
  std::shared_ptr<int64_t> waited_ns = std::make_shared<int64_t>(0);
};

// A group of ranks that communicate. Every member makes the same calls in the same order. Calls throw Failure
// (codes comm_aborted, comm_mpi, comm_argument) that name the rank; after abort(), every waiting or later call of every
// member throws.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // A communicator of the ranks that pass the same color, ordered by key. Collective over this group.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;

  // start publishes the sources and returns at once where the implementation can; sources must stay unchanged, and
  // destinations must not be read, until finish of that ticket. At most one ticket is open at a time per communicator.
  using Ticket = uint64_t;
  virtual Ticket start_all_gather(std::span<const CollectivePart> parts) = 0;
  virtual Ticket start_all_reduce(std::span<const CollectivePart> parts) = 0;
  virtual Ticket start_reduce_scatter(std::span<const CollectivePart> parts) = 0;
  virtual Ticket start_all_to_all(std::span<const CollectivePart> parts) = 0;
  // Rank r sends its sources to destination_of[r]; destination_of is a permutation.
  virtual Ticket start_permute(std::span<const CollectivePart> parts, std::span<const int> destination_of) = 0;
  virtual void finish(Ticket ticket) = 0;

  virtual void barrier() = 0;
  // Channels between members, made together: collective, with the same list on all. Null where this rank is neither
  // end. They may outlive this communicator, not the arena.
  virtual std::vector<std::unique_ptr<Channel>> open_channels(std::span<const ChannelEnds> ends) = 0;
  // Lets messages to other hosts that are under way go on: MPI moves them only while it is called. Cheap, for any
  // moment between two calls; throws comm_aborted where it learns of an abort.
  virtual void progress() {}

  // Makes every member's waits and later calls throw. Callable from any thread and from a signal-free error path.
  virtual void abort() noexcept = 0;

  void all_gather(std::span<const CollectivePart> parts) { finish(start_all_gather(parts)); }
  void all_reduce(std::span<const CollectivePart> parts) { finish(start_all_reduce(parts)); }
  void reduce_scatter(std::span<const CollectivePart> parts) { finish(start_reduce_scatter(parts)); }
  void all_to_all(std::span<const CollectivePart> parts) { finish(start_all_to_all(parts)); }
  void permute(std::span<const CollectivePart> parts, std::span<const int> destination_of) {
    finish(start_permute(parts, destination_of));
  }

  // Bytes that this rank has sent by the ring convention, counted from the calls' arguments alone: all-reduce
  // 2(p-1)/p n, all-gather and reduce-scatter (p-1)/p of the full size, all-to-all (p-1)/p n, permute and send n. A
  // communicator made by split, and a channel, add to it too.
  double wire_bytes() const { return *counts_.wire_bytes; }
  // Bytes that this rank has really moved, counted where the transport moves them: each byte that it read to copy it
  // (its own or a peer's) or to sum it, and each that it handed to MPI; a byte packed, sent and unpacked counts three
  // times, two of them on the sender. What MPI does by itself is not seen. Shared like wire_bytes. What communicators
  // need for themselves (split, open_channels) counts to neither. With p members and n bytes of sources of each, of
  // more than 8 KiB:
  //                  ranks of one host             MPI
  //   all-gather     p n                           (2p+1) n
  //   reduce-scatter, all-to-all, permute   n      3 n
  //   all-reduce     (2p-1)/p n                    5 n        (p divides n)
  int64_t moved_bytes() const { return *counts_.moved_bytes; }
  // Nanoseconds that this rank has slept inside calls because peers had not come; shared like wire_bytes. 0 for
  // collectives whose waiting cannot be told from transfer (MPI).
  int64_t waited_ns() const { return *counts_.waited_ns; }

 protected:
  // What `child` sends and waits counts to this, too.
  void share_counts(Communicator& child) const { child.counts_ = counts_; }

  CommunicationCounts counts_;
};

}  // namespace shardscope
