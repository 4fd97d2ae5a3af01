#include "engine/comm/mpi_communicator.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/comm/block_copy.h"
#include "engine/comm/collective_communicator.h"
#include "engine/comm/mpi_channel.h"
#include "engine/comm/mpi_link.h"
#include "engine/comm/mpi_operation.h"
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

  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return member_; }
  int size() const override { return static_cast<int>(world_ranks_.size()); }
  void progress() override { link_->progress(); }
  void abort() noexcept override { link_->abort(); }

  std::unique_ptr<Communicator> split(int color, int key) override {
    std::vector<SplitChoice> choices(world_ranks_.size());
    const SplitChoice own{color, key, link_->next_tag()};
    exchange(&own, choices.data(), sizeof(own));
    const auto [members, tag] = split_group(choices, color);
    link_->take_tags_below(tag + max_open_tickets);
    std::vector<int> ranks;
    for (int i : members) ranks.push_back(world_ranks_[static_cast<size_t>(i)]);
    auto index = static_cast<int>(std::ranges::find(members, member_) - members.begin());
    auto child = std::make_unique<MpiCommunicator>(link_, std::move(ranks), index, tag);
    share_totals(*child);
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
                                                 tag + static_cast<int>(i), totals_);
    }
    return channels;
  }

  int world_rank() const override { return world_ranks_[static_cast<size_t>(member_)]; }

  std::unique_ptr<Operation> make_operation() override { return std::make_unique<MpiOperation>(link_, nullptr); }

  void begin(Operation& begun) override {
    link_->check_aborted();
    auto& operation = static_cast<MpiOperation&>(begun);
    operation.begin(begun.call.kind == CallKind::all_reduce ? reduced_and_gathered(operation) : exchanged(operation));
  }

  void complete(Operation& begun) override { static_cast<MpiOperation&>(begun).finish(); }

 private:
  using Await = MpiStages::Await;

  MpiStages exchanged(MpiOperation& operation) {
    send_pieces(operation);
    co_await Await::finish;
    co_await Await::messages;
    take_pieces(operation);
  }

  MpiStages reduced_and_gathered(MpiOperation& operation) {
    pack(operation, 1);
    const Segment own = chunk_of(operation.call, member_);
    exchange_segments(
        operation, [&](int peer) { return chunk_of(operation.call, peer); },
        [&](int peer) {
          return Segment{peer * own.bytes, own.bytes};
        });
    co_await Await::messages;
    reduce_chunk(operation);
    co_await Await::finish;
    co_await Await::messages;
    unpack(operation, 0, 0);
  }

  void send_pieces(MpiOperation& operation) {
    const CollectiveCall& call = operation.call;
    switch (call.kind) {
      case CallKind::barrier:
        resize(operation, 0, 0);
        return exchange_segments(
            operation,
            [](int) {
              return Segment{0, 0};
            },
            [](int) {
              return Segment{0, 0};
            },
            true);
      case CallKind::all_gather: {
        const int64_t bytes = pack(operation, 1);
        return exchange_segments(
            operation,
            [=](int) {
              return Segment{0, bytes};
            },
            blocks_of(bytes));
      }
      case CallKind::all_to_all: return exchange_pieces(operation);
      case CallKind::reduce_scatter: {
        const int64_t bytes = pack(operation, size());
        return exchange_segments(operation, blocks_of(bytes), blocks_of(bytes));
      }
      case CallKind::permute: {
        const int64_t bytes = pack(operation, call.sends(member_) ? 1 : 0);
        const int to = call.destination_of[static_cast<size_t>(member_)], from = call.sender_to(member_);
        return exchange_segments(
            operation,
            [=](int peer) {
              return Segment{0, peer == to ? bytes : 0};
            },
            [=](int peer) {
              return Segment{0, peer == from ? bytes : 0};
            });
      }
      default: return;
    }
  }

  void take_pieces(MpiOperation& operation) {
    switch (operation.call.kind) {
      case CallKind::all_gather:
      case CallKind::all_to_all:
        for (int64_t sender = 0, first = 0; sender < size(); ++sender)
          first += unpack(operation, static_cast<int>(sender), first);
        return;
      case CallKind::permute:
        if (operation.call.sender_to(member_) >= 0) unpack(operation, 0, 0);
        return;
      case CallKind::reduce_scatter: return reduce_pieces(operation);
      default: return;
    }
  }

  // Straight from each member to each: pieces of their own lengths where rows are counted.
  void exchange_pieces(MpiOperation& operation) {
    const std::vector<CallPart>& parts = operation.call.parts;
    std::vector<Segment> outgoing, incoming;
    Segment out, in;
    for (int member = 0; member < size(); ++member) {
      outgoing.push_back(out = {out.first + out.bytes, sent_bytes(parts, member)});
      incoming.push_back(in = {in.first + in.bytes, received_bytes(parts, member)});
    }
    resize(operation, out.first + out.bytes, in.first + in.bytes);
    pack_all(operation, size());
    const auto of = [](const std::vector<Segment>& segments) {
      return [&segments](int peer) { return segments[static_cast<size_t>(peer)]; };
    };
    exchange_segments(operation, of(outgoing), of(incoming));
  }

  // The part of a packed all-reduce that a member sums.
  Segment chunk_of(const CollectiveCall& call, int member) const {
    const int64_t element = byte_size(call.dtype);
    auto [first, last] = chunk(call.source_bytes / element, member, size());
    return {first * element, (last - first) * element};
  }

  // Fills `sent` with the pieces for `receivers` members, one after the other, and makes room for as much from each
  // member. Returns the bytes of one receiver's pieces.
  int64_t pack(MpiOperation& operation, int receivers) {
    const CollectiveCall& call = operation.call;
    const int64_t bytes = sent_bytes(call.parts, 0);
    resize(operation, bytes * receivers, bytes * size());
    pack_all(operation, receivers);
    return bytes;
  }

  static void pack_all(MpiOperation& operation, int receivers) {
    std::byte* next = operation.sent.data();
    for (int receiver = 0; receiver < receivers; ++receiver) next += pack_pieces(operation.call.parts, receiver, next);
    operation.count_moved(next - operation.sent.data());
  }

  static void resize(MpiOperation& operation, int64_t sent_bytes, int64_t received_bytes) {
    operation.sent.resize(static_cast<size_t>(sent_bytes));
    operation.received.resize(static_cast<size_t>(received_bytes));
  }

  // Sends the segment `outgoing(peer)` of `sent` to each member and receives into `incoming(peer)` of `received`; both
  // sides know which are empty.
  template <class Outgoing, class Incoming>
  void exchange_segments(MpiOperation& operation, const Outgoing& outgoing, const Incoming& incoming,
                         bool send_empty = false) {
    MpiTransfers& transfers = operation.transfers;
    const int tag = tag_ + static_cast<int>(operation.number % max_open_tickets);
    for (int step = 1; step < size(); ++step) {
      int peer = (member_ + size() - step) % size();
      Segment segment = incoming(peer);
      if (segment.bytes == 0 && !send_empty) continue;
      link_->receive(transfers, operation.received.data() + segment.first, segment.bytes, world(peer), tag);
    }
    for (int step = 1; step < size(); ++step) {
      int peer = (member_ + step) % size();
      Segment segment = outgoing(peer);
      if (segment.bytes == 0 && !send_empty) continue;
      operation.count_moved(
          link_->send(transfers, operation.sent.data() + segment.first, segment.bytes, world(peer), tag));
    }
    Segment from = outgoing(member_), to = incoming(member_);
    operation.count_moved(
        copy_bytes(operation.received.data() + to.first, operation.sent.data() + from.first, to.bytes));
  }

  // Returns how many bytes of `received` these were.
  int64_t unpack(MpiOperation& operation, int sender, int64_t first) {
    const int64_t bytes = unpack_pieces(operation.call.parts, sender, operation.received.data() + first);
    operation.count_moved(bytes);
    return bytes;
  }

  void reduce_pieces(MpiOperation& operation) {
    const CollectiveCall& call = operation.call;
    int64_t bytes = sent_bytes(call.parts, 0), first = 0;
    std::vector<const std::byte*> sources(world_ranks_.size());
    for (const CallPart& part : call.parts) {
      for (int sender = 0; sender < size(); ++sender) {
        sources[static_cast<size_t>(sender)] = operation.received.data() + sender * bytes + first;
      }
      operation.count_moved(ordered_reduce_runs(call.reduction, call.dtype, part, part.destination,
                                                part.destination_stride, sources, part.packed()));
      first += part.piece_bytes();
    }
  }

  // Reduces this rank's chunk to its place in `sent`, and starts to gather all chunks to their places in `received`.
  void reduce_chunk(MpiOperation& operation) {
    const CollectiveCall& call = operation.call;
    const Segment own = chunk_of(call, member_);
    std::vector<const std::byte*> sources;
    for (int sender = 0; sender < size(); ++sender) sources.push_back(operation.received.data() + sender * own.bytes);
    operation.count_moved(ordered_reduce(call.reduction, call.dtype, operation.sent.data() + own.first, sources,
                                         own.bytes / byte_size(call.dtype)));
    exchange_segments(
        operation, [=](int) { return own; }, [&](int peer) { return chunk_of(call, peer); });
  }

  int world(int peer) const { return world_ranks_[static_cast<size_t>(peer)]; }

  std::shared_ptr<MpiLink> link_;
  std::vector<int> world_ranks_;
  int member_;
  int tag_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(int64_t max_message_bytes) {
  auto link = std::make_shared<MpiLink>(max_message_bytes);
  std::vector<int> world_ranks(static_cast<size_t>(link->size()));
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  int tag = link->next_tag();
  link->take_tags_below(tag + Communicator::max_open_tickets);
  return std::make_unique<MpiCommunicator>(link, std::move(world_ranks), link->rank(), tag);
}

}  // namespace shardscope
