#include "engine/comm/mpi_communicator.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/comm/block_copy.h"
#include "engine/comm/collective_communicator.h"
#include "engine/comm/mpi_channel.h"
#include "engine/comm/mpi_link.h"
#include "engine/comm/split_group.h"

namespace shardscope {

namespace {

// Every rank packs its pieces, sends one segment to each other member, and unpacks what it received from each.
class MpiCommunicator final : public CollectiveCommunicator {
  struct Segment {
    int64_t first = 0;
    int64_t bytes = 0;
  };

  static auto blocks_of(int64_t bytes) {
    return [bytes](int peer) { return Segment{peer * bytes, bytes}; };
  }

 public:
  MpiCommunicator(std::shared_ptr<MpiLink> link, std::vector<int> world_ranks, int member, int tag)
      : link_(std::move(link)), world_ranks_(std::move(world_ranks)), member_(member), tag_(tag) {}

  ~MpiCommunicator() override {
    if (transfers_.requests.empty()) return;
    std::vector<std::vector<std::byte>> memory;
    memory.push_back(std::move(send_));
    memory.push_back(std::move(received_));
    link_->abandon(transfers_, std::move(memory));
  }

  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return member_; }
  int size() const override { return static_cast<int>(world_ranks_.size()); }
  void progress() override { link_->check_aborted(); }
  void abort() noexcept override { link_->abort(); }

  std::unique_ptr<Communicator> split(int color, int key) override {
    std::vector<SplitChoice> choices(world_ranks_.size());
    const SplitChoice own{color, key, link_->next_tag()};
    exchange(&own, choices.data(), sizeof(own));
    const auto [members, tag] = split_group(choices, color);
    link_->take_tags_below(tag + 1);
    std::vector<int> ranks;
    for (int i : members) ranks.push_back(world_ranks_[static_cast<size_t>(i)]);
    auto index = static_cast<int>(std::ranges::find(members, member_) - members.begin());
    auto child = std::make_unique<MpiCommunicator>(link_, std::move(ranks), index, tag);
    share_counts(*child);
    return child;
  }

 protected:
  std::vector<std::unique_ptr<Channel>> make_channels(std::span<const ChannelEnds> ends) override {
    const int own = link_->next_tag();
    std::vector<int> free(world_ranks_.size());
    exchange(&own, free.data(), sizeof(own));
    const int tag = *std::ranges::max_element(free);
    link_->take_tags_below(tag + static_cast<int>(ends.size()));
    std::vector<std::unique_ptr<Channel>> channels(ends.size());
    for (size_t i = 0; i < ends.size(); ++i) {
      const auto [from, to] = ends[i];
      if (member_ != from && member_ != to) continue;
      channels[i] = std::make_unique<MpiChannel>(MpiRoute{link_, {}, {}},
                                                 ChannelEnd::Ends{world(from), world(to), member_ == from},
                                                 tag + static_cast<int>(i), counts_);
    }
    return channels;
  }

  int world_rank() const override { return world_ranks_[static_cast<size_t>(member_)]; }

  void begin(const CollectiveCall& call) override {
    link_->check_aborted();
    switch (call.kind) {
      case InstructionKind::barrier:
        resize(0, 0);
        return exchange_segments([](int) { return Segment{0, 0}; }, [](int) { return Segment{0, 0}; }, true);
      case InstructionKind::all_gather: {
        int64_t bytes = pack(call, 1);
        return exchange_segments([=](int) { return Segment{0, bytes}; }, blocks_of(bytes));
      }
      case InstructionKind::all_to_all:
      case InstructionKind::reduce_scatter: {
        int64_t bytes = pack(call, size());
        return exchange_segments(blocks_of(bytes), blocks_of(bytes));
      }
      case InstructionKind::collective_permute: {
        int64_t bytes = pack(call, 1);
        int to = call.destination_of[static_cast<size_t>(member_)];
        return exchange_segments(
            [=](int peer) {
              return Segment{0, peer == to ? bytes : 0};
            },
            [=, from = sender_to_this(call)](int peer) {
              return Segment{0, peer == from ? bytes : 0};
            });
      }
      case InstructionKind::all_reduce: {
        pack(call, 1);
        Segment own = chunk_of(call, member_);
        return exchange_segments([&](int peer) { return chunk_of(call, peer); },
                                 [=](int peer) {
                                   return Segment{peer * own.bytes, own.bytes};
                                 });
      }
      default: return;
    }
  }

  void complete(const CollectiveCall& call) override {
    link_->wait(transfers_);
    switch (call.kind) {
      case InstructionKind::all_gather:
      case InstructionKind::all_to_all:
        for (int sender = 0; sender < size(); ++sender) unpack(call, sender, sender * piece_bytes(call));
        return;
      case InstructionKind::collective_permute: return unpack(call, 0, 0);
      case InstructionKind::reduce_scatter: return reduce_pieces(call);
      case InstructionKind::all_reduce:
        reduce_chunk(call);
        link_->wait(transfers_);
        return unpack(call, 0, 0);
      default: return;
    }
  }

 private:
  static int64_t piece_bytes(const CollectiveCall& call) {
    int64_t bytes = 0;
    for (const CallPart& part : call.parts) bytes += part.piece_bytes();
    return bytes;
  }

  // The part of a packed all-reduce that a member sums.
  Segment chunk_of(const CollectiveCall& call, int member) const {
    const int64_t element = byte_size(call.dtype);
    auto [first, last] = chunk(call.source_bytes / element, member, size());
    return {first * element, (last - first) * element};
  }

  int sender_to_this(const CollectiveCall& call) const {
    return static_cast<int>(std::ranges::find(call.destination_of, member_) - call.destination_of.begin());
  }

  // Fills send_ with the pieces for `receivers` members, one after the other, and makes room for as much from each
  // member. Returns the bytes of one receiver's pieces.
  int64_t pack(const CollectiveCall& call, int receivers) {
    int64_t bytes = piece_bytes(call);
    resize(bytes * receivers, bytes * size());
    std::byte* next = send_.data();
    for (int receiver = 0; receiver < receivers; ++receiver) {
      for (const CallPart& part : call.parts) {
        count_moved(
            copy_runs(part, next, part.packed(), part.source + receiver * part.source_block, part.source_stride));
        next += part.piece_bytes();
      }
    }
    return bytes;
  }

  void resize(int64_t send_bytes, int64_t received_bytes) {
    send_.resize(static_cast<size_t>(send_bytes));
    received_.resize(static_cast<size_t>(received_bytes));
  }

  // Sends the segment `outgoing(peer)` of send_ to each member and receives into `incoming(peer)` of received_; both
  // sides know which are empty.
  template <class Outgoing, class Incoming>
  void exchange_segments(const Outgoing& outgoing, const Incoming& incoming, bool send_empty = false) {
    for (int step = 1; step < size(); ++step) {
      int peer = (member_ + size() - step) % size();
      Segment segment = incoming(peer);
      if (segment.bytes == 0 && !send_empty) continue;
      link_->receive(transfers_, received_.data() + segment.first, segment.bytes, world(peer), tag_);
    }
    for (int step = 1; step < size(); ++step) {
      int peer = (member_ + step) % size();
      Segment segment = outgoing(peer);
      if (segment.bytes == 0 && !send_empty) continue;
      count_moved(link_->send(transfers_, send_.data() + segment.first, segment.bytes, world(peer), tag_));
    }
    Segment from = outgoing(member_), to = incoming(member_);
    count_moved(copy_bytes(received_.data() + to.first, send_.data() + from.first, to.bytes));
  }

  void unpack(const CollectiveCall& call, int sender, int64_t first) {
    for (const CallPart& part : call.parts) {
      count_moved(copy_runs(part, part.destination + sender * part.destination_block, part.destination_stride,
                            received_.data() + first, part.packed()));
      first += part.piece_bytes();
    }
  }

  void reduce_pieces(const CollectiveCall& call) {
    int64_t bytes = piece_bytes(call), first = 0;
    std::vector<const std::byte*> sources(world_ranks_.size());
    for (const CallPart& part : call.parts) {
      for (int sender = 0; sender < size(); ++sender) {
        sources[static_cast<size_t>(sender)] = received_.data() + sender * bytes + first;
      }
      count_moved(ordered_reduce_runs(call.reduction, call.dtype, part, part.destination, part.destination_stride,
                                      sources, part.packed()));
      first += part.piece_bytes();
    }
  }

  // Reduces this rank's chunk to its place in send_, and starts to gather all chunks to their places in received_.
  void reduce_chunk(const CollectiveCall& call) {
    Segment own = chunk_of(call, member_);
    std::vector<const std::byte*> sources;
    for (int sender = 0; sender < size(); ++sender) sources.push_back(received_.data() + sender * own.bytes);
    count_moved(ordered_reduce(call.reduction, call.dtype, send_.data() + own.first, sources,
                               own.bytes / byte_size(call.dtype)));
    exchange_segments([=](int) { return own; }, [&](int peer) { return chunk_of(call, peer); });
  }

  int world(int peer) const { return world_ranks_[static_cast<size_t>(peer)]; }

  std::shared_ptr<MpiLink> link_;
  std::vector<int> world_ranks_;
  int member_;
  int tag_;
  MpiTransfers transfers_;
  std::vector<std::byte> send_, received_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(int64_t max_message_bytes) {
  auto link = std::make_shared<MpiLink>(max_message_bytes);
  std::vector<int> world_ranks(static_cast<size_t>(link->size()));
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  int tag = link->next_tag();
  link->take_tags_below(tag + 1);
  return std::make_unique<MpiCommunicator>(link, std::move(world_ranks), link->rank(), tag);
}

}  // namespace shardscope
