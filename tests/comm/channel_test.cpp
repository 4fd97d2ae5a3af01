#include <QtTest>
#include <atomic>
#include <csignal>
#include <optional>

#include "engine/comm/rank_world.h"
#include "engine/comm/self_communicator.h"
#include "tests/base/errors_of.h"
#include "tests/comm/channel_checks.h"
#include "tests/comm/forked_ranks.h"
#include "tests/comm/thread_ranks.h"
#include "tests/test_program.h"

namespace channel_test {

using namespace shardscope;
using namespace shardscope::checks;

namespace {

using Ends = std::vector<ChannelEnds>;

// A message whose arrays, of these many bytes, lie one after the other.
class Arrays {
 public:
  Arrays(std::span<std::byte> room, std::initializer_list<size_t> sizes) {
    for (size_t size : sizes) {
      arrays_.push_back(room.first(size));
      sources_.push_back(room.first(size));
      room = room.subspan(size);
    }
  }
  operator std::span<const std::span<std::byte>>() const { return arrays_; }
  operator std::span<const std::span<const std::byte>>() const { return sources_; }

 private:
  std::vector<std::span<std::byte>> arrays_;
  std::vector<std::span<const std::byte>> sources_;
};

void send(Channel& channel, std::span<std::byte> room, std::initializer_list<size_t> sizes) {
  channel.start_send(Arrays(room, sizes));
}

void receive(Channel& channel, std::span<std::byte> room, std::initializer_list<size_t> sizes) {
  channel.receive(Arrays(room, sizes));
}

void require_all(std::span<const std::byte> bytes, int value, const char* what) {
  for (std::byte byte : bytes) require(byte == static_cast<std::byte>(value), what);
}

// What rank 1 finds when rank 0 sends arrays of other sizes than it expects.
std::string mismatch(std::initializer_list<size_t> sent, std::initializer_list<size_t> expected) {
  auto outcomes = run_ranks(2, 1 << 16, [&](Communicator& all, std::span<std::byte> arena) {
    auto channels = all.open_channels(Ends{{0, 1}});
    if (all.rank() == 1) return receive(*channels[0], arena, expected);
    send(*channels[0], arena, sent);
    channels[0]->finish_send();
  });
  require(outcomes[0].code == "comm_aborted", "the sender hears of the abort");
  require(outcomes[1].code == "comm_argument", outcomes[1].code);
  return outcomes[1].text;
}

}  // namespace

class ChannelTest : public QObject {
  Q_OBJECT

 private slots:
  void messages_arrive_whole_and_in_order_data() {
    QTest::addColumn<int>("ranks");
    for (int ranks : {1, 2, 3, 4, 8}) QTest::addRow("%d ranks", ranks) << ranks;
  }

  void messages_arrive_whole_and_in_order() {
    QFETCH(int, ranks);
    auto outcomes = run_ranks(ranks, arena_bytes, [](Communicator& all, std::span<std::byte> arena) {
      check_channels(all, arena, static_cast<uint64_t>(all.size()), 3, 12);
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void messages_of_processes_arrive_whole_and_in_order_data() {
    QTest::addColumn<int>("ranks");
    for (int ranks : {2, 4, 6}) QTest::addRow("%d ranks", ranks) << ranks;
  }

  void messages_of_processes_arrive_whole_and_in_order() {
    QFETCH(int, ranks);
    auto outcomes = run_forked_ranks(ranks, [](Communicator& bootstrap) {
      RankWorld world = make_shared_memory_world(bootstrap, static_cast<int64_t>(arena_bytes));
      check_channels(*world.communicator, world.arena, 11 + static_cast<uint64_t>(bootstrap.size()), 2, 12);
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void both_ends_send_before_either_receives() {
    auto outcomes = run_ranks(2, 1 << 20, [](Communicator& all, std::span<std::byte> arena) {
      auto channels = all.open_channels(Ends{{0, 1}, {1, 0}});
      const auto own = static_cast<size_t>(all.rank());
      const size_t bytes = 100'000;
      std::fill_n(arena.data(), bytes, static_cast<std::byte>(1 + own));
      send(*channels[own], arena, {bytes});
      all.barrier();
      receive(*channels[1 - own], arena.subspan(bytes), {bytes});
      require_all(arena.subspan(bytes, bytes), static_cast<int>(2 - own), "what the other sent");
      channels[own]->finish_send();
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void a_sender_that_never_has_to_wait_counts_no_waiting() {
    auto outcomes = run_ranks(2, 1 << 12, [](Communicator& all, std::span<std::byte> arena) {
      auto channels = all.open_channels(Ends{{0, 1}});
      const int64_t before = all.waited_ns();
      if (all.rank() == 0) send(*channels[0], arena, {100});
      else receive(*channels[0], arena, {100});
      require((all.waited_ns() == before) == (all.rank() == 0), "who waits");
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void a_message_sent_before_its_sender_leaves_is_received() {
    auto outcomes = run_ranks(2, 1 << 12, [](Communicator& all, std::span<std::byte> arena) {
      auto channels = all.open_channels(Ends{{0, 1}});
      if (all.rank() == 0) {
        std::fill_n(arena.data(), 100, std::byte{7});
        send(*channels[0], arena, {100});
        channels.clear();
      }
      all.barrier();
      if (all.rank() == 0) return;
      receive(*channels[0], arena, {100});
      require_all(arena.first(100), 7, "the message");
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void thousands_of_channels_are_opened_at_once_and_used_in_any_order() {
    auto outcomes = run_ranks(4, 1 << 16, [](Communicator& all, std::span<std::byte> arena) {
      Ends ends;
      for (int i = 0; i < 1500; ++i) ends.push_back({i % 4, (i + 1 + i / 4 % 3) % 4});
      auto channels = all.open_channels(ends);
      std::vector<size_t> order(ends.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::ranges::shuffle(order, std::mt19937(static_cast<unsigned>(all.rank())));
      for (size_t i : order) {
        if (ends[i].from != all.rank()) continue;
        std::memcpy(arena.data(), &i, sizeof(i));
        send(*channels[i], arena, {sizeof(i)});
      }
      for (size_t i : order) {
        if (ends[i].to != all.rank()) continue;
        receive(*channels[i], arena, {sizeof(i)});
        require(std::memcmp(arena.data(), &i, sizeof(i)) == 0, "a message of another channel");
      }
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void more_channels_than_there_is_room_for_are_refused_on_every_rank() {
    auto outcomes = run_ranks(2, 1 << 12, [](Communicator& all, std::span<std::byte> arena) {
      const Error error = error_of([&] { all.open_channels(Ends(20'000, {0, 1})); });
      require(error.code == "comm_argument" && error.message == "too many channels were opened", error.message);
      auto channels = all.open_channels(Ends{{0, 1}});
      if (all.rank() == 0) send(*channels[0], arena, {1});
      else receive(*channels[0], arena, {1});
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void a_rank_alone_has_no_channels() {
    std::unique_ptr<Communicator> self = make_self_communicator();
    QVERIFY(self->open_channels({}).empty());
    QCOMPARE(error_of([&] { self->open_channels(Ends{{0, 0}}); }).code, std::string("comm_argument"));
  }

  void wrong_arguments_are_refused_and_leave_the_group_usable() {
    auto outcomes = run_ranks(3, 1 << 16, [](Communicator& all, std::span<std::byte> arena) {
      auto refused = [&](const char* what, const std::function<void()>& call) {
        const Error error = error_of(call);
        require(error.code == "comm_argument", what);
        require(error.place == on_rank(all.rank()), what);
      };
      refused("to itself", [&] { all.open_channels(Ends{{0, 1}, {2, 2}}); });
      refused("no such rank", [&] { all.open_channels(Ends{{0, 3}}); });
      refused("no such rank", [&] { all.open_channels(Ends{{-1, 0}}); });
      refused("another list", [&] { all.open_channels(Ends{{0, all.rank() == 2 ? 1 : 2}}); });
      refused("a shorter list", [&] { all.open_channels(all.rank() == 0 ? Ends{} : Ends{{0, 1}}); });
      auto channels = all.open_channels(Ends{{0, 1}});
      const std::vector<std::span<const std::byte>> many(Channel::max_arrays + 1);
      if (all.rank() == 0) {
        refused("too many arrays", [&] { channels[0]->start_send(many); });
        refused("the sender receives", [&] { receive(*channels[0], arena, {1}); });
        send(*channels[0], arena, {1});
      }
      if (all.rank() == 1) {
        refused("the receiver sends", [&] { send(*channels[0], arena, {1}); });
        channels[0]->finish_send();
        receive(*channels[0], arena, {1});
      }
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void a_message_of_other_sizes_is_named_with_both_ends() {
    auto says = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
    QVERIFY(says(mismatch({400}, {800}), "rank 0 sent 1 array (400 bytes) where rank 1 expected 1 array (800 bytes)"));
    QVERIFY(says(mismatch({40'000}, {20'000, 20'000}), "1 array (40000 bytes) where rank 1 expected 2 arrays"));
    QVERIFY(says(mismatch({100, 300}, {300, 100}), "2 arrays (400 bytes) of other sizes"));
    QVERIFY(says(mismatch({}, {4}), "0 arrays (0 bytes)"));
  }

  void large_arrays_must_lie_where_peers_can_read_them() {
    auto outcomes = run_forked_ranks(2, [](Communicator& bootstrap) {
      RankWorld world = make_shared_memory_world(bootstrap, 1 << 20);
      auto channels = world.communicator->open_channels(Ends{{0, 1}});
      std::vector<std::byte> elsewhere(20'000);
      if (bootstrap.rank() == 1) return receive(*channels[0], elsewhere, {8192});
      const Error error = error_of([&] { send(*channels[0], elsewhere, {20'000}); });
      require(error.code == "comm_argument", error.message);
      send(*channels[0], elsewhere, {8192});
      channels[0]->finish_send();
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void an_abort_wakes_both_ends_and_ends_later_calls() {
    for (int round = 0; round < 10; ++round) {
      auto outcomes = run_ranks(
          5, 1 << 12,
          [](Communicator& all, std::span<std::byte> arena) {
            auto channels = all.open_channels(Ends{{0, 1}, {2, 3}, {3, 4}});
            const int rank = all.rank();
            if (rank == 4) all.abort();
            if (rank == 1) receive(*channels[0], arena, {1});
            if (rank == 2) send(*channels[1], arena, {1});
            if (rank == 2) channels[1]->finish_send();
            for (; rank == 3;) send(*channels[2], arena, {1});
            const Error later = error_of([&] {
              for (;;) all.barrier();
            });
            require(later.code == "comm_aborted", "a later collective");
            if (rank == 0) send(*channels[0], arena, {1});
          },
          false);
      for (size_t rank : {0u, 1u, 2u, 3u}) {
        QCOMPARE(outcomes[rank].code, std::string("comm_aborted"));
        QVERIFY2(outcomes[rank].text.find("rank 4 ended the run") != std::string::npos, outcomes[rank].text.c_str());
      }
    }
  }

  void an_end_that_leaves_is_named_data() {
    QTest::addColumn<bool>("receiver");
    QTest::newRow("the receiver") << true;
    QTest::newRow("the sender") << false;
  }

  void an_end_that_leaves_is_named() {
    QFETCH(bool, receiver);
    auto outcomes = run_ranks(
        2, 1 << 12,
        [&](Communicator& all, std::span<std::byte> arena) {
          auto channels = all.open_channels(receiver ? Ends{{0, 1}} : Ends{{1, 0}});
          if (all.rank() == 1) channels.clear();
          all.barrier();
          if (all.rank() == 1) return;
          if (!receiver) return receive(*channels[0], arena, {1});
          send(*channels[0], arena, {1});
          send(*channels[0], arena, {1});
        },
        false);
    QCOMPARE(outcomes[0].code, std::string("comm_aborted"));
    QVERIFY2(outcomes[0].text.find("rank 1 has left") != std::string::npos, outcomes[0].text.c_str());
    QCOMPARE(outcomes[1].code, std::string());
  }

  void a_killed_rank_is_named_by_those_that_wait_for_it() {
    auto outcomes = run_forked_ranks(3, [](Communicator& bootstrap) {
      RankWorld world = make_shared_memory_world(bootstrap, 1 << 20);
      auto channels = world.communicator->open_channels(Ends{{0, 1}, {1, 2}});
      if (bootstrap.rank() == 1) raise(SIGKILL);
      if (bootstrap.rank() == 2) receive(*channels[1], world.arena, {100});
      for (;;) send(*channels[0], world.arena, {50'000});
    });
    QCOMPARE(outcomes[1].signal, SIGKILL);
    for (size_t rank : {0u, 2u}) {
      QCOMPARE(outcomes[rank].code, std::string("comm_aborted"));
      QVERIFY2(outcomes[rank].text.find("rank 1 (process ") != std::string::npos, outcomes[rank].text.c_str());
    }
  }
};

REGISTER_TEST(ChannelTest)

}  // namespace channel_test

#include "channel_test.moc"
