#pragma once

#include <deque>

#include "tests/base/errors_of.h"
#include "tests/comm/collective_checks.h"

// Checks of several open tickets that every implementation must pass; each rank of the group calls them with the same
// arguments.
namespace shardscope::checks {

// A communicator in whose group this rank is; groups that are used at the same time by different ranks have different
// seeds.
struct TicketGroup {
  Communicator* communicator = nullptr;
  Transport transport;
  uint64_t seed = 0;
};

// Which group starts a collective next, and which finishes its oldest: the same two orders on all ranks, each of which
// merges them as it likes.
struct TicketOrder {
  std::vector<size_t> starts, finishes;
};

inline TicketOrder random_order(uint64_t seed, size_t groups, int tickets) {
  std::mt19937_64 random(seed);
  TicketOrder order;
  std::vector<int> open(groups);
  const auto finish = [&](size_t group) {
    --open[group];
    order.finishes.push_back(group);
  };
  for (int i = 0; i < tickets; ++i) {
    const size_t next = random() % groups, other = random() % groups;
    if (open[next] == Communicator::max_open_tickets) finish(next);
    order.starts.push_back(next);
    ++open[next];
    if (open[other] > 0 && random() % 4 > 0) finish(other);
  }
  for (size_t group = 0; group < groups; ++group) order.finishes.insert(order.finishes.end(), open[group], group);
  return order;
}

// A random case that takes at most so many bytes: of zero, small and large arrays.
inline Case fitting_case(uint64_t seed, int size, int64_t bytes) {
  for (int64_t scale : {400, 40, 4, 1}) {
    Case test = random_case(seed, size, seed % 3 == 0 ? scale : 1);
    if (RunningCase::bytes(test, size) <= bytes) return test;
  }
  throw std::runtime_error("no case is small enough");
}

// Random collectives of all groups, of which each rank has as many open at a time as it likes; all results are those of
// the plain reference, and the records sum to the totals.
inline void check_interleaved(const std::vector<TicketGroup>& groups, std::span<std::byte> arena, uint64_t seed,
                              int tickets) {
  constexpr size_t most = Communicator::max_open_tickets;
  Communicator& first = *groups[0].communicator;
  const TicketOrder order = random_order(seed, groups.size(), tickets);
  std::mt19937_64 own(mix(seed, static_cast<uint64_t>(first.rank())));
  const size_t room = arena.size() / (groups.size() * most) / 64 * 64;
  std::vector<std::deque<RunningCase>> open(groups.size());
  std::vector<size_t> started(groups.size());
  CommunicationRecord total{first.wire_bytes(), first.moved_bytes(), first.waited_ns(), first.transfer_ns()};
  size_t starts = 0;
  size_t eagerness = 1 + own() % 8;
  for (size_t finished : order.finishes) {
    while (starts < order.starts.size()) {
      const size_t next = order.starts[starts];
      if (open[next].size() == most) break;
      if (!open[finished].empty() && own() % eagerness == 0) break;
      const size_t piece = next * most + started[next]++ % most;
      const TicketGroup& group = groups[next];
      Case test =
          fitting_case(mix(mix(seed, group.seed), starts), group.communicator->size(), static_cast<int64_t>(room));
      open[next].emplace_back(*group.communicator, Pieces(arena.subspan(piece * room, room)),
                              by(std::move(test), group.transport));
      open[next].back().start();
      ++starts;
      if (own() % 3 == 0) first.progress();
      if (own() % 16 == 0) give_way(own() % 30);
    }
    if (own() % 8 == 0) eagerness = 1 + own() % 8;
    total += open[finished].front().finish();
    open[finished].pop_front();
  }
  require(total == CommunicationRecord{first.wire_bytes(), first.moved_bytes(), first.waited_ns(), first.transfer_ns()},
          "the records sum to the totals");
}

// Rows and columns of a grid of ranks, and all.
inline void check_interleaved_grid(Communicator& all, std::span<std::byte> arena, uint64_t seed, int columns,
                                   int tickets, const Transport& transport = {}) {
  const int row = all.rank() / columns, column = all.rank() % columns;
  std::unique_ptr<Communicator> along_row = all.split(row, column), along_column = all.split(column, row);
  std::vector<int> of_row, of_column;
  for (int i = 0; i < all.size(); ++i) {
    if (i / columns == row) of_row.push_back(i);
    if (i % columns == column) of_column.push_back(i);
  }
  check_interleaved({{&all, transport, 1},
                     {along_row.get(), transport.of(of_row), 100 + static_cast<uint64_t>(row)},
                     {along_column.get(), transport.of(of_column), 200 + static_cast<uint64_t>(column)}},
                    arena, seed, tickets);
  check_interleaved({{along_column.get(), transport.of(of_column), 300 + static_cast<uint64_t>(column)},
                     {along_row.get(), transport.of(of_row), 400 + static_cast<uint64_t>(row)}},
                    arena, seed + 1, tickets);
}

// Random cases that are started and not finished.
inline std::deque<RunningCase> started_cases(Communicator& all, std::span<std::byte> arena, uint64_t seed, int count,
                                             const Transport& transport = {}) {
  std::deque<RunningCase> open;
  const size_t room = arena.size() / static_cast<size_t>(count) / 64 * 64;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    Case test = fitting_case(mix(seed, i), all.size(), static_cast<int64_t>(room));
    open.emplace_back(all, Pieces(arena.subspan(i * room, room)), by(std::move(test), transport));
    open.back().start();
  }
  return open;
}

inline void finish_all(std::deque<RunningCase>& open) {
  for (; !open.empty(); open.pop_front()) open.front().finish();
}

// One rank starts all that may be open before any other rank starts one: it says so over channels.
inline void check_start_waits_for_no_peer(Communicator& all, std::span<std::byte> arena,
                                          const Transport& transport = {}) {
  std::vector<ChannelEnds> ends;
  for (int other = 1; other < all.size(); ++other) ends.push_back({0, other});
  const auto channels = all.open_channels(ends);
  std::byte said{};
  const std::span<std::byte> message{&said, 1};
  const std::span<const std::byte> sent = message;
  for (uint64_t seed : {1, 2, 3, 4}) {
    for (const auto& channel : channels) {
      if (channel && all.rank() != 0) channel->receive({&message, 1});
    }
    std::deque<RunningCase> open = started_cases(all, arena, seed, Communicator::max_open_tickets, transport);
    for (const auto& channel : channels) {
      if (channel && all.rank() == 0) channel->start_send({&sent, 1});
    }
    finish_all(open);
    for (const auto& channel : channels) {
      if (channel && all.rank() == 0) channel->finish_send();
    }
  }
}

// One rank aborts while all have collectives open in two groups; throws what it learns of that.
[[noreturn]] inline void abort_with_open_tickets(Communicator& all, std::span<std::byte> arena, int round, int aborting,
                                                 const Transport& transport = {}) {
  const int pair = all.rank() / 2;
  const std::unique_ptr<Communicator> row = all.split(pair, all.rank());
  const Transport of_row = transport.of({2 * pair, 2 * pair + 1});
  const size_t half = arena.size() / 2;
  for (uint64_t seed = 0;; ++seed) {
    std::deque<RunningCase> of_all = started_cases(all, arena.first(half), seed, 1 + round % 16, transport);
    std::deque<RunningCase> in_row = started_cases(*row, arena.subspan(half), mix(seed, 7), 16 - round % 16, of_row);
    if (all.rank() == aborting && seed == 1) all.abort();
    if (round % 2 == 0) finish_all(in_row);
    finish_all(of_all);
    finish_all(in_row);
  }
}

// What is refused changes nothing: every rank is refused the same, and all are finished in order after it.
inline void check_order_and_limit(Communicator& all, std::span<std::byte> arena) {
  constexpr int most = Communicator::max_open_tickets;
  const std::unique_ptr<Communicator> other = all.split(0, all.rank());
  auto* values = reinterpret_cast<float*>(arena.data());
  const auto part = [&](int i, int64_t length) {
    return CollectivePart{values + i * length, values + i * length, {length}, DType::f32, -1, -1};
  };
  const auto refused = [&](const auto& call, const std::string& why) {
    const Error error = error_of(call);
    require(error.code == "comm_argument" && error.message.find(why) != std::string::npos, why + ": " + error.message);
  };
  for (int64_t length : {1, 5000}) {
    std::vector<Communicator::Ticket> tickets;
    for (int i = 0; i < most; ++i) {
      std::fill_n(values + i * length, length, static_cast<float>(i + 1));
      const CollectivePart one = part(i, length);
      tickets.push_back(all.start_all_reduce({&one, 1}));
    }
    const CollectivePart extra = part(most, length);
    refused([&] { all.start_all_reduce({&extra, 1}); }, "16 collectives of its group are open");
    refused([&] { all.all_reduce({&extra, 1}); }, "16 collectives of its group are open");
    refused([&] { all.finish(tickets[1]); }, "finish of all-reduce before all-reduce");
    refused([&] { all.finish(tickets.back()); }, "finish of all-reduce before all-reduce");
    refused([&] { other->finish(tickets[0]); }, "not open in this group");
    refused([&] { all.barrier(); }, "a barrier while 16 collectives of the group are open");
    refused([&] { all.split(0, 0); }, "while 16 collectives of the group are open");
    refused([&] { all.open_channels({}); }, "while 16 collectives of the group are open");
    for (Communicator::Ticket ticket : tickets) {
      all.finish(ticket);
      refused([&] { all.finish(ticket); }, "not open in this group");
    }
    for (int i = 0; i < most; ++i) {
      const auto sum = static_cast<float>((i + 1) * all.size());
      require(values[i * length] == sum && values[(i + 1) * length - 1] == sum, "the sums after refusals");
    }
  }
  other->barrier();
}

inline void check_tickets(Communicator& all, std::span<std::byte> arena, int times, int tickets,
                          const Transport& transport = {}) {
  for (int i = 0; i < times; ++i) {
    check_interleaved({{&all, transport, 0}}, arena, static_cast<uint64_t>(i), tickets);
    for (int columns : {2, 3}) {
      if (all.size() % columns != 0) continue;
      check_interleaved_grid(all, arena, 1000 + static_cast<uint64_t>(i), columns, tickets, transport);
    }
  }
  check_start_waits_for_no_peer(all, arena, transport);
  check_order_and_limit(all, arena);
}

}  // namespace shardscope::checks
