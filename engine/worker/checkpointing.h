#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/data_identity.h"
#include "engine/checkpoint/checkpoint_folder.h"
#include "engine/checkpoint/checkpoint_layout.h"
#include "engine/comm/communicator.h"
#include "engine/comm/mapping.h"
#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"
#include "engine/worker/rank_exchange.h"

namespace shardscope {

struct CheckpointOptions {
  std::string folder;      // into which checkpoints are written; empty: none
  int64_t save_every = 0;  // training steps; 0: one at the end alone
  int keep = 3;            // that remain, the newest
  // What a checkpoint that cannot be written means: true, training goes on without it; false, the run ends with that
  // error, since what it learns from there on would be lost with it. Where the folder was moved it ends in either case.
  bool continue_after_error = false;
  // A checkpoint (DIR/step_000120), or a folder of them: the newest whole one. Empty: training begins at step 0.
  std::string resume;
  bool allow_changed_data = false;  // a checkpoint of other data is no error, nor data that change before a restart
  // To a person, on any rank: what was damaged, what could not be written or removed.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  // Likewise: where training goes on from, and what has changed since.
  std::function<void(const std::string&)> note = [](const std::string&) {};
  // On every rank: it begins (true) or ends (false) to wait for a checkpoint to be written.
  std::function<void(bool)> on_wait = [](bool) {};
  // On every rank, when any has got on with a checkpoint in the making; on one that has written its own part again and
  // again until all have.
  std::function<void()> on_progress = [] {};
  // On every rank, when it has learnt what all have done of a checkpoint.
  std::function<void()> on_exchange = [] {};
  FileCalls::Before before_call;
};

// What can be known of the options before any rank is started: throws Failure as restore() and begin() below, but of
// damage that shows in an index or in the length of a file alone. `data`: what the run will read. Gives what there is
// to say where a training has nothing left to do: it would go on from a whole checkpoint of its last step, or a later.
std::optional<std::string> check_checkpoints(const Plan& plan, const CheckpointOptions& options,
                                             const DataIdentity& data);

// Writes a run's checkpoints while it trains, and restores it from one: the part of one rank. The step waits until the
// rank's own part is copied; a thread writes it, and when all ranks have written rank 0's completes the checkpoint. One
// that is due while the last is still being written waits for that.
//
// All calls are collective over `world`, and do nothing where the options ask for nothing. They throw Failure on one
// rank that has the error; the others learn of it when that one aborts.
class Checkpointing {
 public:
  // `data`: what this rank reads; checkpoints carry rank 0's.
  Checkpointing(const Plan& plan, const Executor& executor, Communicator& world, const CheckpointOptions& options,
                DataIdentity data);
  ~Checkpointing();
  Checkpointing(const Checkpointing&) = delete;
  Checkpointing& operator=(const Checkpointing&) = delete;

  // Fills all states from the checkpoint that the options name and returns the step with which training goes on;
  // nothing where they name none. `steps`: those of the whole run; says so where nothing is left to do, else what has
  // changed since the checkpoint was written. Throws no_checkpoint, damaged_checkpoint, unreadable_checkpoint,
  // other_model, changed_data.
  std::optional<int64_t> restore(int64_t steps);
  // Before the first step, `done` being done: what cannot be written is known then. Throws unwritable_checkpoint,
  // bad_checkpoint_folder, checkpoint_in_use, checkpoint_exists.
  void begin(int64_t done);
  // After each step but the last. These, as end() below, throw checkpoint_folder_moved where the folder is no longer
  // where the options name it.
  void after_step(int64_t done);
  // After the last step: the state in which the run ends is kept, and what was begun is complete or given up. Gives
  // what the run then ends with where errors did not end the training and that state is in no checkpoint, on a rank
  // that knows why.
  std::optional<Failure> end(int64_t done);

 private:
  enum class Stage : uint8_t { idle, writing, completing };

  CheckpointIndex load(const std::string& path) const;
  void say_resumed(const std::string& path, const CheckpointIndex& index, int64_t steps) const;
  void hold_folder();
  void start(int64_t done);
  void advance(bool wait);
  void finish();
  void collect_hashes();
  void abandon();
  void take_error();
  Failure without_end(const Failure& error) const;

  const Plan& plan_;
  const Executor& executor_;
  Communicator& world_;
  const CheckpointOptions& options_;
  const DataIdentity data_;
  std::atomic<int64_t> calls_made_ = 0;
  int64_t all_calls_made_ = 0;  // by all ranks, as far as known
  const FileCalls calls_;
  RankExchange exchange_;
  const std::vector<StoredState> states_;
  const std::vector<int> values_;   // program values that store them
  std::optional<int64_t> resumed_;  // the step of the checkpoint in `folder` with which the run began
  std::vector<int64_t> damaged_;    // steps of those that were left out for it

  CheckpointIndex index_;
  std::unique_ptr<CheckpointFolder> folder_;  // on rank 0
  std::unique_ptr<HeldFolder> held_;          // the same, on the other ranks that write
  CheckpointFile* own_file_ = nullptr;        // in the index; null where this rank has nothing to write
  Mapping image_;                             // of that file
  int64_t kept_ = 0;                          // the step of the last complete checkpoint, or with which the run began
  std::optional<int64_t> newest_;             // in the folder, as far as this run knows
  Stage stage_ = Stage::idle;
  std::optional<Failure> error_;                // of the checkpoint in the making
  std::optional<Failure> last_error_;           // of the one before, where it was given up
  std::string_view then_ = "training goes on";  // after one that is given up; empty: that is said otherwise
  std::stop_source stop_;
  std::future<void> task_;  // goes first: it uses the rest
};

}  // namespace shardscope
