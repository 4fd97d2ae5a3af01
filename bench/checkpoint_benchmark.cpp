// checkpoint_benchmark FOLDER [PRESET [STEPS]]: what a checkpoint after every step costs, beside what the disk of
// FOLDER takes for the same bytes. Rounds without and with checkpoints alternate. A checkpoint is written while the
// next step computes.

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "bench/median.h"
#include "engine/comm/mapping.h"
#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/machine/host_machine.h"
#include "engine/worker/stored_states.h"
#include "tests/training/thread_training.h"

namespace {

using namespace shardscope;
using Clock = std::chrono::steady_clock;

constexpr int rounds = 3;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Of one step, from the end of the first to the end of the last.
double seconds_a_step(const Plan& plan, int64_t steps, const std::string& folder) {
  CheckpointOptions options;
  options.folder = folder;
  options.save_every = 1;
  options.keep = 1;
  std::vector<Clock::time_point> ends;
  const auto note = [&](const StepMessage&) { ends.push_back(Clock::now()); };
  train_in_threads(plan, steps, {}, note, {}, options);
  if (!folder.empty()) std::filesystem::remove_all(folder);
  return std::chrono::duration<double>(ends.back() - ends.front()).count() / static_cast<double>(steps - 1);
}

// Of as many files at once as ranks write, with nothing else to do.
double disk_seconds(const CheckpointIndex& layout, const std::string& folder) {
  const FileCalls calls;
  std::vector<Mapping> images;
  for (const CheckpointFile& file : layout.files) {
    images.push_back(Mapping::anonymous(file.bytes));
    std::fill_n(images.back().data(), file.bytes, std::byte{1});
  }
  std::filesystem::create_directory(folder);
  const HeldFolder held(folder);
  const auto start = Clock::now();
  {
    std::vector<std::jthread> writers;
    for (size_t i = 0; i < images.size(); ++i) {
      writers.emplace_back([&, i] {
        NewFile out(calls, held, layout.files[i].name);
        out.write(0, std::span(images[i].data(), static_cast<size_t>(images[i].bytes())));
        out.finish();
      });
    }
  }
  const double took = seconds_since(start);
  std::filesystem::remove_all(folder);
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "checkpoint_benchmark FOLDER [PRESET [STEPS]]\n");
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/checkpoint_benchmark";
  const std::string preset = argc > 2 ? argv[2] : "presets/parallax_decoder.json";
  const int64_t steps = argc > 3 ? std::atoll(argv[3]) : 6;
  const Plan plan = compile({load_run_config(preset), host_machine()});
  const CheckpointIndex layout = lay_out_checkpoint(stored_states(plan), plan.mesh);
  std::vector<double> without, with, disk;
  for (int round = 0; round < rounds; ++round) {
    disk.push_back(disk_seconds(layout, folder));
    without.push_back(seconds_a_step(plan, steps, ""));
    with.push_back(seconds_a_step(plan, steps, folder));
  }
  const double step = median(without), saving = median(with), write = median(disk);
  fmt::print("{} on {}: {:.1f} MiB a checkpoint, {} files\n", preset, mesh_text(plan.mesh),
             static_cast<double>(layout.bytes()) / (1 << 20), layout.files.size());
  fmt::print("step {:.0f} ms; with a checkpoint each {:.0f} ms; the disk alone {:.0f} ms ({:.0f} MiB/s)\n", step * 1e3,
             saving * 1e3, write * 1e3, static_cast<double>(layout.bytes()) / (1 << 20) / write);
  fmt::print("a checkpoint makes a step {:+.1f} % longer; the disk alone takes {:.1f} % of a step\n",
             (saving - step) / step * 100, write / step * 100);
  return 0;
}
