#include "engine/comm/collective_communicator.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "engine/base/hash.h"
#include "engine/base/plural.h"

namespace shardscope {

namespace {

using Clock = std::chrono::steady_clock;

// Adds the time of a call to its record: what was not waited is transfer.
template <class Call>
void record_time(CommunicationRecord& record, const Call& call) {
  const Clock::time_point start = Clock::now();
  const int64_t waited = record.waited_ns;
  call();
  record.transfer_ns += std::chrono::nanoseconds(Clock::now() - start).count() - (record.waited_ns - waited);
}

}  // namespace

Communicator::Ticket CollectiveCommunicator::start(CallKind kind, std::span<const CollectivePart> parts,
                                                   std::span<const int> destination_of) {
  if (open_.size() == max_open_tickets) {
    fail(fmt::format("{} was started while {} collectives of its group are open", name(kind), open_.size()),
         "finish the oldest before");
  }
  if (idle_.empty()) idle_.push_back(make_operation());
  std::unique_ptr<Operation> operation = std::move(idle_.back());
  idle_.pop_back();
  operation->call.assign(kind, parts, destination_of, world_rank(), size());
  operation->number = next_number_;
  operation->record = {};
  record_time(operation->record, [&] { begin(*operation); });
  ++next_number_;
  operation->ticket = ++totals_->tickets;
  open_.push_back(std::move(operation));
  return open_.back()->ticket;
}

Communicator::Ticket CollectiveCommunicator::start_all_gather(std::span<const CollectivePart> parts) {
  return start(CallKind::all_gather, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_all_reduce(std::span<const CollectivePart> parts) {
  return start(CallKind::all_reduce, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_reduce_scatter(std::span<const CollectivePart> parts) {
  return start(CallKind::reduce_scatter, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_all_to_all(std::span<const CollectivePart> parts) {
  return start(CallKind::all_to_all, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_permute(std::span<const CollectivePart> parts,
                                                           std::span<const int> destination_of) {
  return start(CallKind::permute, parts, destination_of);
}

CommunicationRecord CollectiveCommunicator::finish(Ticket ticket) {
  const auto found = std::ranges::find(open_, ticket, &Operation::ticket);
  if (found == open_.end()) fail("finish of a collective that is not open in this group");
  if (found != open_.begin()) {
    fail(fmt::format("finish of {} before {}, which was started earlier", name((*found)->call.kind),
                     name(open_.front()->call.kind)),
         "collectives of a group are finished in the order in which they were started");
  }
  const CommunicationRecord record = finish_oldest();
  totals_->records += record;
  return record;
}

CommunicationRecord CollectiveCommunicator::finish_oldest() {
  std::unique_ptr<Operation> operation = std::move(open_.front());
  open_.erase(open_.begin());
  record_time(operation->record, [&] { complete(*operation); });
  if (operation->call.kind == CallKind::permute && operation->call.sender_to(rank()) < 0) {
    for (const CallPart& part : operation->call.parts) {
      std::memset(part.destination, 0, static_cast<size_t>(part.destination_bytes));
    }
  }
  operation->record.wire_bytes = operation->call.wire_bytes(rank(), size());
  idle_.push_back(std::move(operation));
  return idle_.back()->record;
}

void CollectiveCommunicator::check_none_open(std::string_view what) const {
  if (open_.empty()) return;
  fail(fmt::format("{} while {} of the group {} open", what, counted(open_.size(), "collective"),
                   open_.size() == 1 ? "is" : "are"),
       "finish them before");
}

CommunicationRecord CollectiveCommunicator::barrier() {
  check_none_open("a barrier");
  return finish(start(CallKind::barrier, {}, {}));
}

std::vector<std::unique_ptr<Channel>> CollectiveCommunicator::open_channels(std::span<const ChannelEnds> ends) {
  Hasher hasher;
  hasher.add(ends.size());
  for (const auto [from, to] : ends) {
    if (std::min(from, to) < 0 || std::max(from, to) >= size() || from == to) {
      fail(fmt::format("a channel from rank {} to rank {} of a group of {}", from, to, size()), "two of its ranks");
    }
    hasher.add(from).add(to);
  }
  const uint64_t own = hasher.digest();
  std::vector<uint64_t> all(static_cast<size_t>(size()));
  exchange(&own, all.data(), sizeof(own));
  const auto other = std::ranges::find_if(all, [&](uint64_t digest) { return digest != own; });
  if (other != all.end()) {
    fail(fmt::format("this rank opens other channels than rank {} of its group", other - all.begin()),
         "all members pass the same list");
  }
  return make_channels(ends);
}

void CollectiveCommunicator::exchange(const void* own, void* all, int64_t bytes) {
  check_none_open("a split, or channels opened,");
  const CollectivePart part{own, all, {bytes / byte_size(DType::i32)}, DType::i32, -1, 0};
  start(CallKind::all_gather, {&part, 1}, {});
  finish_oldest();
}

void CollectiveCommunicator::fail(std::string message, std::string hint) const {
  throw Failure(Error{"comm_argument", std::move(message), on_rank(world_rank()), std::move(hint)});
}

}  // namespace shardscope
