#include "engine/export/headless.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/base/path.h"
#include "engine/base/plural.h"
#include "engine/base/version.h"
#include "engine/compile/compile.h"
#include "engine/compile/document_of.h"
#include "engine/compile/file_paths.h"
#include "engine/compile/plan_request.h"
#include "engine/config/write.h"
#include "engine/data/token_files.h"
#include "engine/export/headless_scripts.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/plan/stored_values.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t most_plan_file_bytes = 1 << 20;

// The files that training reads there: of a folder not those behind links to folders.
std::vector<fs::path> files_at(const fs::path& path) {
  const TokenFiles found = find_token_files(path.string(), 1, in_file(path.string()).file);
  if (!found.errors.empty()) throw Failure(found.errors);
  std::vector<fs::path> files;
  for (const TokenFiles::File& file : found.files) files.emplace_back(file.path);
  return files;
}

// A file of a folder that is elsewhere may be one that was not to be handed out.
void require_inside(const fs::path& file, const fs::path& folder) {
  std::error_code fault;
  const fs::path target = fs::canonical(file, fault), base = fs::canonical(folder, fault);
  const fs::path relative = target.lexically_relative(base);
  if (!fault && !relative.empty() && *relative.begin() != "..") return;
  throw Failure(Error{"link_outside",
                      fmt::format("this is a link to '{}', outside the folder of data, and is not copied",
                                  fault ? fault.message() : target.string()),
                      in_file(file.string()), "copy the file into the folder of data, or remove the link"});
}

int64_t bytes_at(const std::vector<fs::path>& files) {
  int64_t bytes = 0;
  for (const fs::path& file : files) {
    std::error_code fault;
    const uintmax_t size = fs::file_size(file, fault);
    if (!fault) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

// The last name of a path: of "tok/", "tok/." and "tok/x/.." it is "tok".
std::string last_name(const fs::path& path) {
  const std::string name = fs::path(without_slashes(path.lexically_normal().string())).filename().string();
  return name.empty() || name == "/" || name == "." || name == ".." ? "files" : name;
}

// The config of the folder's run file: what it names of data is copied where it is small.
RunConfig with_copied_data(const RunConfig& config, ExportTarget& target) {
  std::map<std::string, std::string> names;
  const auto name_of = [&](const fs::path& path) {
    const std::string last = last_name(path);
    std::string name = "data/" + last;
    for (int number = 2;; ++number) {
      const bool taken = std::ranges::any_of(names, [&](const auto& known) { return known.second == name; });
      if (!taken) return name;
      name = fmt::format("data/{}_{}", number, last);
    }
  };
  return with_named_paths(config, [&](const std::string& path) {
    if (names.contains(path)) return names[path];
    const std::vector<fs::path> files = files_at(path);
    if (bytes_at(files) > copied_data_bytes) {
      target.note(fmt::format("{} is too large to copy, and must be there, too", path));
      return names[path] = path;
    }
    if (std::error_code fault; fs::is_directory(path, fault)) {
      for (const fs::path& file : files) require_inside(file, path);
    }
    const std::string name = name_of(path);
    const auto all = static_cast<double>(std::max<int64_t>(bytes_at(files), 1));
    double done = 0;
    for (const fs::path& file : files) {
      const bool is_alone = file == fs::path(path);
      const double end = std::min(done + static_cast<double>(bytes_at({file})) / all, 1.0);
      target.add_copy(is_alone ? name : (fs::path(name) / file.lexically_relative(path)).string(), file.string(),
                      {std::exchange(done, end), end});
    }
    return names[path] = name;
  });
}

std::string hash_text(uint64_t hash) { return fmt::format("{:016x}", hash); }

Json read_plan_file(const std::string& path) {
  std::string text;
  try {
    text = read_text(path, most_plan_file_bytes);
  } catch (const Failure& failure) {
    throw Failure(Error{"unreadable_file", failure.errors().front().message, in_file(path),
                        "the folder that 'shardrun export FILE --to headless FOLDER' wrote"});
  }
  const Json json = Json::parse(text, nullptr, false);
  const auto is_text = [&](const char* key) { return json.contains(key) && json[key].is_string(); };
  if (!json.is_object() || !is_text("version") || !is_text("plan_hash"))
    throw Failure(Error{"bad_export", "it does not say what was exported", in_file(path), "export the run again"});
  return json;
}

}  // namespace

void write_headless(const ExportSource& source, Launch launch, ExportTarget& target) {
  const Plan& plan = *source.plan;
  RunConfig config = with_copied_data(document_of(plan), target);
  config.machine = machine_choice(std::string("machine.json"));
  const HeadlessFacts facts{
      plan.training.model,    plan.mesh.device_count(), plan.arena_bytes(),           plan.ranks_per_host,
      plan.threads_per_rank,  plan.training.steps,      plan.totals.seconds_per_step, plan.trains(),
      checkpoint_bytes(plan), hosts_of(config)};
  target.add_file("run.json", write_run_config(config));
  target.add_file("machine.json", machine_text(plan.machine));
  const Json reported = {
      {"version", version}, {"plan_hash", hash_text(plan.hash)}, {"ranks", plan.mesh.device_count()}};
  target.add_file("plan.json", reported.dump() + '\n');
  target.add_file("hosts", hosts_file(facts));
  target.add_file("train.sh", train_script(facts), true);
  target.add_file("mpirun.sh", mpirun_script(facts), true);
  if (launch == Launch::slurm) target.add_file("job.sbatch", slurm_script(facts), true);
  target.add_file("README.txt", headless_readme(facts, launch == Launch::slurm));
}

std::string check_headless(const std::string& folder) {
  const std::string plan_file = folder + "/plan.json", run_file = folder + "/run.json";
  const Json reported = read_plan_file(plan_file);
  if (reported["version"] != version) {
    throw Failure(
        Error{"other_version",
              fmt::format("shardscope {} exported it, and this is {}", reported["version"].get<std::string>(), version),
              in_file(plan_file), "the same version on both sides"});
  }
  const Machine machine = load_machine(folder + "/machine.json");
  const Plan plan = compile({load_run_file(run_file), machine});
  const std::string hash = hash_text(plan.hash);
  if (reported["plan_hash"] != hash) {
    throw Failure(Error{"other_plan",
                        fmt::format("plan {} was exported, and here it is {}: run.json or machine.json was changed, or "
                                    "this program plans otherwise",
                                    reported["plan_hash"].get<std::string>(), hash),
                        in_file(run_file), "export it again from where it was changed, by the program of both sides"});
  }
  return fmt::format("{}: plan {} for {}, as it was exported", folder, hash, counted(plan.mesh.device_count(), "rank"));
}

}  // namespace shardscope
