#pragma once

#include <mpi.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/comm/control_region.h"

namespace shardscope {

// Messages under way of one owner. Stays where it is while there are any.
struct MpiTransfers {
  size_t under_way = 0;
};

// What goes on in stages while its rank does other work.
class MpiPending {
 public:
  virtual ~MpiPending() = default;
  // Does what can be done without waiting.
  virtual void advance() = 0;
};

// Messages between the ranks of a run: what a communicator and all that are split off it have in common. Every group
// has its own tag. A wait tests and sleeps, and looks for a message that aborts the run; MPI itself never blocks.
//
// All messages under way are tested in one call of MPI, since each call that finds nothing done goes through all of
// MPI's sockets: its cost does not grow with what is open.
class MpiLink {
 public:
  // Collective over MPI_COMM_WORLD. Messages are cut into pieces of at most `max_message_bytes` (<= INT_MAX).
  explicit MpiLink(int64_t max_message_bytes);

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Smallest tag that no group of this rank has; tags below `tag` are taken from now on.
  int next_tag() const { return next_tag_; }
  void take_tags_below(int tag);

  // Returns the bytes that it handed to MPI. `synchronous`: done no sooner than the receiver receives it.
  [[nodiscard]] int64_t send(MpiTransfers& transfers, const std::byte* data, int64_t bytes, int to, int tag,
                             bool synchronous = false);
  void receive(MpiTransfers& transfers, std::byte* data, int64_t bytes, int from, int tag);
  // Returns when all are done; makes progress meanwhile. Throws as progress(). Where it fails, the waiting ranks of
  // `region`, if there is one, are informed.
  void wait(const MpiTransfers& transfers, ControlRegion* region);
  // Drops transfers that will not complete; their memory is kept to the end of the process, as MPI may touch it.
  void abandon(MpiTransfers& transfers, std::vector<std::vector<std::byte>> memory,
               std::shared_ptr<const void> arena = {}) noexcept;

  void abort() noexcept;
  // Throws Failure comm_aborted, naming the rank, when one of them has aborted the run. MPI goes on with what is under
  // way meanwhile, as it does in each of its calls, and in none but these.
  void check_aborted();

  // While messages are under way: check_aborted(), and counts those that are done. Then takes on what is pending; what
  // was added must be removed before it is gone. Of one thread. Throws Failure comm_mpi, comm_aborted, and
  // comm_argument for a message of another length.
  void progress();
  void add(MpiPending& pending) { pending_.push_back(&pending); }
  void remove(MpiPending& pending) noexcept { std::erase(pending_, &pending); }

 private:
  struct Message {
    MpiTransfers* owner = nullptr;
    int peer = 0;
    int receive_bytes = -1;  // of a send
  };

  void add_message(MPI_Request request, const Message& message);
  void test();
  void check_received(const MPI_Status& status, const Message& message) const;
  void remove_done();
  void await(const MpiTransfers& transfers);

  MPI_Comm communicator_ = MPI_COMM_NULL;  // given back by MPI_Finalize
  int rank_ = 0;
  int size_ = 1;
  int64_t max_message_bytes_;
  int highest_tag_ = 32767;
  int next_tag_ = 1;
  std::mutex mutex_;                  // around calls of MPI, and for what follows
  std::atomic<int> aborted_by_ = -1;  // the rank, as far as is known here; -1 for none
  // Of messages under way, by place; null requests are done.
  std::vector<MPI_Request> requests_;
  std::vector<Message> messages_;
  std::vector<int> done_;  // places, of one test
  std::vector<MPI_Status> statuses_;
  std::vector<MpiPending*> pending_;  // in the order of start
};

}  // namespace shardscope
