#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/comm/collective_communicator.h"
#include "engine/comm/host_layout.h"
#include "engine/comm/mpi_link.h"
#include "engine/comm/peer_table.h"

namespace shardscope {

// What the groups of a run on several hosts have in common.
struct HostsWorld {
  std::shared_ptr<MpiLink> link;          // to the ranks of all hosts
  std::shared_ptr<ControlRegion> region;  // of the ranks of this host
  std::shared_ptr<const PeerMemory> memory;
  std::vector<int> host_of_rank;  // by rank of the run
  std::span<std::byte> staging;   // readable by the ranks of this host; staging_bytes() of it

  // Room for a small call's sources, and for its destinations in a group of `ranks` ranks.
  static int64_t staging_bytes(int ranks) { return (1 + ranks) * (MemberBlock::payload_bytes + 16); }
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
// What they move (Communicator::moved_bytes), with p members, h of them on this host, H hosts, and n bytes of sources
// of each, of more than 8 KiB:
//
//   all-gather      (H + p) n                  packed, sent to each other host, taken
//   all-to-all      (3 (p - h) + h) n / p      of other hosts packed, sent and unpacked
//   permute         n, and 2 n more where the receiver is on another host
//   reduce-scatter  (h + H) n / p, and (h + 1) n / p more for each member of another host whose sum it sends
//   all-reduce      as reduce-scatter, and (1 + (H - 1) / p) n
class HostsCommunicator final : public CollectiveCommunicator {
 public:
  // The ranks of a run that form a group, on at least two hosts; `member` is the caller's index. `group` is made by the
  // region for those of this host. Groups that share a rank have different tags.
  HostsCommunicator(std::shared_ptr<const HostsWorld> world, uint64_t group, std::vector<int> world_ranks, int member,
                    int tag);
  ~HostsCommunicator() override;
  HostsCommunicator(const HostsCommunicator&) = delete;
  HostsCommunicator& operator=(const HostsCommunicator&) = delete;

  int rank() const override { return member_; }
  int size() const override { return static_cast<int>(world_ranks_.size()); }
  // Of members of one host a communicator that shares memory alone.
  std::unique_ptr<Communicator> split(int color, int key) override;
  void progress() override { world_->link->check_aborted(); }
  void abort() noexcept override;

 protected:
  int world_rank() const override { return rank_of(member_); }
  void begin(const CollectiveCall& call) override;
  void complete(const CollectiveCall& call) override;
  std::vector<std::unique_ptr<Channel>> make_channels(std::span<const ChannelEnds> ends) override;

 private:
  // `bytes` at `first` of the buffer of outgoing or incoming messages.
  struct Message {
    int member = 0;
    int64_t first = 0;
    int64_t bytes = 0;
  };
  // Parts [first, last) of a call.
  struct Round {
    const CollectiveCall& call;
    size_t first, last;

    int64_t piece_bytes() const;
  };

  int rank_of(int member) const { return world_ranks_[static_cast<size_t>(member)]; }
  bool is_here(int member) const { return layout_.host(member) == host_; }
  const std::vector<int>& here() const { return layout_.members(host_); }
  // Does this member receive on this host what `member`, of another one, sends to it?
  bool receives_for(int member) const { return layout_.courier(host_, member) == member_; }

  void meet() { *counts_.waited_ns += table_.meet(); }
  void post(std::span<const Message> incoming, std::span<const Message> outgoing);
  void await_messages() { world_->link->wait(transfers_, *world_->region); }
  void barrier_between_hosts();

  bool is_small(const CollectiveCall& call) const;
  void stage(const CollectiveCall& call);
  void unstage(const CollectiveCall& call) const;
  void publish(const Round& round);
  void find_sources(size_t entry);

  void all_gather(const Round& round);
  void all_to_all(const Round& round);
  void permute(const Round& round);
  void reduce(const Round& round);
  void gather_chunks(const Round& round);

  void pack(const Round& round, int receiver, std::byte* to) const;
  void unpack(const Round& round, int sender, const std::byte* from) const;
  int64_t slice_elements(const Round& round, int owner) const;
  void sum_here(const Round& round, int owner, std::byte* to);
  void combine(const Round& round, int64_t elements);

  std::shared_ptr<const HostsWorld> world_;
  std::vector<int> world_ranks_;
  int member_;
  int tag_;
  HostLayout layout_;
  int host_;
  PeerTable table_;  // of the members of this host, in order
  MpiTransfers transfers_;
  std::vector<std::byte> sent_, received_;
  std::vector<Message> incoming_, outgoing_;
  CollectiveCall staged_;
  size_t parity_ = 0;
  std::vector<const std::byte*> sources_;
};

}  // namespace shardscope
