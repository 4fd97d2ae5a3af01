#include "engine/worker/mpi_worker.h"

#include <fmt/format.h>
#include <omp.h>

#include <cstdio>
#include <memory>

#include "engine/comm/mpi_communicator.h"
#include "engine/comm/mpi_runtime.h"
#include "engine/comm/mpi_world.h"
#include "engine/compile/compile.h"
#include "engine/session/processes.h"
#include "engine/worker/rank_exchange.h"

namespace shardscope {

namespace {

constexpr int failed = 1, refused = 2;

void say(int rank, const char* text) {
  fmt::print(stderr, "rank {}: {}\n", rank, text);
  std::fflush(stderr);
}

class RankProcess {
 public:
  RankProcess(MpiRuntime& mpi, const RankOptions& options) : mpi_(mpi), options_(options) {
    if (!has_session()) return;
    die_with_parent();
    telemetry_ = std::make_unique<TelemetryWriter>(options.session_directory, mpi.rank(), mpi.size());
  }

  // The plan that all ranks hold, or nothing after telling why there is none.
  std::unique_ptr<const Plan> agree_on_plan(Communicator& ranks) {
    std::unique_ptr<const Plan> plan;
    std::string error;
    try {
      plan = std::make_unique<const Plan>(compile(options_.config(), options_.profile));
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
    int without_plan = 0;
    for (int missing : RankExchange(ranks).gather(plan ? 0 : 1)) without_plan += missing;
    if (without_plan == 0) {
      try {
        check_ranks(*plan, ranks);
        return plan;
      } catch (const Failure& failure) {
        if (failure.errors().front().code.starts_with("comm_")) throw;
        error = failure.what();
      }
    }
    const bool alone = without_plan > 0 && without_plan < mpi_.size();
    if (error.empty()) error = "other ranks have no plan";
    refuse(error, alone ? !plan : mpi_.rank() == 0);
    return nullptr;
  }

  void train_plan(const Plan& plan, Communicator& ranks) {
    omp_set_num_threads(plan.profile.threads_per_rank(plan.mesh.device_count()));
    const int64_t bytes = rank_memory_bytes(plan);
    RankWorld world = make_world(ranks, bytes);
    std::optional<Control> control;
    if (has_session()) control = Control::open(options_.session_directory);
    TrainHooks hooks;
    hooks.telemetry = telemetry_.get();
    hooks.control = control ? &*control : nullptr;
    hooks.parameter_file = options_.parameter_file;
    hooks.keep_going = options_.keep_going;
    hooks.checkpoints = options_.checkpoints;
    hooks.checkpoints.say = [rank = mpi_.rank()](const std::string& text) { say(rank, text.c_str()); };
    if (mpi_.rank() == 0) {
      if (options_.on_plan) options_.on_plan(plan);
      hooks.on_step = options_.on_step;
    }
    train(plan, options_.steps.value_or(plan.config.steps), *world.communicator,
          world.arena.first(static_cast<size_t>(bytes)), hooks);
  }

  [[noreturn]] void end_run(const char* error) {
    if (telemetry_) telemetry_->fail(error);
    say(mpi_.rank(), error);
    mpi_.abort(failed);
  }

 private:
  bool has_session() const { return !options_.session_directory.empty(); }

  void refuse(const std::string& error, bool aloud) {
    if (telemetry_) telemetry_->fail(error);
    if (aloud) say(mpi_.rank(), error.c_str());
  }

  MpiRuntime& mpi_;
  const RankOptions& options_;
  std::unique_ptr<TelemetryWriter> telemetry_;
};

}  // namespace

int run_rank(int argc, char** argv, const RankOptions& options) {
  try {
    MpiRuntime mpi(argc, argv);
    std::unique_ptr<RankProcess> process;
    try {
      process = std::make_unique<RankProcess>(mpi, options);
      const std::unique_ptr<Communicator> ranks = make_mpi_communicator();
      const std::unique_ptr<const Plan> plan = process->agree_on_plan(*ranks);
      if (!plan) return refused;
      process->train_plan(*plan, *ranks);
      return 0;
    } catch (const std::exception& error) {
      if (process) process->end_run(error.what());
      say(mpi.rank(), error.what());
      mpi.abort(failed);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return failed;
  }
}

}  // namespace shardscope
