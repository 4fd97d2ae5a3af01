#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/reduction.h"
#include "engine/base/shape.h"
#include "engine/comm/channel.h"
#include "engine/comm/communication_record.h"

namespace shardscope {

// One array of a collective; a bucket is a list of them, done in one rendezvous. Arrays are contiguous and row-major.
// With p ranks in the group and `shape` the local shape of the source:
//   all_gather      destination[concat_dim] = p * shape[concat_dim]; rank i's source is block i
//   reduce_scatter  destination[split_dim] = shape[split_dim] / p; rank i gets block i of the sum or maximum
//   all_to_all      both; rank i sends block j of split_dim to rank j, which stores it as block i of concat_dim
//   all_reduce      same shape; source may be the destination
//   permute         same shape; zeros where nobody sends
// An all_to_all between dimensions 0 and 1 may be given how many rows along dimension 2 it has to move: `sent_rows` of
// the source's and `received_rows` of the destination's, for each (dimension 0, dimension 1) as many numbers as there
// are `row_groups`, which add up. No others move, and other rows of the destination then hold anything.
//
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
  const int32_t *sent_rows = nullptr, *received_rows = nullptr;  // both or neither; read from start to finish
  int64_t row_groups = 1;
};

// From one rank of a group to another.
struct ChannelEnds {
  int from = 0, to = 0;
};

// What a communicator shares with those that are split off it, and with its channels.
struct CommunicationTotals {
  CommunicationRecord records;  // the sum
  uint64_t tickets = 0;         // given out
};

// A group of ranks that communicate. Every member makes the same calls in the same order (where a finish is between
// the starts of later tickets is each member's own affair; of several communicators that share ranks, all members
// finish tickets in one order). Calls throw Failure (codes comm_aborted, comm_mpi, comm_argument) that name the rank;
// after abort(), every waiting or later call of every member throws.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // A communicator of the ranks that pass the same color, ordered by key. Collective over this group.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;

  // start publishes the sources and returns without waiting for peers; sources must stay unchanged, and destinations
  // must be neither read nor written, until finish of that ticket. Up to max_open_tickets of one communicator may be
  // open, besides those of others. They are finished in the order in which they were started: finish of another one,
  // and a start too many, throw Failure comm_argument and change nothing. A ticket is of one communicator alone.
  //
  //   t = start_all_gather(weights of the next layer) . compute . u = start_reduce_scatter(gradients) . compute .
  //   finish(t) . compute with the weights . finish(u)
  //
  // Results are the same bits as without overlap. Open tickets may be abandoned by destroying the communicator, with
  // their arrays once peers cannot read those any more: the others' calls then throw comm_aborted.
  using Ticket = uint64_t;
  static constexpr int max_open_tickets = 16;
  virtual Ticket start_all_gather(std::span<const CollectivePart> parts) = 0;
  virtual Ticket start_all_reduce(std::span<const CollectivePart> parts) = 0;
  virtual Ticket start_reduce_scatter(std::span<const CollectivePart> parts) = 0;
  virtual Ticket start_all_to_all(std::span<const CollectivePart> parts) = 0;
  // Rank r sends its sources to destination_of[r], to no rank where that is -1; no two ranks send to the same one. What
  // a rank gets to which nobody sends is zeros.
  virtual Ticket start_permute(std::span<const CollectivePart> parts, std::span<const int> destination_of) = 0;
  virtual CommunicationRecord finish(Ticket ticket) = 0;

  // Like split and open_channels, while no ticket of this communicator is open.
  virtual CommunicationRecord barrier() = 0;
  // Channels between members, made together: collective, with the same list on all. Null where this rank is neither
  // end. They may outlive this communicator, not the arena.
  virtual std::vector<std::unique_ptr<Channel>> open_channels(std::span<const ChannelEnds> ends) = 0;
  // Lets what is under way to other hosts go on, of this communicator and of all with which it shares a world: MPI
  // moves messages only while it is called, and a collective of several stages sends its next one. Never waits; for any
  // moment between two calls. Throws comm_aborted where it learns of an abort.
  virtual void progress() {}

  // Makes every member's waits and later calls throw. Callable from any thread and from a signal-free error path.
  virtual void abort() noexcept = 0;

  // Start and finish in one, while no ticket of this communicator is open.
  CommunicationRecord all_gather(std::span<const CollectivePart> parts) { return finish(start_all_gather(parts)); }
  CommunicationRecord all_reduce(std::span<const CollectivePart> parts) { return finish(start_all_reduce(parts)); }
  CommunicationRecord reduce_scatter(std::span<const CollectivePart> parts) {
    return finish(start_reduce_scatter(parts));
  }
  CommunicationRecord all_to_all(std::span<const CollectivePart> parts) { return finish(start_all_to_all(parts)); }
  CommunicationRecord permute(std::span<const CollectivePart> parts, std::span<const int> destination_of) {
    return finish(start_permute(parts, destination_of));
  }

  // The sums of all records that this rank was given: by this communicator, by those that share its world through
  // split, and by their channels. What communicators need for themselves (split, open_channels) is in none.
  double wire_bytes() const { return totals_->records.wire_bytes; }
  int64_t moved_bytes() const { return totals_->records.moved_bytes; }
  int64_t waited_ns() const { return totals_->records.waited_ns; }
  int64_t transfer_ns() const { return totals_->records.transfer_ns; }

 protected:
  // What `child` is given counts to this, too.
  void share_totals(Communicator& child) const { child.totals_ = totals_; }

  std::shared_ptr<CommunicationTotals> totals_ = std::make_shared<CommunicationTotals>();
};

}  // namespace shardscope
