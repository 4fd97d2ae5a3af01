#include <QtTest>
#include <atomic>

#include "engine/comm/self_communicator.h"
#include "tests/base/errors_of.h"
#include "tests/comm/collective_checks.h"
#include "tests/comm/thread_ranks.h"
#include "tests/comm/ticket_checks.h"
#include "tests/test_program.h"

namespace thread_communicator_test {

using namespace shardscope;
using namespace shardscope::checks;

namespace {

std::string code_of(const std::function<void()>& call) { return error_of(call).code; }

CollectivePart floats(float* source, float* destination, Shape shape, int split_dim = -1, int concat_dim = -1) {
  return {source, destination, std::move(shape), DType::f32, split_dim, concat_dim};
}

}  // namespace

class ThreadCommunicatorTest : public QObject {
  Q_OBJECT

 private slots:
  void every_collective_equals_the_plain_reference_data() {
    QTest::addColumn<int>("ranks");
    for (int ranks = 1; ranks <= 8; ++ranks) QTest::addRow("%d ranks", ranks) << ranks;
  }

  void every_collective_equals_the_plain_reference() {
    QFETCH(int, ranks);
    std::string failure = first_failure(run_ranks(
        ranks, arena_bytes, [](Communicator& all, std::span<std::byte> arena) { check_all(all, arena, 60); }));
    QCOMPARE(QString::fromStdString(failure), QString());
  }

  void interleaved_tickets_equal_the_plain_reference_data() {
    QTest::addColumn<int>("ranks");
    for (int ranks : {1, 2, 3, 4, 6, 8}) QTest::addRow("%d ranks", ranks) << ranks;
  }

  void interleaved_tickets_equal_the_plain_reference() {
    QFETCH(int, ranks);
    std::string failure = first_failure(run_ranks(
        ranks, arena_bytes, [](Communicator& all, std::span<std::byte> arena) { check_tickets(all, arena, 2, 60); }));
    QCOMPARE(QString::fromStdString(failure), QString());
  }

  void a_group_of_one_only_copies() {
    std::unique_ptr<Communicator> self = make_self_communicator();
    std::vector<std::byte> arena(arena_bytes);
    check_all(*self, arena, 60, Transport::alone());
    check_tickets(*self, arena, 2, 60, Transport::alone());
    std::unique_ptr<Communicator> child = self->split(3, 1);
    check_all(*child, arena, 20, Transport::alone());
    QVERIFY(self->wire_bytes() == child->wire_bytes() && self->moved_bytes() == child->moved_bytes());
    child->abort();
    QCOMPARE(code_of([&] { self->barrier(); }), std::string("comm_aborted"));
  }

  void sums_do_not_depend_on_who_comes_last() {
    std::vector<std::vector<float>> sums;
    for (int late = 0; late < 4; ++late) {
      std::atomic<int> arrived{0};
      std::vector<float> sum;
      auto outcomes = run_ranks(4, 1 << 20, [&](Communicator& all, std::span<std::byte> arena) {
        auto* values = reinterpret_cast<float*>(arena.data());
        for (int i = 0; i < 5000; ++i) values[i] = std::ldexp(1.0f / static_cast<float>(i + 3), 7 * all.rank());
        CollectivePart part = floats(values, values, {5000});
        if (all.rank() == late) {
          while (arrived.load() < 3) std::this_thread::yield();
        }
        Communicator::Ticket ticket = all.start_all_reduce({&part, 1});
        ++arrived;
        all.finish(ticket);
        if (all.rank() == 0) sum.assign(values, values + 5000);
      });
      QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
      sums.push_back(sum);
    }
    for (const std::vector<float>& other : sums) QVERIFY(other == sums[0]);
  }

  void an_abort_wakes_every_waiter_of_every_group() {
    for (int round = 0; round < 20; ++round) {
      auto outcomes = run_ranks(
          8, 1 << 12,
          [](Communicator& all, std::span<std::byte> arena) {
            std::unique_ptr<Communicator> row = all.split(all.rank() / 4, all.rank());
            std::unique_ptr<Communicator> column = all.split(all.rank() % 4, all.rank());
            auto* value = reinterpret_cast<float*>(arena.data());
            CollectivePart part = floats(value, value, {1});
            if (all.rank() == 3) all.abort();
            if (all.rank() == 5) column->barrier();
            for (;;) row->all_reduce({&part, 1});
          },
          false);
      for (const Outcome& outcome : outcomes) {
        QCOMPARE(outcome.code, std::string("comm_aborted"));
        QVERIFY2(outcome.text.find("rank 3 ended the run") != std::string::npos, outcome.text.c_str());
      }
    }
  }

  void an_abort_ends_all_open_tickets_of_every_group() {
    for (int round = 0; round < 20; ++round) {
      auto outcomes = run_ranks(
          8, 1 << 22,
          [&](Communicator& all, std::span<std::byte> arena) { abort_with_open_tickets(all, arena, round, 3); }, false);
      for (const Outcome& outcome : outcomes) {
        QCOMPARE(outcome.code, std::string("comm_aborted"));
        QVERIFY2(outcome.text.find("rank 3 ended the run") != std::string::npos, outcome.text.c_str());
      }
    }
  }

  void a_rank_that_leaves_its_tickets_open_is_named() {
    for (int open = 1; open <= Communicator::max_open_tickets; open += 5) {
      auto outcomes = run_ranks(
          4, 1 << 22,
          [&](Communicator& all, std::span<std::byte> arena) {
            std::deque<RunningCase> running = started_cases(all, arena, 0, open);
            if (all.rank() == 1) return;
            finish_all(running);
            all.barrier();
          },
          false);
      for (size_t rank : {0u, 2u, 3u}) {
        QCOMPARE(outcomes[rank].code, std::string("comm_aborted"));
        QVERIFY2(outcomes[rank].text.find("rank 1 has left") != std::string::npos, outcomes[rank].text.c_str());
      }
      QCOMPARE(outcomes[1].code, std::string());
    }
  }

  void an_abort_from_another_thread_or_child_ends_later_calls_too() {
    auto outcomes = run_ranks(
        3, 1 << 12,
        [](Communicator& all, std::span<std::byte>) {
          std::unique_ptr<Communicator> child = all.split(all.rank(), 0);
          all.barrier();
          if (all.rank() == 2) std::thread([&] { child->abort(); }).join();
          require(code_of([&] {
                    for (;;) all.barrier();
                  }) == "comm_aborted",
                  "a waiting call throws");
          require(code_of([&] { child->barrier(); }) == "comm_aborted", "a child's later call throws");
          require(code_of([&] { all.split(0, 0); }) == "comm_aborted", "a later split throws");
        },
        false);
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void a_rank_that_leaves_early_is_named() {
    auto outcomes = run_ranks(
        4, 1 << 12,
        [](Communicator& all, std::span<std::byte>) {
          all.barrier();
          if (all.rank() != 1) all.barrier();
        },
        false);
    for (size_t rank : {0u, 2u, 3u}) {
      QCOMPARE(outcomes[rank].code, std::string("comm_aborted"));
      QVERIFY2(outcomes[rank].text.find("rank 1 has left") != std::string::npos, outcomes[rank].text.c_str());
    }
    QCOMPARE(outcomes[1].code, std::string());
  }

  void wrong_arguments_throw_on_the_calling_rank_and_leave_the_group_usable() {
    auto outcomes = run_ranks(3, 1 << 22, [](Communicator& all, std::span<std::byte> arena) {
      auto* a = reinterpret_cast<float*>(arena.data());
      float* b = a + 4096;
      if (all.rank() == 1) {
        auto refused = [&](const char* what, const std::function<void()>& call) {
          require(code_of(call) == "comm_argument", what);
        };
        using Parts = std::vector<CollectivePart>;
        refused("dimension", [&] { all.all_gather(Parts{floats(a, b, {3, 2}, -1, 2)}); });
        refused("no dimension given", [&] { all.all_gather(Parts{floats(a, b, {3})}); });
        refused("indivisible", [&] { all.reduce_scatter(Parts{floats(a, b, {4}, 0)}); });
        refused("indivisible second part", [&] {
          all.all_to_all(Parts{floats(a, b, {3}, 0, 0), floats(a + 64, b + 64, {7, 3}, 0, 1)});
        });
        refused("no source", [&] { all.all_reduce(Parts{floats(nullptr, b, {3})}); });
        refused("no destination", [&] { all.all_reduce(Parts{floats(a, nullptr, {3})}); });
        refused("overlap", [&] { all.all_reduce(Parts{floats(a, a + 1, {3})}); });
        refused("in place", [&] { all.all_gather(Parts{floats(a, a, {3}, -1, 0)}); });
        refused("negative size", [&] { all.all_reduce(Parts{floats(a, b, {-3})}); });
        refused("sum of integers", [&] { all.all_reduce(Parts{{a, b, {3}, DType::i32, -1, -1}}); });
        refused("two that send to one", [&] { all.permute(Parts{floats(a, b, {3})}, std::vector{0, 1, 1}); });
        refused("no rank", [&] { all.permute(Parts{floats(a, b, {3})}, std::vector{0, 1, 3}); });
        refused("too short a permutation", [&] { all.permute(Parts{floats(a, b, {3})}, std::vector{0, 1}); });
        refused("no open ticket", [&] { all.finish(1); });
      }
      check_random_cases(all, arena, 4, 2);
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void different_calls_of_the_members_are_found() {
    auto outcomes = run_ranks(
        3, 1 << 16,
        [](Communicator& all, std::span<std::byte> arena) {
          auto* a = reinterpret_cast<float*>(arena.data());
          CollectivePart part = floats(a, a + 4096, {all.rank() == 2 ? 4 : 3}, -1, 0);
          all.all_gather({&part, 1});
        },
        false);
    for (const Outcome& outcome : outcomes) QCOMPARE(outcome.code, std::string("comm_argument"));
    QVERIFY2(outcomes[0].text.find("rank 2 called all-gather") != std::string::npos, outcomes[0].text.c_str());
  }
};

REGISTER_TEST(ThreadCommunicatorTest)

}  // namespace thread_communicator_test

#include "thread_communicator_test.moc"
