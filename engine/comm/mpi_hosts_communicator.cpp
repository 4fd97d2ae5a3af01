#include "engine/comm/mpi_hosts_communicator.h"

#include <algorithm>
#include <string>

#include "engine/base/align.h"
#include "engine/comm/block_copy.h"
#include "engine/comm/mpi_channel.h"
#include "engine/comm/mpi_hosts_round.h"
#include "engine/comm/peer_channel.h"
#include "engine/comm/peer_communicator.h"
#include "engine/comm/split_group.h"

namespace shardscope {

namespace {

template <class Value>
std::vector<Value> chosen(const std::vector<Value>& values, const std::vector<int>& indices) {
  std::vector<Value> result;
  for (int index : indices) result.push_back(values[static_cast<size_t>(index)]);
  return result;
}

int index_of(const std::vector<int>& list, int value) {
  return static_cast<int>(std::ranges::find(list, value) - list.begin());
}

}  // namespace

HostsCommunicator::HostsCommunicator(std::shared_ptr<const HostsWorld> world, uint64_t group,
                                     std::vector<int> world_ranks, int member, int tag)
    : world_(std::move(world)),
      world_ranks_(std::move(world_ranks)),
      member_(member),
      tag_(tag),
      layout_(chosen(world_->host_of_rank, world_ranks_)),
      host_(layout_.host(member)),
      table_(world_->region, world_->memory, group, chosen(world_ranks_, here()), layout_.local_index(member)) {}

void HostsCommunicator::abort() noexcept {
  world_->link->abort();
  world_->region->abort(ControlRegion::Cause::called, world_rank());
}

std::unique_ptr<Communicator> HostsCommunicator::split(int color, int key) {
  std::vector<SplitChoice> choices(world_ranks_.size());
  const SplitChoice own{color, key, world_->link->next_tag()};
  exchange(&own, choices.data(), sizeof(own));
  const auto [members, tag] = split_group(choices, color);
  world_->link->take_tags_below(tag + max_open_tickets);

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
    share_totals(*child);
    return child;
  }
  auto child = std::make_unique<HostsCommunicator>(world_, group, std::move(ranks), index, tag);
  share_totals(*child);
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
                                                  world_->region->channel(block, index - 1), ranks, totals_);
    } else {
      channels[i] = std::make_unique<MpiChannel>(MpiRoute{world_->link, world_->region, world_->memory}, ranks,
                                                 tag + static_cast<int>(i), totals_);
    }
  }
  return channels;
}

std::unique_ptr<CollectiveOperation> HostsCommunicator::make_operation() {
  return std::make_unique<Round>(*world_, table_);
}

void HostsCommunicator::begin(Operation& begun) {
  auto& round = static_cast<Round&>(begun);
  world_->region->check_aborted(world_rank());
  round.small = PeerTable::is_small(round.call);
  if (round.small) {
    stage(round);
  } else {
    for (const CallPart& part : round.call.parts) {
      table_.check(part.source, part.source_bytes);
      if (Round::gathers(round.call.kind)) table_.check(part.destination, part.destination_bytes);
    }
  }
  table_.sign(round.slot(), round.call);
  round.first = 0;
  round.begin(stages(round));
}

void HostsCommunicator::complete(Operation& begun) {
  auto& round = static_cast<Round&>(begun);
  round.finish();
  while (round.last < round.call.parts.size()) {
    round.first = round.last;
    round.begin(stages(round));
    round.finish();
  }
  if (round.small) unstage(round);
}

void HostsCommunicator::stage(Round& round) {
  round.staged = round.call;
  std::byte *payload = table_.payload(round.slot()), *staging = world_->staging.data();
  for (CallPart& part : round.staged.parts) {
    round.count_moved(copy_bytes(payload, part.source, part.source_bytes));
    part.source = payload;
    part.destination = staging;
    payload += PeerTable::payload_step(part);
    staging += round_up(part.destination_bytes, 16);
  }
}

void HostsCommunicator::unstage(Round& round) {
  for (size_t i = 0; i < round.call.parts.size(); ++i) {
    const CallPart& part = round.call.parts[i];
    round.count_moved(copy_bytes(part.destination, round.staged.parts[i].destination, part.destination_bytes));
  }
}

}  // namespace shardscope
