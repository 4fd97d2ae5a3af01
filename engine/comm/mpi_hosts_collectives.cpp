#include <algorithm>
#include <vector>

#include "engine/comm/block_copy.h"
#include "engine/comm/mpi_hosts_communicator.h"
#include "engine/comm/mpi_hosts_round.h"

namespace shardscope {

namespace {

using Await = MpiStages::Await;

constexpr size_t parts_per_round = MemberSlot::max_entries / 2;  // a source and a destination each
constexpr size_t source_entry = 0, destination_entry = 1;

// The runs of what `owner` gets of a part's sum: visit(offset in a source, offset in the destination, elements).
template <class Visit>
void visit_slice(const CollectiveCall& call, size_t index, int owner, int size, const Visit& visit) {
  const CallPart& part = call.parts[index];
  const int64_t element = byte_size(call.dtype);
  if (call.kind == CallKind::all_reduce) {
    const int shift = static_cast<int>(index % static_cast<size_t>(size));
    auto [first, last] = chunk(part.source_bytes / element, (owner + shift) % size, size);
    if (first < last) visit(first * element, first * element, last - first);
    return;
  }
  if (part.piece_bytes() == 0) return;
  for (int64_t i = 0; i < part.outer; ++i) {
    for (int64_t row = 0; row < part.rows; ++row) {
      visit(owner * part.source_block + i * part.source_stride.outer + row * part.source_stride.row,
            i * part.destination_stride.outer + row * part.destination_stride.row, part.run / element);
    }
  }
}

}  // namespace

MpiStages HostsCommunicator::stages(Round& round) {
  const size_t parts = round.call.parts.size();
  round.last = round.small ? parts : std::min(parts, round.first + parts_per_round);
  round.incoming.clear();
  round.outgoing.clear();
  switch (round.call.kind) {
    case CallKind::barrier: return barrier(round);
    case CallKind::all_gather: return all_gather(round);
    case CallKind::all_reduce: return all_reduce(round);
    case CallKind::reduce_scatter: return reduce_scatter(round);
    default: return exchange_pieces(round);
  }
}

MpiStages HostsCommunicator::barrier(Round& round) {
  arrive(round);
  co_await Await::peers;
  round.check_signatures();
  for (int host = 0; here()[0] == member_ && host < layout_.hosts(); ++host) {
    if (host != host_) round.incoming.push_back({layout_.members(host)[0], 0, 0});
  }
  round.outgoing = round.incoming;
  post(round);
  co_await Await::messages;
  arrive(round);
  co_await Await::peers;
}

MpiStages HostsCommunicator::all_gather(Round& round) {
  publish(round);
  arrive(round);
  const int64_t bytes = sent_bytes(round.parts(), 0);
  for (int other = 0; bytes > 0 && other < size(); ++other) {
    if (is_here(other) || !receives_for(other)) continue;
    round.incoming.push_back({other, static_cast<int64_t>(round.incoming.size()) * bytes, bytes});
  }
  for (int host = 0; bytes > 0 && host < layout_.hosts(); ++host) {
    if (host != host_) round.outgoing.push_back({layout_.forwarder(host, member_), 0, bytes});
  }
  round.sent.resize(static_cast<size_t>(bytes));
  round.received.resize(static_cast<size_t>(bytes) * round.incoming.size());
  round.count_moved(pack_pieces(round.parts(), 0, round.sent.data()));
  post(round);
  co_await Await::finish;
  co_await Await::peers;
  round.check_signatures();
  for (int sender : here()) take_piece(round, sender);
  co_await Await::messages;
  for (const Round::Message& message : round.incoming) {
    round.count_moved(unpack_pieces(round.parts(), message.member, round.received.data() + message.first));
  }
  arrive(round);
  co_await Await::peers;
  for (int sender = 0; sender < size(); ++sender) {
    if (!is_here(sender) && !receives_for(sender)) take_gathered(round, sender);
  }
  arrive(round);
  co_await Await::peers;
}

MpiStages HostsCommunicator::exchange_pieces(Round& round) {
  publish(round);
  arrive(round);
  int64_t received = 0, sent = 0;
  for (int other = 0; other < size(); ++other) {
    if (is_here(other)) continue;
    if (const int64_t bytes = round.sends(other, member_) ? received_bytes(round.parts(), other) : 0; bytes > 0) {
      round.incoming.push_back({other, received, bytes});
      received += bytes;
    }
    if (const int64_t bytes = round.sends(member_, other) ? sent_bytes(round.parts(), other) : 0; bytes > 0) {
      round.outgoing.push_back({other, sent, bytes});
      sent += bytes;
    }
  }
  round.sent.resize(static_cast<size_t>(sent));
  round.received.resize(static_cast<size_t>(received));
  for (const Round::Message& message : round.outgoing) {
    round.count_moved(pack_pieces(round.parts(), message.member, round.sent.data() + message.first));
  }
  post(round);
  co_await Await::finish;
  co_await Await::peers;
  round.check_signatures();
  for (int sender : here()) {
    if (round.sends(sender, member_)) take_piece(round, sender);
  }
  arrive(round);
  co_await Await::messages;
  for (const Round::Message& message : round.incoming) {
    round.count_moved(unpack_pieces(round.parts(), message.member, round.received.data() + message.first));
  }
  co_await Await::peers;
}

MpiStages HostsCommunicator::reduce_scatter(Round& round) {
  publish(round);
  arrive(round);
  co_await Await::peers;
  round.check_signatures();
  send_sums(round);
  arrive(round);
  co_await Await::finish;
  co_await Await::messages;
  combine(round, nullptr);
  co_await Await::peers;
}

MpiStages HostsCommunicator::all_reduce(Round& round) {
  publish(round);
  arrive(round);
  co_await Await::peers;
  round.check_signatures();
  send_sums(round);
  arrive(round);
  co_await Await::messages;
  send_chunks(round);
  co_await Await::finish;
  co_await Await::peers;  // from here on no member reads sources
  place_chunks(round, member_, round.sent.data());
  co_await Await::messages;
  for (const Round::Message& message : round.incoming) {
    place_chunks(round, message.member, round.received.data() + message.first);
  }
  arrive(round);
  co_await Await::peers;
  for (int owner = 0; owner < size(); ++owner) {
    const int holder = is_here(owner) ? owner : layout_.forwarder(host_, owner);
    if (holder != member_) take_chunks(round, owner, holder);
  }
  arrive(round);
  co_await Await::peers;
}

// The rendezvous that follows is awaited before the next.
void HostsCommunicator::arrive(Round& round) { table_.arrive(round.slot()); }

void HostsCommunicator::publish(Round& round) {
  for (size_t i = round.first; !round.small && i < round.last; ++i) {
    const CallPart& part = round.part(i);
    const size_t entry = 2 * (i - round.first);
    table_.publish(round.slot(), entry + source_entry, part.source, part.source_bytes);
    if (Round::gathers(round.call.kind)) {
      table_.publish(round.slot(), entry + destination_entry, part.destination, part.destination_bytes);
    }
  }
}

// Where a member of this host has a part's source.
const std::byte* HostsCommunicator::source(const Round& round, int member, size_t part) const {
  const int index = layout_.local_index(member);
  if (!round.small) return table_.find(index, round.slot(), 2 * (part - round.first) + source_entry);
  return table_.payload(index, round.slot()) + (round.part(part).source - table_.payload(round.slot()));
}

const std::byte* HostsCommunicator::destination(const Round& round, int member, size_t part) const {
  const int index = layout_.local_index(member);
  if (!round.small) return table_.find(index, round.slot(), 2 * (part - round.first) + destination_entry);
  const int rank = rank_of(member);
  return world_->memory->find(rank, world_->staging_of_rank[static_cast<size_t>(rank)]) +
         (round.part(part).destination - world_->staging.data());
}

void HostsCommunicator::post(Round& round) {
  MpiLink& link = *world_->link;
  const int tag = tag_ + static_cast<int>(round.number % max_open_tickets);
  for (const auto [member, first, bytes] : round.incoming) {
    link.receive(round.transfers, round.received.data() + first, bytes, rank_of(member), tag);
  }
  for (const auto [member, first, bytes] : round.outgoing) {
    round.count_moved(link.send(round.transfers, round.sent.data() + first, bytes, rank_of(member), tag));
  }
}

// What a member of this host has for this one.
void HostsCommunicator::take_piece(Round& round, int sender) {
  for (size_t i = round.first; i < round.last; ++i) {
    const CallPart& part = round.part(i);
    round.count_moved(copy_piece(part, sender, source(round, sender, i) + member_ * part.source_block));
  }
}

// What a member of another host has sent to one of this host.
void HostsCommunicator::take_gathered(Round& round, int sender) {
  const int holder = layout_.forwarder(host_, sender);
  for (size_t i = round.first; i < round.last; ++i) {
    const CallPart& part = round.part(i);
    const int64_t block = sender * part.destination_block;
    round.count_moved(copy_runs(part, part.destination + block, part.destination_stride,
                                destination(round, holder, i) + block, part.destination_stride));
  }
}

int64_t HostsCommunicator::slice_elements(const Round& round, int owner) const {
  int64_t elements = 0;
  for (size_t i = round.first; i < round.last; ++i) {
    visit_slice(round.readable(), i, owner, size(), [&](int64_t, int64_t, int64_t count) { elements += count; });
  }
  return elements;
}

// This host's partial sum of what `owner` gets, contiguous.
void HostsCommunicator::sum_here(Round& round, int owner, std::byte* to) {
  const CollectiveCall& call = round.readable();
  const int64_t element = byte_size(partial_dtype(call.reduction, call.dtype));
  std::vector<const std::byte*> runs(here().size());
  for (size_t i = round.first; i < round.last; ++i) {
    sources_.clear();
    for (int member : here()) sources_.push_back(source(round, member, i));
    visit_slice(call, i, owner, size(), [&](int64_t from, int64_t, int64_t count) {
      for (size_t s = 0; s < runs.size(); ++s) runs[s] = sources_[s] + from;
      round.count_moved(ordered_partial(call.reduction, call.dtype, to, runs, count));
      to += count * element;
    });
  }
}

// Sends to members of other hosts what this one sums for them, and sums what this rank gets: the hosts' partial sums of
// that are received in the order of hosts.
void HostsCommunicator::send_sums(Round& round) {
  const int64_t element = byte_size(partial_dtype(round.call.reduction, round.call.dtype));
  const int64_t own = slice_elements(round, member_) * element;
  for (int host = 0; own > 0 && host < layout_.hosts(); ++host) {
    if (host != host_) round.incoming.push_back({layout_.forwarder(host, member_), host * own, own});
  }
  int64_t bytes = 0;
  for (int other = 0; other < size(); ++other) {
    if (is_here(other) || !receives_for(other)) continue;
    const int64_t slice = slice_elements(round, other) * element;
    if (slice > 0) round.outgoing.push_back({other, bytes, slice});
    bytes += slice;
  }
  round.sent.resize(static_cast<size_t>(bytes));
  round.received.resize(static_cast<size_t>(layout_.hosts() * own));
  for (const Round::Message& message : round.outgoing)
    sum_here(round, message.member, round.sent.data() + message.first);
  post(round);
  sum_here(round, member_, round.received.data() + host_ * own);
}

// The whole sums of what this rank gets, to where they belong, or contiguous to `packed`.
void HostsCommunicator::combine(Round& round, std::byte* packed) {
  const CollectiveCall& call = round.readable();
  const int64_t partial = byte_size(partial_dtype(call.reduction, call.dtype)), element = byte_size(call.dtype);
  const int64_t bytes = slice_elements(round, member_) * partial;
  sources_.clear();
  for (int host = 0; host < layout_.hosts(); ++host) sources_.push_back(round.received.data() + host * bytes);
  for (size_t i = round.first; i < round.last; ++i) {
    visit_slice(call, i, member_, size(), [&](int64_t, int64_t offset, int64_t count) {
      std::byte* to = packed ? packed : round.part(i).destination + offset;
      round.count_moved(combine_partials(call.reduction, call.dtype, to, sources_, count));
      for (const std::byte*& source : sources_) source += count * partial;
      if (packed) packed += count * element;
    });
  }
}

// This rank's chunks of an all-reduce to every other host, and those of its members.
void HostsCommunicator::send_chunks(Round& round) {
  const int64_t element = byte_size(round.call.dtype);
  const int64_t own = slice_elements(round, member_) * element;
  round.sent.resize(static_cast<size_t>(own));
  combine(round, round.sent.data());
  round.incoming.clear();
  round.outgoing.clear();
  int64_t bytes = 0;
  for (int other = 0; other < size(); ++other) {
    if (is_here(other) || !receives_for(other)) continue;
    const int64_t slice = slice_elements(round, other) * element;
    if (slice > 0) round.incoming.push_back({other, bytes, slice});
    bytes += slice;
  }
  round.received.resize(static_cast<size_t>(bytes));
  for (int host = 0; own > 0 && host < layout_.hosts(); ++host) {
    if (host != host_) round.outgoing.push_back({layout_.forwarder(host, member_), 0, own});
  }
  post(round);
}

// What `owner` has summed, contiguous, to where it belongs.
void HostsCommunicator::place_chunks(Round& round, int owner, const std::byte* from) {
  const int64_t element = byte_size(round.call.dtype);
  for (size_t i = round.first; i < round.last; ++i) {
    visit_slice(round.readable(), i, owner, size(), [&](int64_t offset, int64_t, int64_t count) {
      round.count_moved(copy_bytes(round.part(i).destination + offset, from, count * element));
      from += count * element;
    });
  }
}

// The same from a member of this host that has it where it belongs.
void HostsCommunicator::take_chunks(Round& round, int owner, int holder) {
  const int64_t element = byte_size(round.call.dtype);
  for (size_t i = round.first; i < round.last; ++i) {
    visit_slice(round.readable(), i, owner, size(), [&](int64_t offset, int64_t, int64_t count) {
      round.count_moved(
          copy_bytes(round.part(i).destination + offset, destination(round, holder, i) + offset, count * element));
    });
  }
}

}  // namespace shardscope
