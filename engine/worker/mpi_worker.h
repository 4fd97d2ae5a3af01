#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/machine/machine.h"
#include "engine/plan/plan.h"
#include "engine/worker/worker.h"

namespace shardscope {

struct RankOptions {
  // What is trained: the plan of the run file for this machine. Called on every rank, after MPI is up. Throws Failure.
  std::function<Plan(const Machine&)> plan;
  // The machine for which all ranks plan. Called on every rank where there is a session, which holds it, else on rank
  // 0 alone, which tells it to the others. Throws Failure. Without it, the reference host.
  std::function<Machine()> machine;
  std::optional<int64_t> steps;   // instead of the run file's
  std::string session_directory;  // of the process that started the ranks; empty under a person's own mpirun
  std::string parameter_file;     // as TrainHooks
  bool keep_going = false;        // likewise
  bool bind_cpus = false;         // to the rank's share of its host's CPUs (engine/worker/cpu_binding.h)
  // Likewise; called on every rank, where there is a session. Throws Failure.
  std::function<std::optional<DataIdentity>()> data_at_start;
  CheckpointOptions checkpoints;                // likewise; what they say goes to standard error
  std::function<void(const Plan&)> check_plan;  // on every rank, before it has memory; throws Failure
  std::function<void(const Plan&)> on_plan;     // on rank 0, before what a checkpoint holds is read
  // On rank 0, before step `first`, with which it begins, when nothing can refuse the training any more.
  std::function<void(const Plan&, int64_t first)> on_begin;
  std::function<void()> on_failure;                 // on rank 0, where that has failed, before it aborts the run
  std::function<void(const StepMessage&)> on_step;  // on rank 0, after each step
  std::stop_token stop;                             // on rank 0: all ranks stop after the step
};

// The main of a process that mpirun started: brings MPI up, plans, agrees with the other ranks, trains with
// plan.threads_per_rank threads, and tells where it is, and telemetry, where there is a session. Returns the exit
// code:
//   0  trained, or stopped when asked
//   2  nothing was begun: the run file is wrong, the ranks hold different plans, or are not as many as the mesh's
//      devices (rank 0 says so on standard error; a rank that fails alone says so itself)
// A rank that fails later ends the whole run with exit code 1. What it says, with its rank, goes to the session's page
// where there is one, and is the launcher's to print; else to standard error.
int run_rank(int argc, char** argv, const RankOptions& options);

}  // namespace shardscope
