#include "engine/worker/cpu_binding.h"

#include <sched.h>

#include <QTest>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "tests/test_program.h"

namespace cpu_binding_test {

using namespace shardscope;

namespace {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

class CpuBindingTest : public QObject {
  Q_OBJECT

 private slots:
  void shares_are_neighbours_of_equal_size_that_together_are_all() {
    for (int count = 1; count <= 12; ++count) {
      std::vector<int> cpus(12), together;
      std::iota(cpus.begin(), cpus.end(), 3);
      for (int rank = 0; rank < count; ++rank) {
        const std::vector<int> share = share_of_cpus(cpus, rank, count);
        QVERIFY(std::ssize(share) == 12 / count || std::ssize(share) == 12 / count + 1);
        together.insert(together.end(), share.begin(), share.end());
      }
      QVERIFY(together == cpus);
    }
  }

  void more_ranks_than_cpus_have_one_each() {
    std::vector<int> ranks_of(2);
    for (int rank = 0; rank < 5; ++rank) {
      const std::vector<int> share = share_of_cpus({0, 1}, rank, 5);
      QCOMPARE(share.size(), size_t{1});
      ++ranks_of[static_cast<size_t>(share.front())];
    }
    QVERIFY(ranks_of[0] >= 2 && ranks_of[1] >= 2);
  }

  void a_rank_and_the_threads_that_it_starts_keep_to_its_share() {
    const std::vector<int> all = allowed_cpus();
    std::vector<int> bound, of_thread, unbound;
    ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
    ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
    std::thread([&] {
      bind_to_share_of_cpus();
      bound = allowed_cpus();
      std::thread([&] { of_thread = allowed_cpus(); }).join();
    }).join();
    ::unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    std::thread([&] {
      bind_to_share_of_cpus();
      unbound = allowed_cpus();
    }).join();
    ::unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
    QVERIFY(bound == share_of_cpus(all, 1, 2));
    QVERIFY(of_thread == bound);
    QVERIFY(unbound == all && allowed_cpus() == all);
  }
};

REGISTER_TEST(CpuBindingTest)

}  // namespace cpu_binding_test

#include "cpu_binding_test.moc"
