#include "engine/worker/mpi_worker.h"

#include <fmt/format.h>
#include <omp.h>

#include <memory>
#include <sstream>
#include <stdexcept>

#include "engine/base/standard_streams.h"
#include "engine/comm/mpi_communicator.h"
#include "engine/comm/mpi_runtime.h"
#include "engine/comm/mpi_world.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/session/rank_registration.h"
#include "engine/session/rank_words.h"
#include "engine/worker/common_instruction_set.h"
#include "engine/worker/cpu_binding.h"
#include "engine/worker/rank_exchange.h"
#include "engine/worker/shared_text.h"

namespace shardscope {

namespace {

constexpr int failed = 1, refused = 2;

void say(int rank, const char* text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) shardscope::say(fmt::format("rank {}: {}", rank, line));
}

class RankProcess {
 public:
  RankProcess(MpiRuntime& mpi, RankRegistration& registration, const RankOptions& options)
      : mpi_(mpi), registration_(registration), options_(options) {
    if (!has_session()) return;
    telemetry_ = std::make_unique<TelemetryWriter>(options.session_directory, mpi.rank(), mpi.size());
  }

  // The plan that all ranks hold, or nothing after telling why there is none.
  std::unique_ptr<const Plan> agree_on_plan(Communicator& ranks) {
    registration_.enter(RankPhase::planning);
    std::unique_ptr<const Plan> plan;
    std::string error;
    try {
      const Machine machine = shared_machine(ranks);
      auto compiled = std::make_unique<const Plan>(options_.plan(machine));
      if (options_.check_plan) options_.check_plan(*compiled);
      plan = std::move(compiled);
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
    registration_.enter(RankPhase::agreeing);
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
    const std::string instructions = agree_on_instruction_set(ranks);
    if (!instructions.empty() && mpi_.rank() == 0 && !is_quiet()) say(0, instructions.c_str());
    omp_set_num_threads(plan.threads_per_rank);
    registration_.enter(RankPhase::allocating);
    const int64_t bytes = rank_memory_bytes(plan);
    RankWorld world = make_world(ranks, bytes);
    std::optional<Control> control;
    if (has_session()) control = Control::open(options_.session_directory);
    TrainHooks hooks;
    hooks.telemetry = telemetry_.get();
    RankPhase phase = RankPhase::allocating;
    hooks.on_phase = [&](RankPhase entered) { registration_.enter(phase = entered); };
    hooks.control = control ? &*control : nullptr;
    hooks.parameter_file = options_.parameter_file;
    hooks.keep_going = options_.keep_going;
    if (options_.data_at_start) hooks.data_at_start = options_.data_at_start();
    hooks.checkpoints = options_.checkpoints;
    hooks.checkpoints.say = [rank = mpi_.rank()](const std::string& text) { say(rank, text.c_str()); };
    if (!is_quiet()) hooks.checkpoints.note = hooks.checkpoints.say;
    hooks.checkpoints.on_wait = [&](bool waits) { registration_.enter(waits ? RankPhase::saving : phase); };
    if (telemetry_) hooks.checkpoints.on_progress = [this] { telemetry_->beat(); };
    if (mpi_.rank() == 0) {
      if (options_.on_plan) options_.on_plan(plan);
      if (options_.on_begin) hooks.on_begin = [&](int64_t first) { options_.on_begin(plan, first); };
      hooks.on_step = options_.on_step;
      hooks.stop = options_.stop;
    }
    train(plan, options_.steps.value_or(plan.training.steps), *world.communicator,
          world.arena.first(static_cast<size_t>(bytes)), hooks);
  }

  [[noreturn]] void end_run(const std::exception& error) {
    if (telemetry_) telemetry_->fail(own_words(error, mpi_.rank()));
    registration_.fail(error);
    if (!registration_.is_watched()) say(mpi_.rank(), error.what());
    if (mpi_.rank() == 0 && options_.on_failure) options_.on_failure();
    mpi_.abort(failed);
  }

 private:
  bool has_session() const { return !options_.session_directory.empty(); }

  // Every rank takes part in the exchange, whatever its own machine is.
  Machine shared_machine(Communicator& ranks) const {
    if (!options_.machine) return reference_host();
    if (has_session()) return options_.machine();
    std::string own, error;
    try {
      if (mpi_.rank() == 0) own = machine_text(options_.machine());
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
    const std::string text = text_of_rank_0(own, ranks);
    if (text.empty()) throw std::runtime_error(error.empty() ? "rank 0 has no machine" : error);
    return parse_machine(text, "rank 0's machine");
  }

  void refuse(const std::string& error, bool aloud) {
    if (telemetry_) telemetry_->fail(error);
    if (aloud) registration_.fail(std::runtime_error(error));
    if (aloud && !registration_.is_watched()) say(mpi_.rank(), error.c_str());
  }

  MpiRuntime& mpi_;
  RankRegistration& registration_;
  const RankOptions& options_;
  std::unique_ptr<TelemetryWriter> telemetry_;
};

}  // namespace

int run_rank(int argc, char** argv, const RankOptions& options) {
  try {
    if (options.bind_cpus) bind_to_share_of_cpus();
    RankRegistration registration(options.session_directory, rank_of_environment());
    registration.enter(RankPhase::connecting);
    MpiRuntime mpi(argc, argv);
    std::unique_ptr<RankProcess> process;
    try {
      process = std::make_unique<RankProcess>(mpi, registration, options);
      const std::unique_ptr<Communicator> ranks = make_mpi_communicator();
      const std::unique_ptr<const Plan> plan = process->agree_on_plan(*ranks);
      if (!plan) return refused;
      process->train_plan(*plan, *ranks);
      return 0;
    } catch (const std::exception& error) {
      if (process) process->end_run(error);
      registration.fail(error);
      if (!registration.is_watched()) say(mpi.rank(), error.what());
      mpi.abort(failed);
    }
  } catch (const std::exception& error) {
    say(error.what());
    return failed;
  }
}

}  // namespace shardscope
