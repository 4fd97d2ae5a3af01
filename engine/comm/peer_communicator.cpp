#include "engine/comm/peer_communicator.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "engine/comm/block_copy.h"
#include "engine/comm/peer_channel.h"

namespace shardscope {

namespace {

// An all-reduce publishes where its sums are, too.
size_t entries_per_part(CallKind kind) { return kind == CallKind::all_reduce ? 2 : 1; }

size_t parts_per_round(CallKind kind) { return MemberSlot::max_entries / entries_per_part(kind); }

}  // namespace

PeerCommunicator::PeerCommunicator(std::shared_ptr<ControlRegion> region, std::shared_ptr<const PeerMemory> memory,
                                   uint64_t group, std::vector<int> world_ranks, int member)
    : table_(std::move(region), std::move(memory), group, std::move(world_ranks), member),
      member_(member),
      sources_(static_cast<size_t>(table_.size())) {}

void PeerCommunicator::abort() noexcept { table_.region()->abort(ControlRegion::Cause::called, world_rank()); }

std::unique_ptr<Communicator> PeerCommunicator::split(int color, int key) {
  struct Choice {
    int32_t color, key;
  };
  std::vector<Choice> choices(static_cast<size_t>(size()));
  Choice own{color, key};
  exchange(&own, choices.data(), sizeof(own));

  std::vector<int> members;
  for (int i = 0; i < size(); ++i) {
    if (choices[static_cast<size_t>(i)].color == color) members.push_back(i);
  }
  std::ranges::stable_sort(members, {}, [&](int i) { return choices[static_cast<size_t>(i)].key; });

  std::vector<uint64_t> groups(static_cast<size_t>(size()));
  uint64_t made = members[0] == member_ ? table_.region()->make_group(static_cast<int>(members.size())) : 0;
  exchange(&made, groups.data(), sizeof(made));
  uint64_t group = groups[static_cast<size_t>(members[0])];
  if (group == 0) fail("too many groups were split off");

  std::vector<int> ranks;
  for (int i : members) ranks.push_back(table_.world_rank(i));
  auto index = static_cast<int>(std::ranges::find(members, member_) - members.begin());
  auto child = std::make_unique<PeerCommunicator>(table_.region(), table_.memory(), group, std::move(ranks), index);
  share_totals(*child);
  table_.region()->check_aborted(world_rank());
  return child;
}

std::vector<std::unique_ptr<Channel>> PeerCommunicator::make_channels(std::span<const ChannelEnds> ends) {
  std::vector<std::unique_ptr<Channel>> channels(ends.size());
  if (ends.empty()) return channels;
  std::vector<uint64_t> made(static_cast<size_t>(size()));
  const uint64_t own = member_ == 0 ? table_.region()->make_channels(ends.size()) : 0;
  exchange(&own, made.data(), sizeof(own));
  if (made[0] == 0) fail("too many channels were opened");
  for (size_t i = 0; i < ends.size(); ++i) {
    const auto [from, to] = ends[i];
    if (member_ != from && member_ != to) continue;
    const ChannelEnd::Ends ranks{table_.world_rank(from), table_.world_rank(to), member_ == from};
    channels[i] = std::make_unique<PeerChannel>(table_.region(), table_.memory(), table_.region()->channel(made[0], i),
                                                ranks, totals_);
  }
  table_.region()->check_aborted(world_rank());
  return channels;
}

void PeerCommunicator::progress() {
  if (const std::function<void()>& work = table_.region()->work_while_waiting()) work();
}

void PeerCommunicator::begin(Operation& operation) {
  const CollectiveCall& call = operation.call;
  table_.region()->check_aborted(world_rank());
  if (PeerTable::is_small(call)) {
    copy_to_payload(operation);
  } else {
    for (const CallPart& part : call.parts) {
      table_.check(part.source, part.source_bytes);
      if (call.kind == CallKind::all_reduce) table_.check(part.destination, part.destination_bytes);
    }
    publish(operation, 0);
  }
  table_.sign(slot(operation), call);
  table_.arrive(slot(operation));
}

void PeerCommunicator::complete(Operation& operation) {
  const CollectiveCall& call = operation.call;
  operation.record.waited_ns += table_.await(slot(operation));
  table_.check_signatures(slot(operation), call);
  if (PeerTable::is_small(call)) return take_small(operation);
  const size_t step = parts_per_round(call.kind);
  for (size_t first = 0; first < call.parts.size(); first += step) {
    if (first > 0) {
      publish(operation, first);
      meet(operation);
    }
    take(operation, first, std::min(call.parts.size(), first + step));
    meet(operation);
  }
}

void PeerCommunicator::copy_to_payload(Operation& operation) {
  if (!operation.call.sends(member_)) return;
  std::byte* payload = table_.payload(slot(operation));
  for (const CallPart& part : operation.call.parts) {
    operation.count_moved(copy_bytes(payload, part.source, part.source_bytes));
    payload += PeerTable::payload_step(part);
  }
}

void PeerCommunicator::publish(const Operation& operation, size_t first) {
  const CollectiveCall& call = operation.call;
  const size_t last = std::min(call.parts.size(), first + parts_per_round(call.kind));
  size_t entry = 0;
  for (size_t i = first; i < last; ++i) {
    const CallPart& part = call.parts[i];
    table_.publish(slot(operation), entry++, part.source, part.source_bytes);
    if (call.kind == CallKind::all_reduce) {
      table_.publish(slot(operation), entry++, part.destination, part.destination_bytes);
    }
  }
}

void PeerCommunicator::meet(Operation& operation) { operation.record.waited_ns += table_.meet(slot(operation)); }

void PeerCommunicator::take_small(Operation& operation) {
  int64_t offset = 0;
  for (const CallPart& part : operation.call.parts) {
    for (int i = 0; i < size(); ++i) {
      sources_[static_cast<size_t>(i)] = table_.payload(i, slot(operation)) + offset;
    }
    take_pieces(operation, part);
    offset += PeerTable::payload_step(part);
  }
}

void PeerCommunicator::take(Operation& operation, size_t first, size_t last) {
  const CollectiveCall& call = operation.call;
  const size_t per_part = entries_per_part(call.kind);
  auto find_sources = [&](size_t i) {
    for (int member = 0; member < size(); ++member) {
      sources_[static_cast<size_t>(member)] = table_.find(member, slot(operation), (i - first) * per_part);
    }
  };
  if (call.kind != CallKind::all_reduce) {
    for (size_t i = first; i < last; ++i) {
      find_sources(i);
      take_pieces(operation, call.parts[i]);
    }
    return;
  }
  for (size_t i = first; i < last; ++i) {
    find_sources(i);
    reduce_chunk(operation, i);
  }
  meet(operation);
  for (size_t i = first; i < last; ++i) take_chunks(operation, i, (i - first) * per_part + 1);
}

// sources_ are the members' whole sources.
void PeerCommunicator::take_pieces(Operation& operation, const CallPart& part) {
  const CollectiveCall& call = operation.call;
  switch (call.kind) {
    case CallKind::all_reduce:
    case CallKind::reduce_scatter: {
      for (const std::byte*& source : sources_) source += member_ * part.source_block;
      operation.count_moved(ordered_reduce_runs(call.reduction, call.dtype, part, part.destination,
                                                part.destination_stride, sources_, part.source_stride));
      return;
    }
    case CallKind::all_gather:
    case CallKind::all_to_all: {
      for (int step = 0; step < size(); ++step) {
        int sender = (member_ + step) % size();  // not all from the same one at the same time
        operation.count_moved(
            copy_piece(part, sender, sources_[static_cast<size_t>(sender)] + member_ * part.source_block));
      }
      return;
    }
    case CallKind::permute: {
      const int sender = call.sender_to(member_);
      if (sender < 0) return;
      operation.count_moved(copy_runs(part, part.destination, part.destination_stride,
                                      sources_[static_cast<size_t>(sender)], part.source_stride));
      return;
    }
    default: return;
  }
}

// Chunks go round the members from part to part, so that many short parts are shared out evenly.
void PeerCommunicator::reduce_chunk(Operation& operation, size_t index) {
  const CollectiveCall& call = operation.call;
  const CallPart& part = call.parts[index];
  const int shift = static_cast<int>(index % static_cast<size_t>(size()));
  const int64_t element = byte_size(call.dtype);
  auto [first, last] = chunk(part.source_bytes / element, (member_ + shift) % size(), size());
  if (first == last) return;
  for (const std::byte*& source : sources_) source += first * element;
  operation.count_moved(
      ordered_reduce(call.reduction, call.dtype, part.destination + first * element, sources_, last - first));
}

void PeerCommunicator::take_chunks(Operation& operation, size_t index, size_t entry) {
  const CollectiveCall& call = operation.call;
  const CallPart& part = call.parts[index];
  const int shift = static_cast<int>(index % static_cast<size_t>(size()));
  const int64_t element = byte_size(call.dtype);
  for (int step = 1; step < size(); ++step) {
    int owner = (member_ + step) % size();
    auto [first, last] = chunk(part.source_bytes / element, (owner + shift) % size(), size());
    if (first == last) continue;
    operation.count_moved(copy_bytes(part.destination + first * element,
                                     table_.find(owner, slot(operation), entry) + first * element,
                                     (last - first) * element));
  }
}

}  // namespace shardscope
