#include "engine/worker/data_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/hash.h"
#include "engine/base/printable.h"
#include "engine/checkpoint/stored_identity.h"
#include "engine/compile/changed_settings.h"
#include "engine/worker/rank_exchange.h"
#include "engine/worker/shared_text.h"

namespace shardscope {

namespace {

constexpr const char* way_out = "restore them, or train on with what they are now: --allow-changed-data";

Failure changed_data(const std::string& what, const Place& place) {
  return Failure(Error{"changed_data", what, place, way_out});
}

// Rank 0's where the ranks' differ.
DataIdentity common_identity(const DataIdentity& own, RankExchange& exchange, Communicator& world) {
  const std::string text = write_data_identity(own);
  const std::vector<uint64_t> hashes = exchange.gather(hash_bytes(text));
  const bool alike = std::ranges::all_of(hashes, [&](uint64_t hash) { return hash == hashes.front(); });
  return alike ? own : parse_data_identity(text_of_rank_0(text, world), "rank 0");
}

std::vector<std::string> setting_lines(const CheckpointIndex& index, const Plan& plan, bool with_data_paths) {
  try {
    std::vector<std::string> lines = changed_settings(index.run_file, plan.run_file, with_data_paths);
    const std::string& description = plan.training.description;
    if (index.description.empty() || description.empty()) return lines;
    std::ranges::move(changed_description(index.description, description), std::back_inserter(lines));
    return lines;
  } catch (const Failure& failure) {
    return {fmt::format("warning: its run file cannot be compared with this one: {}", failure.what())};
  }
}

}  // namespace

DataIdentity check_run_data(const Plan& plan, Communicator& world, const std::optional<DataIdentity>& at_start,
                            bool allow_changed, const std::function<void(const std::string&)>& say) {
  DataIdentity own;
  std::optional<Failure> error;
  try {
    own = identify_data(plan.training.data);
  } catch (const Failure& failure) {
    error = failure;
  }
  RankExchange(world).throw_together(error);
  require_run_data(own, world, at_start, allow_changed, say);
  return own;
}

void require_run_data(const DataIdentity& own, Communicator& world, const std::optional<DataIdentity>& at_start,
                      bool allow_changed, const std::function<void(const std::string&)>& say) {
  RankExchange exchange(world);
  std::optional<Failure> error;
  const DataIdentity expected = at_start ? *at_start : common_identity(own, exchange, world);
  const std::vector<std::string> changes = differences(expected, own);
  if (!changes.empty()) {
    const std::string than = at_start ? "those with which the run began" : "those of rank 0";
    error = changed_data(fmt::format("the files that this rank reads are not {}: {}", than, summary(changes)), "data");
  }
  if (!allow_changed) exchange.throw_together(error);
  else if (error) say("warning: " + error->errors().front().message);
}

void require_same_data(const CheckpointIndex& index, const std::string& path, const DataIdentity& data) {
  if (!index.data) return;
  const std::vector<std::string> changes = differences(*index.data, data);
  if (changes.empty()) return;
  throw changed_data("the data changed since it was written: " + summary(changes), in_file(path));
}

std::vector<std::string> changes_since(const CheckpointIndex& index, const Plan& plan, const DataIdentity& data) {
  if (index.step == 0) return {};  // parameters that were imported: nothing was trained yet
  std::vector<std::string> lines, changes;
  if (index.data) changes = differences(*index.data, data);
  if (!changes.empty()) lines.push_back("warning: the data changed since it was written: " + summary(changes));
  if (!index.data && data.has_files()) {
    lines.push_back(
        "warning: it does not say with which data it was trained (an earlier version wrote it); whether "
        "they are the same now is not known");
  }
  const bool is_known_same = index.data && changes.empty();
  for (std::string& line : setting_lines(index, plan, !is_known_same)) {
    lines.push_back(line.starts_with("warning") ? std::move(line) : "changed since it was written: " + line);
  }
  for (std::string& line : lines) line = printable(line);
  return lines;
}

}  // namespace shardscope
