#include "engine/cli/checkpoint_arguments.h"

#include <filesystem>

#include "engine/base/standard_streams.h"
#include "engine/checkpoint/checkpoint_names.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/plan/stored_values.h"

namespace shardscope {

namespace {

std::string absolute(const std::string& path) { return path.empty() ? path : std::filesystem::absolute(path).string(); }

}  // namespace

void CheckpointArguments::add_to(CLI::App& command) {
  auto* into = command
                   .add_option("--checkpoint", folder,
                               "write a checkpoint into DIR where the run ends (also after Ctrl-C); DIR is neither a "
                               "checkpoint nor inside one")
                   ->type_name("DIR");
  command.add_option("--save-every", save_every, "also after every N steps")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->needs(into);
  command.add_option("--keep", keep, "keep the newest K checkpoints (3)")
      ->type_name("K")
      ->check(CLI::PositiveNumber)
      ->needs(into);
  command
      .add_option(
          "--on-checkpoint-error", on_error,
          "whether a checkpoint that cannot be written ends the run (stop). A run whose end is in no checkpoint "
          "has code 1 in either case, and one whose folder is moved ends")
      ->check(CLI::IsMember({"stop", "continue"}))
      ->needs(into);
  command
      .add_option("--resume", resume,
                  "continue from the newest whole checkpoint of DIR, or from DIR/step_000120, on any mesh. "
                  "`--steps` counts from the run's beginning; on the same mesh the rest equals, bit for bit, that "
                  "of a run that was never stopped")
      ->type_name("DIR");
  command.add_flag(
      "--allow-changed-data", allow_changed_data,
      "train on where data files differ from those at the checkpoint, or (with `--max-restarts`) from those at "
      "the start; else such a run ends with the file's name");
}

CheckpointOptions CheckpointArguments::options() const {
  CheckpointOptions options;
  options.folder = absolute(folder);
  options.save_every = save_every;
  options.keep = keep;
  options.continue_after_error = on_error == "continue";
  options.resume = absolute(resume);
  options.allow_changed_data = allow_changed_data;
  return options;
}

std::vector<int64_t> CheckpointArguments::bytes(const Plan& plan) const {
  return folder.empty() ? std::vector<int64_t>() : checkpoint_bytes(plan);
}

std::vector<std::string> CheckpointArguments::rank_arguments(bool again) const {
  if (again) require_folder_in_place();
  std::vector<std::string> list;
  if (!folder.empty()) {
    list = {"--checkpoint", absolute(folder), "--keep", std::to_string(keep), "--on-checkpoint-error", on_error};
    if (save_every > 0) list.insert(list.end(), {"--save-every", std::to_string(save_every)});
  }
  if (const std::string path = resumed_path(again); !path.empty()) list.insert(list.end(), {"--resume", path});
  if (allow_changed_data) list.push_back("--allow-changed-data");
  return list;
}

std::string CheckpointArguments::resumed_path(bool again) const {
  const bool own = again && !folder.empty() && !list_checkpoints(folder).empty();
  return absolute(own ? folder : resume);
}

void CheckpointArguments::require_folder_in_place() const {
  if (held_) require_in_place(*held_);
}

int64_t CheckpointArguments::restart_step() const {
  require_folder_in_place();
  const std::string path = resumed_path(true);
  if (path.empty()) return 0;
  if (is_checkpoint(path)) return CheckpointReader(path).index().step;
  const std::vector<FoundCheckpoint> found = list_checkpoints(path);
  return found.empty() ? 0 : found.back().step;
}

std::vector<std::string> CheckpointArguments::incomplete() const {
  std::vector<std::string> found;
  if (!held_) return found;
  try {
    for (const std::string& name : held_->names()) {
      const std::optional<int64_t> step = step_of_leftover(name);
      if (step && name == part_name(*step)) found.push_back(step_folder_name(*step));
    }
  } catch (const Failure&) {  // a folder that cannot be read tells nothing
  }
  return found;
}

std::optional<std::string> CheckpointArguments::check(const Plan& plan, const DataIdentity& data) const {
  CheckpointOptions checked = options();
  checked.say = [](const std::string& text) { say(text); };
  checked.note = [](const std::string& text) { note(text); };
  std::optional<std::string> nothing_to_do = check_checkpoints(plan, checked, data);
  if (!folder.empty()) held_ = std::make_shared<HeldFolder>(absolute(folder), unwritable_checkpoint);
  return nothing_to_do;
}

}  // namespace shardscope
