#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/plan/plan.h"
#include "engine/session/control.h"
#include "engine/session/messages.h"
#include "engine/session/rank_phase.h"
#include "engine/session/telemetry.h"
#include "engine/worker/checkpointing.h"

namespace shardscope {

// The surroundings of a training; all may be absent.
struct TrainHooks {
  TelemetryWriter* telemetry = nullptr;     // without it nobody looks at memory outside: outside_bytes is 0
  const Control* control = nullptr;         // rank 0 looks; all ranks stop after the same step
  std::stop_token stop;                     // the same, within one process
  bool keep_going = false;                  // also after a loss that is not finite
  std::function<void(RankPhase)> on_phase;  // when it begins: initialising, training, finishing
  std::string parameter_file;               // into which the parameters are written at the end; empty: none
  // What the data were when the run began, as its launcher found them; nothing: what rank 0 finds now.
  std::optional<DataIdentity> data_at_start;
  CheckpointOptions checkpoints;
  // On every rank, when all that may refuse the training has gone well: `first` is the step with which it begins.
  std::function<void(int64_t first)> on_begin;
  std::function<void(const StepMessage&)> on_step;  // on every rank, after each step
  // Of a model with experts what they got, before on_step of the same step.
  std::function<void(const std::vector<ExpertLoad>&)> on_expert_load;
};

// The memory that train() wants for a rank: the plan's largest arena, and a margin in which a write past it is noticed.
// It is 64-byte aligned and readable by the peers of `world`.
int64_t rank_memory_bytes(const Plan& plan);

// Trains until `steps` steps are done (evaluates as often, where the plan does not train) as rank world.rank() = device
// of the plan's mesh; those that a checkpoint has seen, with which it goes on, count. Every rank calls it, as a process
// or as a thread. Returns the steps done. Afterwards `memory` still holds all values at the plan's offsets.
//
// A loss, or any metric, that is infinite or nan ends the training before the update: the step is done again, watched,
// and the first result that is not finite is named.
//
// Throws Failure: plan_mismatch, world_size and not_finite on all ranks alike; anything else (a step that fails, a peer
// that is gone) after aborting `world`, so that the other ranks end too.
int64_t train(const Plan& plan, int64_t steps, Communicator& world, std::span<std::byte> memory,
              const TrainHooks& hooks);

// Throws unless all ranks run the same code, hold the same plan and are as many as its mesh has devices. Collective.
// Part of train(); also for callers to whom the ranks' memory, which depends on the plan, is one thing.
void check_ranks(const Plan& plan, Communicator& world);
// Of which the first: `code` is this rank's, see engine/base/loaded_code.h.
void check_code(const std::string& code, Communicator& world);

}  // namespace shardscope
