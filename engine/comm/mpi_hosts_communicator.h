#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/comm/collective_communicator.h"
#include "engine/comm/host_layout.h"
#include "engine/comm/mpi_link.h"
#include "engine/comm/mpi_operation.h"
#include "engine/comm/peer_table.h"

namespace shardscope {

// What the groups of a run on several hosts have in common.
struct HostsWorld {
  std::shared_ptr<MpiLink> link;          // to the ranks of all hosts
  std::shared_ptr<ControlRegion> region;  // of the ranks of this host
  std::shared_ptr<const PeerMemory> memory;
  std::vector<int> host_of_rank;  // by rank of the run
  // Readable by the ranks of this host, staging_bytes() of it: the destinations of a small call while it is finished.
  std::span<std::byte> staging;
  std::vector<uint64_t> staging_of_rank;  // as each rank of this host has published it

  // Of a group of `ranks` ranks.
  static int64_t staging_bytes(int ranks) { return ranks * MemberSlot::payload_bytes; }
};

// Ranks of several hosts: those of one host read each other's arrays in place, and messages cross between hosts alone.
// No byte goes to another host twice, and sums are taken on each host before they are sent:
//
//   all-gather      each piece is sent once to every other host, whose ranks copy it from the one that received it
//   reduce-scatter  each host sums what it has for a rank of another host, and sends one array
//   all-reduce      as reduce-scatter of a chunk a rank, then as all-gather of the chunks
//   all-to-all, permute   straight from rank to rank
//
//   result = (sum over the first host's members, in order) + (the second host's) + ...
//
// so that all members hold the same bits, whatever the timing. Sums of bf16 cross in f32 and are rounded once.
// Calls of up to about 8 KiB of sources may have their arrays anywhere; of others, what peers read must lie in the
// arena: sources, and destinations of all-reduces and all-gathers.
//
// All messages leave in start and progress: pieces of a gather or an exchange are packed and sent by start; sums are
// taken and sent by progress once the members of this host have started, and an all-reduce's chunks once those have
// come. What follows is done in finish. Calls of more than 512 parts (and 8 KiB) go in rounds of that many, of which
// the first alone is sent before finish.
//
// What they move (CommunicationRecord::moved_bytes), with p members, h of them on this host, H hosts, and n bytes of
// sources of each, of more than 8 KiB:
//
//   all-gather      (H + p) n                  packed, sent to each other host, taken
//   all-to-all      (3 (p - h) + h) n / p      of other hosts packed, sent and unpacked; of counted rows these alone
//   permute         n, and 2 n more where the receiver is on another host
//   reduce-scatter  (h + H) n / p, and (h + 1) n / p more for each member of another host whose sum it sends
//   all-reduce      as reduce-scatter, and (1 + (H - 1) / p) n
class HostsCommunicator final : public CollectiveCommunicator {
 public:
  // The ranks of a run that form a group, on at least two hosts; `member` is the caller's index. `group` is made by the
  // region for those of this host. Groups that share a rank have different tags.
  HostsCommunicator(std::shared_ptr<const HostsWorld> world, uint64_t group, std::vector<int> world_ranks, int member,
                    int tag);
  HostsCommunicator(const HostsCommunicator&) = delete;
  HostsCommunicator& operator=(const HostsCommunicator&) = delete;

  int rank() const override { return member_; }
  int size() const override { return static_cast<int>(world_ranks_.size()); }
  // Of members of one host a communicator that shares memory alone.
  std::unique_ptr<Communicator> split(int color, int key) override;
  void progress() override { world_->link->progress(); }
  void abort() noexcept override;

 protected:
  int world_rank() const override { return rank_of(member_); }
  std::unique_ptr<Operation> make_operation() override;
  void begin(Operation& begun) override;
  void complete(Operation& begun) override;
  std::vector<std::unique_ptr<Channel>> make_channels(std::span<const ChannelEnds> ends) override;

 private:
  class Round;

  int rank_of(int member) const { return world_ranks_[static_cast<size_t>(member)]; }
  bool is_here(int member) const { return layout_.host(member) == host_; }
  const std::vector<int>& here() const { return layout_.members(host_); }
  // Does this member receive on this host what `member`, of another one, sends to it?
  bool receives_for(int member) const { return layout_.forwarder(host_, member) == member_; }

  // The first round, or the one that follows.
  MpiStages stages(Round& round);
  MpiStages barrier(Round& round);
  MpiStages all_gather(Round& round);
  MpiStages exchange_pieces(Round& round);  // all-to-all and permute
  MpiStages reduce_scatter(Round& round);
  MpiStages all_reduce(Round& round);

  void stage(Round& round);
  void unstage(Round& round);
  void arrive(Round& round);
  void publish(Round& round);
  const std::byte* source(const Round& round, int member, size_t part) const;
  const std::byte* destination(const Round& round, int member, size_t part) const;

  void post(Round& round);
  void take_piece(Round& round, int sender);
  void take_gathered(Round& round, int sender);
  int64_t slice_elements(const Round& round, int owner) const;
  void sum_here(Round& round, int owner, std::byte* to);
  void send_sums(Round& round);
  void combine(Round& round, std::byte* packed);
  void send_chunks(Round& round);
  void place_chunks(Round& round, int owner, const std::byte* from);
  void take_chunks(Round& round, int owner, int holder);

  std::shared_ptr<const HostsWorld> world_;
  std::vector<int> world_ranks_;
  int member_;
  int tag_;
  HostLayout layout_;
  int host_;
  PeerTable table_;                        // of the members of this host, in order
  std::vector<const std::byte*> sources_;  // of a sum under way
};

}  // namespace shardscope
