#include "engine/worker/checkpointing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/hash.h"
#include "engine/base/plural.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/checkpoint/joined_dimension.h"
#include "engine/worker/data_check.h"
#include "engine/worker/stored_states.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

// For the end of another run's writer: the launcher has waited already, and gives the ranks so long to begin.
constexpr std::chrono::seconds dying_writer_patience_of_ranks{5};

// Equal for processes on one kernel.
uint64_t kernel_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return hash_bytes(boot);
}

// Of a rank that waits for its own writing, until it looks after the others.
constexpr std::chrono::milliseconds patience{200};

bool same_folder(const std::string& a, const std::string& b) {
  std::error_code none;
  return fs::equivalent(a, b, none);
}

Failure with_hint(const Failure& failure, const std::string& hint) {
  std::vector<Error> errors = failure.errors();
  for (Error& error : errors) error.hint = hint;
  return Failure(std::move(errors));
}

// Older checkpoints of the folder would not do either.
bool is_of_another_run(const Failure& failure) {
  const std::string& code = failure.errors().front().code;
  return code == "other_model" || code == "changed_data";
}

bool is_of_moved_folder(const Failure& failure) { return failure.errors().front().code == "checkpoint_folder_moved"; }

// What `resume` may mean, by step. Throws no_checkpoint.
std::vector<FoundCheckpoint> candidates(const std::string& resume) {
  std::vector<FoundCheckpoint> found =
      is_checkpoint(resume) ? std::vector{FoundCheckpoint{0, resume}} : list_checkpoints(resume);
  if (!found.empty()) return found;
  throw Failure(Error{"no_checkpoint", "there is no checkpoint here", in_file(resume),
                      "the folder that --checkpoint named, or one of its step_... folders"});
}

void require_training(const Plan& plan) {
  if (plan.trains()) return;
  throw Failure(Error{"bad_argument", "the run file names no optimizer: nothing changes that could be kept",
                      at_argument("--checkpoint"), "leave it out"});
}

void require_same_model(const Plan& plan, const std::vector<StoredState>& states, const CheckpointReader& reader) {
  const std::vector<Error> errors =
      differences(reader.index(), reader.path(), plan.training.model, states, plan.trains());
  if (!errors.empty()) throw Failure(errors);
}

// What was trained may be evaluated on any data.
bool asks_for_same_data(const Plan& plan, const CheckpointOptions& options) {
  return plan.trains() && !options.allow_changed_data;
}

bool is_done(const Plan& plan, int64_t step, int64_t steps) { return plan.trains() && step >= steps; }

std::string nothing_to_do_text(const std::string& path, int64_t step, int64_t steps) {
  return fmt::format(
      "{}: there is nothing to do: {} {} done, and the run asks for {} (--steps counts from its beginning)", path,
      counted(step, "step"), plural(step, "is", "are"), steps);
}

}  // namespace

std::optional<std::string> check_checkpoints(const Plan& plan, const CheckpointOptions& options,
                                             const DataIdentity& data) {
  const FileCalls calls;
  std::optional<CheckpointFolder> folder;
  std::optional<int64_t> resumed;  // as Checkpointing has it
  std::vector<int64_t> damaged;
  std::optional<std::string> nothing_to_do;
  std::error_code none;
  // Held before its checkpoints are read, which a run that is just ending may still remove.
  if (!options.folder.empty() && fs::is_directory(options.folder, none))
    folder.emplace(options.folder, calls, options.say);
  if (!options.resume.empty()) {
    std::vector<FoundCheckpoint> found = candidates(options.resume);
    for (; !found.empty(); found.pop_back()) {
      try {
        CheckpointReader reader(found.back().path);
        require_same_model(plan, stored_states(plan), reader);
        if (asks_for_same_data(plan, options)) require_same_data(reader.index(), reader.path(), data);
        const int64_t step = reader.index().step;
        if (is_done(plan, step, plan.training.steps)) {
          reader.verify();
          nothing_to_do = nothing_to_do_text(reader.path(), step, plan.training.steps);
        }
        if (same_folder(folder_of(reader.path()), options.folder)) resumed = step;
        break;
      } catch (const Failure& failure) {
        if (is_of_another_run(failure)) throw;
        damaged.push_back(found.back().step);
        if (found.size() > 1) continue;
        throw with_hint(failure, hint_for_damaged(found.back().path));
      }
    }
  }
  if (options.folder.empty()) return nothing_to_do;
  require_training(plan);
  if (!folder) folder.emplace(options.folder, calls, options.say);
  folder->require_free_after(resumed, damaged);
  return nothing_to_do;
}

Checkpointing::Checkpointing(const Plan& plan, const Executor& executor, Communicator& world,
                             const CheckpointOptions& options, DataIdentity data)
    : plan_(plan),
      executor_(executor),
      world_(world),
      options_(options),
      data_(std::move(data)),
      calls_([this](std::string_view call, const std::string& path) {
        ++calls_made_;
        return options_.before_call ? options_.before_call(call, path) : 0;
      }),
      exchange_(world),
      states_(stored_states(plan)),
      values_(stored_values(plan)) {}

Checkpointing::~Checkpointing() { stop_.request_stop(); }

CheckpointIndex Checkpointing::load(const std::string& path) const {
  CheckpointReader reader(path);
  require_same_model(plan_, states_, reader);
  if (asks_for_same_data(plan_, options_)) require_same_data(reader.index(), path, data_);
  const auto by_name = reader.index().by_name();
  std::vector<CheckpointReader::Request> requests;
  for (size_t i = 0; i < states_.size(); ++i) {
    const StoredState& state = states_[i];
    if (std::ranges::find(state.devices, world_.rank()) == state.devices.end()) continue;
    const Box box = shard_box(state.sharding, plan_.mesh, state.type.shape, world_.rank());
    std::ranges::copy(read_requests(*by_name.at(state.name), state.type.shape, box, executor_.value(values_[i])),
                      std::back_inserter(requests));
  }
  reader.read(requests);
  return reader.index();
}

std::optional<int64_t> Checkpointing::restore(int64_t steps) {
  if (options_.resume.empty()) return std::nullopt;
  const bool one = is_checkpoint(options_.resume);
  std::vector<FoundCheckpoint> found;  // by rank 0, which chooses
  std::optional<Failure> error;
  if (world_.rank() == 0) {
    try {
      found = candidates(options_.resume);
    } catch (const Failure& failure) {
      error = failure;
    }
  }
  exchange_.throw_together(error);
  for (;;) {
    const int64_t next = exchange_.gather(found.empty() ? int64_t{-1} : found.back().step).front();
    if (next < 0) exchange_.throw_together(error);  // of the oldest of them
    const std::string path = one ? options_.resume : options_.resume + "/" + step_folder_name(next);
    CheckpointIndex index;
    error.reset();
    try {
      index = load(path);
    } catch (const Failure& failure) {
      error = failure;
    }
    const std::vector<int64_t> failed = exchange_.gather(int64_t{error.has_value()});
    const auto lowest = std::ranges::find(failed, 1) - failed.begin();
    if (lowest == world_.size()) {
      if (same_folder(folder_of(path), options_.folder)) resumed_ = index.step;
      if (world_.rank() == 0) say_resumed(path, index, steps);
      return plan_.trains() ? index.step : 0;
    }
    const bool tells = lowest == world_.rank();
    const bool final = one || (error && is_of_another_run(*error));
    if (tells && one && !is_of_another_run(*error)) error = with_hint(*error, hint_for_damaged(path));
    if (exchange_.gather(int64_t{final})[static_cast<size_t>(lowest)]) exchange_.throw_together(error);
    if (tells) options_.say(fmt::format("{} is left out: {}", step_folder_name(next), error->what()));
    damaged_.push_back(next);
    if (!found.empty()) found.pop_back();
  }
}

void Checkpointing::say_resumed(const std::string& path, const CheckpointIndex& index, int64_t steps) const {
  if (is_done(plan_, index.step, steps)) return options_.note(nothing_to_do_text(path, index.step, steps));
  options_.note(fmt::format("going on from {}", path));
  if (!plan_.trains()) return;
  for (const std::string& line : changes_since(index, plan_, data_)) options_.say(line);
}

void Checkpointing::begin(int64_t done) {
  if (options_.folder.empty()) return;
  std::optional<Failure> error;
  try {
    require_training(plan_);
    if (world_.rank() == 0) {
      folder_ =
          std::make_unique<CheckpointFolder>(options_.folder, calls_, options_.say, dying_writer_patience_of_ranks);
      folder_->continue_from(resumed_, damaged_);
    }
  } catch (const Failure& failure) {
    error = failure;
  }
  exchange_.throw_together(error);
  kept_ = done;
  newest_ = resumed_;
  index_ = lay_out_checkpoint(states_, plan_.mesh);
  index_.model = plan_.training.model;
  index_.mesh = mesh_text(plan_.mesh);
  index_.run_file = plan_.run_file;
  index_.description = plan_.training.description;
  index_.data = data_;
  const auto own = std::ranges::find(index_.files, world_.rank(), &CheckpointFile::rank);
  if (own != index_.files.end()) own_file_ = &*own;
  hold_folder();
  if (!own_file_) return;
  image_ = Mapping::anonymous(own->bytes);
  std::memset(image_.data(), 0, static_cast<size_t>(image_.bytes()));  // where memory lacks, no step is lost for it
  const std::string header = file_layout(index_, static_cast<int>(own - index_.files.begin())).header();
  std::memcpy(image_.data(), header.data(), header.size());
}

// Between rank 0's opening and that of the others the folder may have been moved.
void Checkpointing::hold_folder() {
  struct Line {
    int64_t is_held = 0;
    uint64_t kernel = 0;  // within which the identities of folders mean something
    FolderIdentity folder;
  } own{0, kernel_identity(), {}};
  std::optional<Failure> error;
  try {
    if (own_file_ && !folder_) held_ = std::make_unique<HeldFolder>(options_.folder, unwritable_checkpoint);
    own.is_held = folder_ || held_;
    if (own.is_held) own.folder = (folder_ ? folder_->held() : *held_).identity();
  } catch (const Failure& failure) {
    error = failure;
  }
  const Line first = exchange_.gather(own).front();
  if (own.is_held && own.kernel == first.kernel && own.folder != first.folder) {
    error =
        Failure(Error{"checkpoint_folder_moved", "this is not the folder that rank 0 has opened by this path",
                      in_file(options_.folder), "a folder that all ranks share, and that stays while the run begins"});
  }
  exchange_.throw_together(error);
}

void Checkpointing::after_step(int64_t done) {
  advance(false);
  if (options_.folder.empty() || options_.save_every == 0 || done % options_.save_every != 0) return;
  finish();
  start(done);
}

std::optional<Failure> Checkpointing::end(int64_t done) {
  then_ = "the end of the run is tried next";
  finish();
  for (const std::string_view then : {"it is tried once more", ""}) {
    if (options_.folder.empty() || done == kept_) return std::nullopt;
    then_ = then;
    start(done);
    finish();
  }
  if (done == kept_ || !last_error_) return std::nullopt;
  return without_end(*last_error_);
}

Failure Checkpointing::without_end(const Failure& failure) const {
  std::vector<Error> errors = failure.errors();
  errors.front().message += fmt::format("; the end of the run is in no checkpoint, {}",
                                        newest_ ? "the newest is " + step_folder_name(*newest_) : "there is none");
  return Failure(std::move(errors));
}

void Checkpointing::start(int64_t done) {
  index_.step = done;
  stage_ = Stage::writing;
  last_error_.reset();
  if (!own_file_) return;
  for (size_t i = 0; i < states_.size(); ++i) {
    for (const CheckpointPiece& piece : index_.states[i].pieces) {
      if (index_.files[piece.file].rank != world_.rank()) continue;
      const std::span<const std::byte> value = executor_.value(values_[i]);
      std::memcpy(image_.data() + piece.offset, value.data(), value.size());
    }
  }
  task_ = std::async(std::launch::async, [this, done] {
    own_file_->blocks =
        write_checkpoint_file(calls_, folder_ ? folder_->held() : *held_, done, own_file_->name,
                              std::span(image_.data(), static_cast<size_t>(image_.bytes())), stop_.get_token());
  });
}

void Checkpointing::finish() {
  if (stage_ == Stage::idle) return;
  options_.on_wait(true);
  while (stage_ != Stage::idle) advance(true);
  options_.on_wait(false);
}

// One exchange: when every rank's part of this stage is done, the next begins.
void Checkpointing::advance(bool wait) {
  if (stage_ == Stage::idle) return;
  struct Line {
    int64_t busy = 0, failed = 0, kept = 0, calls = 0;
  } own;
  own.calls = calls_made_;
  if (task_.valid()) {
    own.busy = task_.wait_for(wait ? patience : std::chrono::milliseconds(0)) != std::future_status::ready;
    if (!own.busy) take_error();
  }
  own.failed = error_.has_value();
  own.kept = folder_ && !own.busy && folder_->holds(index_.step);
  bool busy = false, failed = false;
  int64_t calls = 0;
  for (const Line& line : exchange_.gather(own)) {
    busy |= line.busy != 0;
    failed |= line.failed != 0;
    calls += line.calls;
    if (line.kept != 0) newest_ = kept_ = index_.step;
  }
  options_.on_exchange();
  if (std::exchange(all_calls_made_, calls) != calls || own.busy == 0) options_.on_progress();
  if (busy) return;
  if (failed) return abandon();
  if (stage_ == Stage::completing) {
    stage_ = Stage::idle;
    return;
  }
  collect_hashes();
  stage_ = Stage::completing;
  if (!folder_) return;
  task_ = std::async(std::launch::async, [this] { folder_->complete(index_, options_.keep); });
}

void Checkpointing::take_error() {
  try {
    task_.get();
  } catch (const Failure& failure) {
    error_ = failure;
  } catch (const std::exception& error) {
    error_ = Failure(Error{"unwritable_checkpoint", error.what(), in_file(options_.folder), ""});
  }
}

void Checkpointing::collect_hashes() {
  using Hashes = std::array<uint64_t, RankExchange::line_bytes / sizeof(uint64_t)>;
  const auto blocks_of = [](const CheckpointFile& file) {
    return static_cast<size_t>((file.bytes + checkpoint_block_bytes - 1) / checkpoint_block_bytes);
  };
  size_t most = 0;
  for (CheckpointFile& file : index_.files) {
    most = std::max(most, blocks_of(file));
    file.blocks.resize(blocks_of(file));
  }
  Hashes own{};
  for (size_t first = 0; first < most; first += own.size()) {
    for (size_t i = 0; own_file_ && i < own.size() && first + i < own_file_->blocks.size(); ++i) {
      own[i] = own_file_->blocks[first + i];
    }
    const std::vector<Hashes> all = exchange_.gather(own);
    for (CheckpointFile& file : index_.files) {
      for (size_t i = 0; i < own.size() && first + i < file.blocks.size(); ++i) {
        file.blocks[first + i] = all[static_cast<size_t>(file.rank)][i];
      }
    }
  }
}

void Checkpointing::abandon() {
  stage_ = Stage::idle;
  options_.on_wait(true);
  if (folder_) folder_->abandon(index_.step);
  last_error_ = std::exchange(error_, std::nullopt);
  const bool is_final = last_error_ && (!options_.continue_after_error || is_of_moved_folder(*last_error_));
  exchange_.throw_together(is_final ? last_error_ : std::nullopt);
  if (last_error_ && !then_.empty())
    options_.say(fmt::format("{}: {}; {}", step_folder_name(index_.step), last_error_->what(), then_));
  world_.barrier();  // what was removed can be begun again
  options_.on_wait(false);
}

}  // namespace shardscope
