#include <QtTest>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "engine/comm/thread_communicator.h"
#include "engine/simulate/simulation.h"
#include "tests/program/made_instruction.h"
#include "tests/test_program.h"

namespace deadlock_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// Stages of one device that send and receive in random orders: each channel has a task that sends and one that
// receives, each stage runs all of its tasks for each microbatch, in an order of its own.
struct Pipeline {
  Program program;
  Graph graph;
  Mesh mesh{{{"stage", 1}}};
  InstructionTable<double> seconds;
};

Pipeline random_pipeline(std::mt19937& random) {
  Pipeline made;
  Program& program = made.program;
  program.stages = 2 + static_cast<int>(random() % 3);
  const int channels = 1 + static_cast<int>(random() % 5), microbatches = 1 + static_cast<int>(random() % 3);
  const auto add = [&](InstructionKind kind, int channel, int stage) {
    Task task{"task", Phase::forward, {instruction_of(kind, {}, channel)}, {}, {}, stage};
    program.tasks.push_back(std::move(task));
    made.seconds.tasks.push_back({static_cast<double>(random() % 3)});
  };
  for (int channel = 0; channel < channels; ++channel) {
    const int from = static_cast<int>(random() % static_cast<unsigned>(program.stages));
    const int to = (from + 1 + static_cast<int>(random() % static_cast<unsigned>(program.stages - 1))) % program.stages;
    program.channels.push_back({from, to, 4, 1 + static_cast<int>(random() % 2)});
    add(InstructionKind::send, channel, from);
    add(InstructionKind::receive, channel, to);
  }
  for (int stage = 0; stage < program.stages; ++stage) {
    std::vector<TaskRun> runs;
    for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
      const auto first = static_cast<std::ptrdiff_t>(runs.size());
      for (int task = 0; task < static_cast<int>(program.tasks.size()); ++task) {
        if (program.tasks[static_cast<size_t>(task)].stage == stage) runs.push_back({task, microbatch});
      }
      // Few orders of random tasks end: mostly the order of channels, with some exchanged.
      if (random() % 2) std::shuffle(runs.begin() + first, runs.end(), random);
    }
    program.sequences.push_back(make_sequence(Purpose::train_step, std::move(runs), program.tasks, stage));
  }
  return made;
}

bool simulator_finds_a_deadlock(const Pipeline& made) {
  try {
    simulate(made.program, made.graph, made.mesh, Purpose::train_step, made.seconds);
    return false;
  } catch (const Failure& failure) {
    return failure.errors().front().code == "pipeline_cycle";
  }
}

// What the threads have done, and what each is about to do: whether any of them can still go on is known without time.
class Observed {
 public:
  Observed(size_t places, int threads) : sent_(places), received_(places), next_(static_cast<size_t>(threads)) {}

  void about_to_send(int thread, size_t place) { set(thread, {Next::send, place}); }
  void about_to_receive(int thread, size_t place) { set(thread, {Next::receive, place}); }
  void sent(int thread, size_t place) { done(thread, sent_[place]); }
  void received(int thread, size_t place) { done(thread, received_[place]); }
  void ended(int thread) { set(thread, {Next::nothing, 0}); }

  // True once all have ended; false once each of the others waits for what another of them would have to do.
  bool await_end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return std::ranges::none_of(next_, [&](const Next& next) { return goes_on(next); }); });
    return std::ranges::all_of(next_, [](const Next& next) { return next.kind == Next::nothing; });
  }

 private:
  struct Next {
    enum Kind { anything, send, receive, nothing } kind = anything;
    size_t place = 0;
  };

  // A send waits for the receiver of the message before it in the same place.
  bool goes_on(const Next& next) const {
    const bool is_waiting = sent_[next.place] > received_[next.place];  // a message, to be received
    return next.kind == Next::anything || (next.kind == Next::send && !is_waiting) ||
           (next.kind == Next::receive && is_waiting);
  }
  void set(int thread, Next next) {
    const std::lock_guard lock(mutex_);
    next_[static_cast<size_t>(thread)] = next;
    changed_.notify_all();
  }
  void done(int thread, int& count) {
    const std::lock_guard lock(mutex_);
    ++count;
    next_[static_cast<size_t>(thread)] = {};
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> sent_, received_;  // by place of a message
  std::vector<Next> next_;            // by thread
};

// The same over real channels, as the executor has them: one for each message that may be on its way, in turns. Whether
// all threads end.
bool threads_end(const Pipeline& made) {
  const Program& program = made.program;
  std::vector<std::unique_ptr<Communicator>> all = make_thread_communicators(program.stages);
  std::atomic<int> ended = 0;
  std::vector<ChannelEnds> ends;
  std::vector<size_t> of;
  for (size_t channel = 0; channel < program.channels.size(); ++channel) {
    for (int turn = 0; turn < program.channels[channel].capacity; ++turn) {
      ends.push_back({program.channels[channel].from, program.channels[channel].to});
      of.push_back(channel);
    }
  }
  Observed observed(ends.size() * 2, program.stages);
  std::vector<std::thread> threads;
  for (int stage = 0; stage < program.stages; ++stage) {
    threads.emplace_back([&, stage] {
      try {
        std::vector<std::vector<std::unique_ptr<Channel>>> own(program.channels.size());
        std::vector<std::unique_ptr<Channel>> opened = all[static_cast<size_t>(stage)]->open_channels(ends);
        for (size_t i = 0; i < opened.size(); ++i) {
          if (opened[i]) own[of[i]].push_back(std::move(opened[i]));
        }
        std::vector<size_t> turns(program.channels.size());
        std::vector<int> sent(ends.size() * 2), received(ends.size() * 2);
        for (const Instruction& instruction : program.main_instructions(stage)) {
          const auto channel = static_cast<size_t>(instruction.channel());
          const size_t turn = turns[channel]++ % own[channel].size();
          const size_t place = 2 * channel + turn;
          if (instruction.as<Send>()) {
            observed.about_to_send(stage, place);
            own[channel][turn]->finish_send();
            const std::span<const std::byte> message = std::as_bytes(std::span(&sent[place], 1));
            own[channel][turn]->start_send({&message, 1});
            observed.sent(stage, place);
          } else {
            observed.about_to_receive(stage, place);
            const std::span<std::byte> message = std::as_writable_bytes(std::span(&received[place], 1));
            own[channel][turn]->receive({&message, 1});
            observed.received(stage, place);
          }
        }
        ++ended;
        observed.ended(stage);
        // What is on its way is taken before the other end goes.
        for (size_t channel = 0; channel < own.size(); ++channel) {
          for (auto& turn : own[channel]) {
            if (program.channels[channel].from == stage) turn->finish_send();
          }
        }
      } catch (const Failure&) {
        observed.ended(stage);
      }
    });
  }
  if (!observed.await_end()) all[0]->abort();
  for (std::thread& thread : threads) thread.join();
  return ended == program.stages;
}

}  // namespace

class DeadlockTest : public QObject {
  Q_OBJECT

 private slots:
  void a_deadlock_is_found_exactly_where_threads_end_up_blocked() {
    std::mt19937 random(11);
    int ends = 0, blocks = 0;
    for (int round = 0; round < 150; ++round) {
      const Pipeline made = random_pipeline(random);
      const bool blocked = simulator_finds_a_deadlock(made);
      QCOMPARE(threads_end(made), !blocked);
      ++(blocked ? blocks : ends);
    }
    QVERIFY(ends > 20 && blocks > 20);
  }
};

REGISTER_TEST(DeadlockTest)

}  // namespace deadlock_test

#include "deadlock_test.moc"
