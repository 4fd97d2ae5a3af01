#include <sys/resource.h>
#include <sys/stat.h>
#include <QtTest>
#include <chrono>
#include <fstream>

#include "engine/comm/rank_world.h"
#include "tests/comm/collective_checks.h"
#include "tests/comm/forked_ranks.h"
#include "tests/comm/ticket_checks.h"
#include "tests/test_program.h"

namespace rank_world_test {

using namespace shardscope;
using namespace shardscope::checks;

namespace {

// The shared memory that this process has mapped has no name and never took room in /dev/shm.
void require_no_names() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  int objects = 0;
  while (std::getline(maps, line)) {
    require(line.find("/dev/shm/") == std::string::npos, "has a name: " + line);
    objects += line.find("/memfd:shardscope.") != std::string::npos;
  }
  require(objects > 1, "no shared memory is mapped");
}

}  // namespace

class RankWorldTest : public QObject {
  Q_OBJECT

 private slots:
  void every_collective_of_processes_equals_the_plain_reference_data() {
    QTest::addColumn<int>("ranks");
    for (int ranks : {1, 2, 3, 4, 6, 8}) QTest::addRow("%d ranks", ranks) << ranks;
  }

  void every_collective_of_processes_equals_the_plain_reference() {
    QFETCH(int, ranks);
    auto outcomes = run_forked_ranks(ranks, [](Communicator& bootstrap) {
      RankWorld world = make_shared_memory_world(bootstrap, static_cast<int64_t>(arena_bytes));
      require_no_names();
      check_all(*world.communicator, world.arena, 40);
      check_tickets(*world.communicator, world.arena, 2, 60);
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void arenas_may_differ_in_size_and_begin_as_zeros() {
    auto outcomes = run_forked_ranks(3, [](Communicator& bootstrap) {
      int64_t bytes = 100'000 * (1 + bootstrap.rank());
      RankWorld world = make_shared_memory_world(bootstrap, bytes);
      require(static_cast<int64_t>(world.arena.size()) == bytes, "the arena has the bytes asked for");
      for (std::byte byte : world.arena) require(byte == std::byte{0}, "an arena begins as zeros");
      check_case(*world.communicator, world.arena, [] {
        Case test;
        test.kind = Kind::all_reduce;
        test.parts.push_back({nullptr, nullptr, {4000}, DType::f32, -1, -1});
        test.in_place.push_back(true);
        return test;
      }());
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void a_long_array_outside_of_the_arena_is_refused() {
    auto outcomes = run_forked_ranks(2, [](Communicator& bootstrap) {
      RankWorld world = make_shared_memory_world(bootstrap, 1 << 20);
      std::vector<float> outside(20'000);
      auto* inside = reinterpret_cast<float*>(world.arena.data());
      auto refused = [&](const float* source, float* destination) {
        CollectivePart part{source, destination, {20'000}, DType::f32, -1, -1};
        try {
          world.communicator->all_reduce({&part, 1});
        } catch (const Failure& failure) {
          return failure.errors().front().code == "comm_argument";
        }
        return false;
      };
      if (bootstrap.rank() == 0) {
        require(refused(outside.data(), inside), "a source outside");
        require(refused(inside, outside.data()), "an all-reduce's destination outside");
        require(refused(reinterpret_cast<float*>(world.arena.data() + world.arena.size()) - 10'000, inside),
                "a source that begins in the arena and ends outside");
      }
      CollectivePart brief{outside.data(), outside.data(), {100}, DType::f32, -1, -1};
      world.communicator->all_reduce({&brief, 1});
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void arenas_that_do_not_fit_are_refused_on_every_rank_with_the_figures() {
    auto outcomes = run_forked_ranks(
        3, [](Communicator& bootstrap) { make_shared_memory_world(bootstrap, int64_t{1} << (40 + bootstrap.rank())); });
    for (const ForkedOutcome& outcome : outcomes) {
      QCOMPARE(outcome.code, std::string("comm_memory"));
      QVERIFY2(outcome.text.find("need 7.00 TiB") != std::string::npos, outcome.text.c_str());
    }
  }

  void shared_memory_beyond_the_file_size_limit_is_refused_and_kills_nobody() {
    auto outcomes = run_forked_ranks(3, [](Communicator& bootstrap) {
      const rlimit limit{1 << 20, 1 << 20};
      if (bootstrap.rank() == 1) setrlimit(RLIMIT_FSIZE, &limit);
      make_shared_memory_world(bootstrap, 1 << 22);
    });
    for (const ForkedOutcome& outcome : outcomes) QCOMPARE(outcome.signal, 0);
    for (int rank : {0, 2}) QCOMPARE(outcomes[rank].code, std::string("comm_aborted"));
    QCOMPARE(outcomes[1].code, std::string("comm_memory"));
    QVERIFY2(outcomes[1].text.find("File too large") != std::string::npos, outcomes[1].text.c_str());
    QVERIFY2(outcomes[0].text.find("rank 1 could not share its arena") != std::string::npos, outcomes[0].text.c_str());
  }

  void an_arena_is_reserved_when_it_is_made() {
    auto outcomes = run_forked_ranks(2, [](Communicator& bootstrap) {
      RankWorld world = make_shared_memory_world(bootstrap, 1 << 22);
      std::ifstream map("/proc/self/maps");
      std::string line;
      while (std::getline(map, line) && line.find("/memfd:shardscope.arena") == std::string::npos) {
      }
      struct stat status {};
      const std::string address = line.substr(0, line.find(' '));
      require(stat(("/proc/self/map_files/" + address).c_str(), &status) != 0 || status.st_blocks >= (1 << 22) / 512,
              "the memory is not there yet");
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void a_killed_rank_is_named_by_all_others() {
    for (bool in_child_group : {false, true}) {
      auto outcomes = run_forked_ranks(4, [&](Communicator& bootstrap) {
        RankWorld world = make_shared_memory_world(bootstrap, 1 << 22);
        std::unique_ptr<Communicator> half = world.communicator->split(bootstrap.rank() / 2, 0);
        auto* values = reinterpret_cast<float*>(world.arena.data());
        for (int step = 0;; ++step) {
          CollectivePart part{values, values, {step % 2 ? 100'000 : 1}, DType::f32, -1, -1};
          if (step == 50 && bootstrap.rank() == 2) {
            world.communicator->start_all_reduce({&part, 1});
            raise(SIGKILL);
          }
          (in_child_group && step < 50 ? half : world.communicator)->all_reduce({&part, 1});
        }
      });
      QCOMPARE(outcomes[2].signal, SIGKILL);
      for (size_t rank : {0u, 1u, 3u}) {
        QCOMPARE(outcomes[rank].code, std::string("comm_aborted"));
        QVERIFY2(outcomes[rank].text.find("rank 2 (process ") != std::string::npos, outcomes[rank].text.c_str());
      }
    }
  }

  void a_killed_rank_is_named_by_all_that_have_tickets_open() {
    auto outcomes = run_forked_ranks(4, [&](Communicator& bootstrap) {
      RankWorld world = make_shared_memory_world(bootstrap, 1 << 22);
      std::unique_ptr<Communicator> half = world.communicator->split(bootstrap.rank() / 2, 0);
      const std::span<std::byte> all_of_it = world.arena, first = all_of_it.first(1 << 21);
      auto of_half = started_cases(*half, all_of_it.subspan(1 << 21), 1, 5);
      if (bootstrap.rank() == 2) raise(SIGKILL);
      auto of_all = started_cases(*world.communicator, first, 2, 5);
      if (bootstrap.rank() != 3) finish_all(of_half);
      finish_all(of_all);
    });
    QCOMPARE(outcomes[2].signal, SIGKILL);
    for (size_t rank : {0u, 1u, 3u}) {
      QCOMPARE(outcomes[rank].code, std::string("comm_aborted"));
      QVERIFY2(outcomes[rank].text.find("rank 2 (process ") != std::string::npos, outcomes[rank].text.c_str());
    }
  }

  void an_abort_of_one_process_ends_the_open_tickets_of_all() {
    for (int round : {0, 5, 15}) {
      auto outcomes = run_forked_ranks(4, [&](Communicator& bootstrap) {
        RankWorld world = make_shared_memory_world(bootstrap, 1 << 22);
        abort_with_open_tickets(*world.communicator, world.arena, round, 1);
      });
      for (const ForkedOutcome& outcome : outcomes) {
        QCOMPARE(outcome.code, std::string("comm_aborted"));
        QVERIFY2(outcome.text.find("rank 1 ended the run") != std::string::npos, outcome.text.c_str());
      }
    }
  }

  void a_rank_that_dies_in_its_group_ends_the_other_groups_too() {
    auto outcomes = run_forked_ranks(4, [](Communicator& bootstrap) {
      RankWorld world = make_shared_memory_world(bootstrap, 1 << 20);
      std::unique_ptr<Communicator> half = world.communicator->split(bootstrap.rank() / 2, 0);
      std::unique_ptr<Communicator> pair = world.communicator->split(bootstrap.rank() % 2, 0);
      if (bootstrap.rank() == 0) raise(SIGKILL);
      (bootstrap.rank() == 1 ? half : pair)->barrier();
      for (;;) half->barrier();
    });
    for (size_t rank : {1u, 2u, 3u}) {
      QCOMPARE(outcomes[rank].code, std::string("comm_aborted"));
      QVERIFY2(outcomes[rank].text.find("rank 0 (process ") != std::string::npos, outcomes[rank].text.c_str());
    }
  }

  void an_abort_by_one_process_is_seen_by_all() {
    auto outcomes = run_forked_ranks(4, [](Communicator& bootstrap) {
      RankWorld world = make_shared_memory_world(bootstrap, 1 << 20);
      if (bootstrap.rank() == 1) world.communicator->abort();
      for (;;) world.communicator->barrier();
    });
    for (const ForkedOutcome& outcome : outcomes) {
      QCOMPARE(outcome.code, std::string("comm_aborted"));
      QVERIFY2(outcome.text.find("rank 1 ended the run") != std::string::npos, outcome.text.c_str());
    }
  }

  void one_rank_alone_has_an_arena_of_zeros_and_a_group_of_one() {
    RankWorld world = make_self_world(arena_bytes);
    QCOMPARE(world.communicator->size(), 1);
    QCOMPARE(world.arena.size(), arena_bytes);
    QVERIFY(world.arena.front() == std::byte{0} && world.arena.back() == std::byte{0});
    check_random_cases(*world.communicator, world.arena, 2, 20, Transport::alone());
  }
};

REGISTER_TEST(RankWorldTest)

}  // namespace rank_world_test

#include "rank_world_test.moc"
