#include "gui/background/worker_threads.h"

#include <QTest>
#include <atomic>

#include "tests/test_program.h"

namespace worker_threads_test {

using namespace shardscope;

class WorkerThreadsTest : public QObject {
  Q_OBJECT

 private slots:
  void all_that_was_started_is_done_before_the_threads_have_ended() {
    for (int count : {1, 2, 4}) {
      WorkerThreads threads(count);
      std::atomic<int> done = 0, living = 0;
      struct Alive {
        std::atomic<int>& count;
        explicit Alive(std::atomic<int>& all) : count(all) { ++count; }
        ~Alive() { --count; }
      };
      for (int round = 1; round <= 3; ++round) {
        for (int i = 0; i < 20; ++i)
          threads.start([&] {
            thread_local const Alive alive(living);
            ++done;
          });
        threads.end();
        QCOMPARE(done.load(), 20 * round);
        QCOMPARE(living.load(), 0);
      }
    }
  }
};

REGISTER_TEST(WorkerThreadsTest)

}  // namespace worker_threads_test

#include "worker_threads_test.moc"
