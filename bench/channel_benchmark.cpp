// mpirun -n 2 channel_benchmark [hosts]: what sending costs between two ranks, over channels and in collectives, as
// times of a memcpy of as many bytes; nothing is asserted. With `hosts` the ranks act as if they were on two hosts, and
// messages go by MPI. Transfers and copies alternate; each number is the median of the rounds.
//
//   copy        rank 1 copies from one place of its arena to another
//   send        rank 0 sends message after message, rank 1 receives: seconds a message
//   there, back rank 1 answers each message with one as long: seconds there and back, halved
//   gather, reduce   all-gather whose result is, and all-reduce of, as many bytes

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/median.h"
#include "engine/comm/mpi_communicator.h"
#include "engine/comm/mpi_runtime.h"
#include "engine/comm/mpi_world.h"

namespace {

using namespace shardscope;
using Clock = std::chrono::steady_clock;

constexpr int rounds = 9;
constexpr int64_t smallest = 64 << 10, largest = 32 << 20, bytes_a_round = 128 << 20;
constexpr std::array columns{"copy", "send", "there, back", "gather", "reduce"};

class Pair {
 public:
  explicit Pair(const RankWorld& world)
      : all_(*world.communicator),
        sources_(world.arena.first(largest)),
        destinations_(world.arena.last(largest)),
        channels_(all_.open_channels(std::vector<ChannelEnds>{{0, 1}, {1, 0}})) {
    std::ranges::fill(world.arena, std::byte{0});
  }

  // Seconds of each column, as this rank sees them.
  std::array<double, columns.size()> measure(int64_t bytes) {
    const auto count = static_cast<size_t>(bytes);
    const std::span<const std::byte> source = sources_.first(count);
    const std::span<std::byte> destination = destinations_.first(count);
    const bool first = all_.rank() == 0;
    Channel& out = *channels_[first ? 0 : 1];
    Channel& in = *channels_[first ? 1 : 0];
    const CollectivePart gathered{sources_.data(), destinations_.data(), {bytes / 8}, DType::f32, -1, 0};
    const CollectivePart reduced{sources_.data(), destinations_.data(), {bytes / 4}, DType::f32, -1, -1};
    const auto copy = [&] {
      if (!first) std::memcpy(destination.data(), source.data(), count);
    };
    const auto send = [&] {
      if (first) out.start_send({&source, 1});
      else in.receive({&destination, 1});
    };
    const auto there_and_back = [&] {
      if (first) out.start_send({&source, 1});
      in.receive({&destination, 1});
      if (!first) out.start_send({&source, 1});
    };
    const auto taken = [&] { out.finish_send(); };
    const auto gather = [&] { all_.all_gather({&gathered, 1}); };
    const auto reduce = [&] { all_.all_reduce({&reduced, 1}); };
    const auto nothing = [] {};
    const auto times = std::max<int64_t>(2, bytes_a_round / bytes);
    return {seconds(times, copy, nothing), seconds(times, send, taken), seconds(times, there_and_back, taken) / 2,
            seconds(times, gather, nothing), seconds(times, reduce, nothing)};
  }

 private:
  double seconds(int64_t times, const std::function<void()>& work, const std::function<void()>& end) {
    work();
    all_.barrier();
    const auto start = Clock::now();
    for (int64_t i = 0; i < times; ++i) work();
    end();
    const std::chrono::duration<double> passed = Clock::now() - start;
    all_.barrier();
    return passed.count() / static_cast<double>(times);
  }

  Communicator& all_;
  std::span<std::byte> sources_, destinations_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

void measure_all(Pair& pair, bool says) {
  if (says)
    fmt::print("{:>10}{:>14}{:>14}{:>14}{:>14}{:>14}\n", "KiB", "copy (GB/s)", "send", columns[2], "gather", "reduce");
  for (int64_t bytes = smallest; bytes <= largest; bytes *= 2) {
    std::array<std::vector<double>, columns.size()> found;
    for (int round = 0; round < rounds; ++round) {
      const auto measured = pair.measure(bytes);
      for (size_t i = 0; i < columns.size(); ++i) found[i].push_back(measured[i]);
    }
    if (!says) continue;
    const double copy = median(found[0]);
    fmt::print("{:>10}{:>14.1f}", bytes >> 10, static_cast<double>(bytes) / copy / 1e9);
    for (size_t i = 1; i < columns.size(); ++i) fmt::print("{:>14.2f}", median(found[i]) / copy);
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MpiRuntime runtime(argc, argv);
  try {
    if (runtime.size() != 2) throw std::runtime_error("mpirun -n 2 channel_benchmark [hosts]");
    if (argc > 1) ::setenv(host_variable, std::to_string(runtime.rank()).c_str(), 1);
    const std::unique_ptr<Communicator> mpi = make_mpi_communicator();
    const RankWorld world = make_world(*mpi, 2 * largest);
    Pair pair(world);
    measure_all(pair, runtime.rank() == 1);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", runtime.rank(), error.what());
    runtime.abort(1);
  }
  return 0;
}
