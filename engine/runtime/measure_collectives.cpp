#include <algorithm>
#include <chrono>
#include <functional>

#include "engine/comm/thread_communicator.h"
#include "engine/runtime/measurements.h"
#include "engine/runtime/timing.h"

namespace shardscope {

namespace {

using Communicators = std::vector<std::unique_ptr<Communicator>>;

constexpr InstructionKind kinds[] = {InstructionKind::all_reduce, InstructionKind::all_gather,
                                     InstructionKind::reduce_scatter, InstructionKind::all_to_all,
                                     InstructionKind::collective_permute};

// Makes one rank's call of a collective whose payload is so many floats, a multiple of the ranks squared.
std::function<void()> make_call(InstructionKind kind, Communicator& communicator, int64_t count) {
  const int ranks = communicator.size();
  const auto source = std::make_shared<std::vector<float>>(count, 0.5f);
  const auto destination = std::make_shared<std::vector<float>>(count, 0.5f);
  CollectivePart part{source->data(), destination->data(), {count}, DType::f32};
  if (kind == InstructionKind::all_gather) part.shape = {count / ranks};
  if (kind == InstructionKind::all_to_all) part.shape = {ranks, count / ranks};
  if (kind == InstructionKind::reduce_scatter || kind == InstructionKind::all_to_all) part.split_dim = 0;
  if (kind == InstructionKind::all_gather) part.concat_dim = 0;
  if (kind == InstructionKind::all_to_all) part.concat_dim = 1;
  std::vector<int> next(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) next[static_cast<size_t>(rank)] = (rank + 1) % ranks;
  return [=, &communicator] {
    const auto held = std::pair(source, destination);
    switch (kind) {
      case InstructionKind::all_gather: communicator.all_gather({&part, 1}); break;
      case InstructionKind::reduce_scatter: communicator.reduce_scatter({&part, 1}); break;
      case InstructionKind::all_to_all: communicator.all_to_all({&part, 1}); break;
      case InstructionKind::collective_permute: communicator.permute({&part, 1}, next); break;
      default: communicator.all_reduce({&part, 1});
    }
  };
}

// Means of `calls` calls each, since single ones end when their rank's thread gets a core.
Timing time_calls(InstructionKind kind, const Communicators& communicators, int64_t count, int repetitions, int calls) {
  std::vector<double> times;
  run_on_threads(static_cast<int>(communicators.size()), [&](int rank) {
    Communicator& communicator = *communicators[static_cast<size_t>(rank)];
    try {
      const std::function<void()> call = make_call(kind, communicator, count);
      call();
      for (int repetition = 0; repetition < repetitions; ++repetition) {
        const auto before = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) call();
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - before;
        if (rank == 0) times.push_back(passed.count() / calls);
      }
      communicator.barrier();  // peers read this rank's arrays
    } catch (...) {
      communicator.abort();
      throw;
    }
  });
  return timing_of(std::move(times));
}

}  // namespace

std::vector<CollectiveTiming> measure_collectives(double seconds) {
  constexpr int64_t counts[] = {256, 8192, 131072, 1048576};  // floats
  constexpr int sizes[] = {2, 4, 8}, repetitions = 15, most_calls = 200;
  const double each = seconds / static_cast<double>(std::size(kinds) * std::size(counts) * std::size(sizes));
  std::vector<CollectiveTiming> measured;
  for (int ranks : sizes) {
    const Communicators communicators = make_thread_communicators(ranks);
    for (InstructionKind kind : kinds) {
      for (int64_t count : counts) {
        Timing time = time_calls(kind, communicators, count, 3, 1);
        const double fitting = (each - 4 * time.seconds) / time.seconds / repetitions;
        if (fitting >= 1) {
          const int calls = static_cast<int>(std::min<double>(fitting, most_calls));
          time = time_calls(kind, communicators, count, repetitions, calls);
        }
        measured.push_back({kind, ranks, static_cast<double>(count) * sizeof(float), time});
      }
    }
  }
  return measured;
}

}  // namespace shardscope
