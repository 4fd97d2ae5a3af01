#include "engine/comm/mpi_hosts_communicator.h"

#include <algorithm>
#include <string>

#include "engine/comm/block_copy.h"
#include "engine/comm/mpi_channel.h"
#include "engine/comm/peer_channel.h"
#include "engine/comm/peer_communicator.h"
#include "engine/comm/split_group.h"

namespace shardscope {

namespace {

constexpr size_t parts_per_round = MemberBlock::max_entries / 2;  // a source and a destination each
constexpr size_t source_entry = 0, destination_entry = 1;

int64_t staged_bytes(int64_t bytes) { return (bytes + 15) / 16 * 16; }

template <class Value>
std::vector<Value> chosen(const std::vector<Value>& values, const std::vector<int>& indices) {
  std::vector<Value> result;
  for (int index : indices) result.push_back(values[static_cast<size_t>(index)]);
  return result;
}

int index_of(const std::vector<int>& list, int value) {
  return static_cast<int>(std::ranges::find(list, value) - list.begin());
}

bool gathers(InstructionKind kind) {
  return kind == InstructionKind::all_gather || kind == InstructionKind::all_reduce;
}

// The runs of what `owner` gets of a part's sum: visit(offset in a source, offset in the destination, elements).
template <class Visit>
void visit_slice(const CollectiveCall& call, size_t index, int owner, int size, const Visit& visit) {
  const CallPart& part = call.parts[index];
  const int64_t element = byte_size(call.dtype);
  if (call.kind == InstructionKind::all_reduce) {
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

int64_t HostsCommunicator::Round::piece_bytes() const {
  int64_t bytes = 0;
  for (size_t i = first; i < last; ++i) bytes += call.parts[i].piece_bytes();
  return bytes;
}

HostsCommunicator::HostsCommunicator(std::shared_ptr<const HostsWorld> world, uint64_t group,
                                     std::vector<int> world_ranks, int member, int tag)
    : world_(std::move(world)),
      world_ranks_(std::move(world_ranks)),
      member_(member),
      tag_(tag),
      layout_(chosen(world_->host_of_rank, world_ranks_)),
      host_(layout_.host(member)),
      table_(world_->region, world_->memory, group, chosen(world_ranks_, here()), layout_.local_index(member)) {}

HostsCommunicator::~HostsCommunicator() {
  if (transfers_.requests.empty()) return;
  std::vector<std::vector<std::byte>> memory;
  memory.push_back(std::move(sent_));
  memory.push_back(std::move(received_));
  world_->link->abandon(transfers_, std::move(memory));
}

void HostsCommunicator::abort() noexcept {
  world_->link->abort();
  world_->region->abort(ControlRegion::Cause::called, world_rank());
}

std::unique_ptr<Communicator> HostsCommunicator::split(int color, int key) {
  std::vector<SplitChoice> choices(world_ranks_.size());
  const SplitChoice own{color, key, world_->link->next_tag()};
  exchange(&own, choices.data(), sizeof(own));
  const auto [members, tag] = split_group(choices, color);
  world_->link->take_tags_below(tag + 1);

  std::vector<int> of_this_host;
  std::ranges::copy_if(members, std::back_inserter(of_this_host), [&](int i) { return is_here(i); });
  const bool makes = of_this_host[0] == member_;
  uint64_t made = makes ? world_->region->make_group(static_cast<int>(of_this_host.size())) : 0;
  std::vector<uint64_t> groups(world_ranks_.size());
  exchange(&made, groups.data(), sizeof(made));
  const uint64_t group = groups[static_cast<size_t>(of_this_host[0])];
  if (group == 0) fail("too many groups were split off");

  std::vector<int> ranks = chosen(world_ranks_, members);
  const int index = index_of(members, member_);
  if (of_this_host.size() == members.size()) {
    auto child = std::make_unique<PeerCommunicator>(world_->region, world_->memory, group, std::move(ranks), index);
    share_counts(*child);
    return child;
  }
  auto child = std::make_unique<HostsCommunicator>(world_, group, std::move(ranks), index, tag);
  share_counts(*child);
  return child;
}

// Channels of one host share its memory; the others have a tag each.
std::vector<std::unique_ptr<Channel>> HostsCommunicator::make_channels(std::span<const ChannelEnds> ends) {
  struct Offer {
    uint64_t block;
    int64_t free_tag;
  };
  const auto inside = std::ranges::count_if(ends, [&](ChannelEnds e) { return is_here(e.from) && is_here(e.to); });
  const bool makes = inside > 0 && here()[0] == member_;
  const Offer own{makes ? world_->region->make_channels(static_cast<size_t>(inside)) : 0, world_->link->next_tag()};
  std::vector<Offer> offers(world_ranks_.size());
  exchange(&own, offers.data(), sizeof(own));
  const uint64_t block = offers[static_cast<size_t>(here()[0])].block;
  if (inside > 0 && block == 0) fail("too many channels were opened");
  const auto tag = static_cast<int>(std::ranges::max(offers, {}, &Offer::free_tag).free_tag);
  world_->link->take_tags_below(tag + static_cast<int>(ends.size()));

  std::vector<std::unique_ptr<Channel>> channels(ends.size());
  size_t index = 0;  // of those inside this host
  for (size_t i = 0; i < ends.size(); ++i) {
    const auto [from, to] = ends[i];
    const bool is_inside = is_here(from) && is_here(to);
    if (is_inside) ++index;
    if (from != member_ && to != member_) continue;
    const ChannelEnd::Ends ranks{rank_of(from), rank_of(to), from == member_};
    if (is_inside) {
      channels[i] = std::make_unique<PeerChannel>(world_->region, world_->memory,
                                                  world_->region->channel(block, index - 1), ranks, counts_);
    } else {
      channels[i] = std::make_unique<MpiChannel>(MpiRoute{world_->link, world_->region, world_->memory}, ranks,
                                                 tag + static_cast<int>(i), counts_);
    }
  }
  return channels;
}

void HostsCommunicator::begin(const CollectiveCall& call) {
  world_->region->check_aborted(world_rank());
  if (!is_small(call)) {
    for (const CallPart& part : call.parts) {
      table_.check(part.source, part.source_bytes);
      if (gathers(call.kind)) table_.check(part.destination, part.destination_bytes);
    }
  }
  table_.sign(call, parity_);
  table_.arrive();
}

void HostsCommunicator::complete(const CollectiveCall& call) {
  *counts_.waited_ns += table_.await();
  table_.check_signatures(call, parity_);
  parity_ ^= 1;
  if (call.kind == InstructionKind::barrier) return barrier_between_hosts();
  const bool small = is_small(call);
  if (small) stage(call);
  const CollectiveCall& readable = small ? staged_ : call;
  for (size_t first = 0; first < readable.parts.size(); first += parts_per_round) {
    const Round round{readable, first, std::min(readable.parts.size(), first + parts_per_round)};
    publish(round);
    meet();
    switch (call.kind) {
      case InstructionKind::all_gather: all_gather(round); break;
      case InstructionKind::all_to_all: all_to_all(round); break;
      case InstructionKind::collective_permute: permute(round); break;
      default: reduce(round); break;
    }
    meet();
  }
  if (small) unstage(call);
}

void HostsCommunicator::barrier_between_hosts() {
  incoming_.clear();
  if (here()[0] == member_) {
    for (int host = 0; host < layout_.hosts(); ++host) {
      if (host != host_) incoming_.push_back({layout_.members(host)[0], 0, 0});
    }
  }
  post(incoming_, incoming_);
  await_messages();
  meet();
}

void HostsCommunicator::post(std::span<const Message> incoming, std::span<const Message> outgoing) {
  for (const Message& message : incoming) {
    world_->link->receive(transfers_, received_.data() + message.first, message.bytes, rank_of(message.member), tag_);
  }
  for (const Message& message : outgoing) {
    count_moved(
        world_->link->send(transfers_, sent_.data() + message.first, message.bytes, rank_of(message.member), tag_));
  }
}

bool HostsCommunicator::is_small(const CollectiveCall& call) const {
  int64_t bytes = 0;
  for (const CallPart& part : call.parts) bytes += staged_bytes(part.source_bytes);
  return bytes <= MemberBlock::payload_bytes;
}

void HostsCommunicator::stage(const CollectiveCall& call) {
  staged_ = call;
  std::byte* next = world_->staging.data();
  for (CallPart& part : staged_.parts) {
    count_moved(copy_bytes(next, part.source, part.source_bytes));
    part.source = next;
    next += staged_bytes(part.source_bytes);
    part.destination = next;
    next += staged_bytes(part.destination_bytes);
  }
}

void HostsCommunicator::unstage(const CollectiveCall& call) const {
  for (size_t i = 0; i < call.parts.size(); ++i) {
    const CallPart& part = call.parts[i];
    count_moved(copy_bytes(part.destination, staged_.parts[i].destination, part.destination_bytes));
  }
}

void HostsCommunicator::publish(const Round& round) {
  for (size_t i = round.first; i < round.last; ++i) {
    const CallPart& part = round.call.parts[i];
    const size_t entry = 2 * (i - round.first);
    table_.publish(entry + source_entry, part.source, part.source_bytes);
    if (gathers(round.call.kind)) {
      table_.publish(entry + destination_entry, part.destination, part.destination_bytes);
    }
  }
}

void HostsCommunicator::find_sources(size_t entry) {
  sources_.clear();
  for (int i = 0; i < table_.size(); ++i) sources_.push_back(table_.find(i, entry));
}

// What this rank has for `receiver`, contiguous.
void HostsCommunicator::pack(const Round& round, int receiver, std::byte* to) const {
  for (size_t i = round.first; i < round.last; ++i) {
    const CallPart& part = round.call.parts[i];
    count_moved(copy_runs(part, to, part.packed(), part.source + receiver * part.source_block, part.source_stride));
    to += part.piece_bytes();
  }
}

void HostsCommunicator::unpack(const Round& round, int sender, const std::byte* from) const {
  for (size_t i = round.first; i < round.last; ++i) {
    const CallPart& part = round.call.parts[i];
    count_moved(copy_runs(part, part.destination + sender * part.destination_block, part.destination_stride, from,
                          part.packed()));
    from += part.piece_bytes();
  }
}

void HostsCommunicator::all_gather(const Round& round) {
  const int64_t bytes = round.piece_bytes();
  incoming_.clear();
  outgoing_.clear();
  for (int other = 0; bytes > 0 && other < size(); ++other) {
    if (is_here(other) || !receives_for(other)) continue;
    incoming_.push_back({other, static_cast<int64_t>(incoming_.size()) * bytes, bytes});
  }
  for (int host = 0; bytes > 0 && host < layout_.hosts(); ++host) {
    if (host != host_) outgoing_.push_back({layout_.courier(host, member_), 0, bytes});
  }
  sent_.resize(static_cast<size_t>(bytes));
  received_.resize(static_cast<size_t>(bytes) * incoming_.size());
  pack(round, 0, sent_.data());
  post(incoming_, outgoing_);
  auto take = [&](int piece, int from, size_t entry, bool whole) {
    for (size_t i = round.first; i < round.last; ++i) {
      const CallPart& part = round.call.parts[i];
      const std::byte* found = table_.find(layout_.local_index(from), 2 * (i - round.first) + entry);
      const int64_t block = piece * part.destination_block;
      count_moved(copy_runs(part, part.destination + block, part.destination_stride, whole ? found + block : found,
                            whole ? part.destination_stride : part.source_stride));
    }
  };
  for (int sender : here()) take(sender, sender, source_entry, false);
  await_messages();
  for (const Message& message : incoming_) unpack(round, message.member, received_.data() + message.first);
  meet();
  for (int sender = 0; sender < size(); ++sender) {
    if (is_here(sender) || receives_for(sender)) continue;
    take(sender, layout_.courier(host_, sender), destination_entry, true);
  }
}

void HostsCommunicator::all_to_all(const Round& round) {
  const int64_t bytes = round.piece_bytes();
  incoming_.clear();
  for (int other = 0; bytes > 0 && other < size(); ++other) {
    if (!is_here(other)) incoming_.push_back({other, static_cast<int64_t>(incoming_.size()) * bytes, bytes});
  }
  sent_.resize(static_cast<size_t>(bytes) * incoming_.size());
  received_.resize(sent_.size());
  for (const Message& message : incoming_) pack(round, message.member, sent_.data() + message.first);
  post(incoming_, incoming_);
  for (int sender : here()) {
    for (size_t i = round.first; i < round.last; ++i) {
      const CallPart& part = round.call.parts[i];
      const std::byte* source = table_.find(layout_.local_index(sender), 2 * (i - round.first) + source_entry);
      count_moved(copy_runs(part, part.destination + sender * part.destination_block, part.destination_stride,
                            source + member_ * part.source_block, part.source_stride));
    }
  }
  await_messages();
  for (const Message& message : incoming_) unpack(round, message.member, received_.data() + message.first);
}

void HostsCommunicator::permute(const Round& round) {
  const int64_t bytes = round.piece_bytes();
  const int to = round.call.destination_of[static_cast<size_t>(member_)];
  const int from = index_of(round.call.destination_of, member_);
  incoming_.clear();
  outgoing_.clear();
  if (!is_here(from) && bytes > 0) incoming_.push_back({from, 0, bytes});
  if (!is_here(to) && bytes > 0) outgoing_.push_back({to, 0, bytes});
  sent_.resize(static_cast<size_t>(bytes));
  received_.resize(static_cast<size_t>(bytes));
  if (!outgoing_.empty()) pack(round, 0, sent_.data());
  post(incoming_, outgoing_);
  if (is_here(from)) {
    for (size_t i = round.first; i < round.last; ++i) {
      const CallPart& part = round.call.parts[i];
      const std::byte* source = table_.find(layout_.local_index(from), 2 * (i - round.first) + source_entry);
      count_moved(copy_runs(part, part.destination, part.destination_stride, source, part.source_stride));
    }
  }
  await_messages();
  for (const Message& message : incoming_) unpack(round, 0, received_.data() + message.first);
}

int64_t HostsCommunicator::slice_elements(const Round& round, int owner) const {
  int64_t elements = 0;
  for (size_t i = round.first; i < round.last; ++i) {
    visit_slice(round.call, i, owner, size(), [&](int64_t, int64_t, int64_t count) { elements += count; });
  }
  return elements;
}

// This host's partial sum of what `owner` gets, contiguous.
void HostsCommunicator::sum_here(const Round& round, int owner, std::byte* to) {
  const CollectiveCall& call = round.call;
  const int64_t element = byte_size(partial_dtype(call.reduction, call.dtype));
  std::vector<const std::byte*> runs(static_cast<size_t>(table_.size()));
  for (size_t i = round.first; i < round.last; ++i) {
    find_sources(2 * (i - round.first) + source_entry);
    visit_slice(call, i, owner, size(), [&](int64_t source, int64_t, int64_t count) {
      for (size_t s = 0; s < runs.size(); ++s) runs[s] = sources_[s] + source;
      count_moved(ordered_partial(call.reduction, call.dtype, to, runs, count));
      to += count * element;
    });
  }
}

// The hosts' partial sums of what this rank gets lie in received_ in the order of hosts, each of `elements`.
void HostsCommunicator::combine(const Round& round, int64_t elements) {
  const CollectiveCall& call = round.call;
  const int64_t element = byte_size(partial_dtype(call.reduction, call.dtype));
  sources_.clear();
  for (int host = 0; host < layout_.hosts(); ++host) {
    sources_.push_back(received_.data() + host * elements * element);
  }
  for (size_t i = round.first; i < round.last; ++i) {
    visit_slice(call, i, member_, size(), [&](int64_t, int64_t destination, int64_t count) {
      std::byte* to = call.parts[i].destination + destination;
      count_moved(combine_partials(call.reduction, call.dtype, to, sources_, count));
      for (const std::byte*& source : sources_) source += count * element;
    });
  }
}

void HostsCommunicator::reduce(const Round& round) {
  const int64_t element = byte_size(partial_dtype(round.call.reduction, round.call.dtype));
  const int64_t own = slice_elements(round, member_);
  incoming_.clear();
  outgoing_.clear();
  for (int host = 0; own > 0 && host < layout_.hosts(); ++host) {
    if (host != host_) incoming_.push_back({layout_.courier(host, member_), host * own * element, own * element});
  }
  int64_t bytes = 0;
  for (int other = 0; other < size(); ++other) {
    if (is_here(other) || !receives_for(other)) continue;
    const int64_t slice = slice_elements(round, other) * element;
    if (slice > 0) outgoing_.push_back({other, bytes, slice});
    bytes += slice;
  }
  sent_.resize(static_cast<size_t>(bytes));
  received_.resize(static_cast<size_t>(layout_.hosts() * own * element));
  for (const Message& message : outgoing_) sum_here(round, message.member, sent_.data() + message.first);
  post(incoming_, outgoing_);
  sum_here(round, member_, received_.data() + host_ * own * element);
  await_messages();
  combine(round, own);
  if (round.call.kind == InstructionKind::all_reduce) gather_chunks(round);
}

// Every rank has its chunks of an all-reduce where they belong, and takes the others'.
void HostsCommunicator::gather_chunks(const Round& round) {
  const int64_t element = byte_size(round.call.dtype);
  auto visit_chunks = [&](int owner, const auto& visit) {
    for (size_t i = round.first; i < round.last; ++i) {
      visit_slice(round.call, i, owner, size(),
                  [&](int64_t offset, int64_t, int64_t count) { visit(i, offset, count * element); });
    }
  };
  incoming_.clear();
  outgoing_.clear();
  int64_t bytes = 0;
  for (int other = 0; other < size(); ++other) {
    if (is_here(other) || !receives_for(other)) continue;
    const int64_t slice = slice_elements(round, other) * element;
    if (slice > 0) incoming_.push_back({other, bytes, slice});
    bytes += slice;
  }
  received_.resize(static_cast<size_t>(bytes));
  const int64_t own = slice_elements(round, member_) * element;
  sent_.resize(static_cast<size_t>(own));
  std::byte* next = sent_.data();
  visit_chunks(member_, [&](size_t i, int64_t offset, int64_t count) {
    count_moved(copy_bytes(next, round.call.parts[i].destination + offset, count));
    next += count;
  });
  for (int host = 0; own > 0 && host < layout_.hosts(); ++host) {
    if (host != host_) outgoing_.push_back({layout_.courier(host, member_), 0, own});
  }
  post(incoming_, outgoing_);
  await_messages();
  meet();  // from here on no member reads sources
  for (const Message& message : incoming_) {
    const std::byte* from = received_.data() + message.first;
    visit_chunks(message.member, [&](size_t i, int64_t offset, int64_t count) {
      count_moved(copy_bytes(round.call.parts[i].destination + offset, from, count));
      from += count;
    });
  }
  meet();
  for (int owner = 0; owner < size(); ++owner) {
    const int holder = is_here(owner) ? owner : layout_.courier(host_, owner);
    if (holder == member_) continue;
    visit_chunks(owner, [&](size_t i, int64_t offset, int64_t count) {
      const std::byte* found = table_.find(layout_.local_index(holder), 2 * (i - round.first) + destination_entry);
      count_moved(copy_bytes(round.call.parts[i].destination + offset, found + offset, count));
    });
  }
}

}  // namespace shardscope
