#include <fmt/format.h>
#include <sys/mount.h>

#include <filesystem>
#include <functional>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

namespace {

// Another program takes away what was written: that it is lost is said, whatever else the run does.
Fault lost(const std::string& how, const std::string& said, const std::function<void(const std::string&)>& lose) {
  Fault fault;
  fault.name = "--jsonl " + how + " during the run";
  fault.phases = training;
  fault.expected = {"steps\\.jsonl.*" + said, {1}, 60};
  fault.prepare = [](Start& start, Random&) { ask_for_all_steps(start, 3000); };
  fault.inject = [lose](Run& run, Random&) {
    const std::string path = run.start().jsonl();
    std::error_code error;
    if (!run.run_until([&] { return std::filesystem::file_size(path, error) > 0 && !error; }, 20'000)) throw Missed{};
    lose(path);
  };
  return fault;
}

}  // namespace

std::vector<Fault> unwritable_steps() {
  Fault device;
  device.name = "--jsonl /dev/full";
  device.phases = at_start;
  device.expected = {"/dev/full.*(cannot write|no space left)", {1}, 30};
  device.prepare = [](Start& start, Random&) { start.arguments = {"--jsonl", "/dev/full"}; };

  const auto on_a_disk = [](const std::string& name, unsigned long flags, const std::string& options) {
    Fault fault;
    fault.name = "--jsonl on a disk that is " + name;
    fault.phases = at_start;
    fault.expected = {flags & MS_RDONLY ? "read-only" : "no space left", {flags & MS_RDONLY ? 2 : 1}, 30};
    if (!can_mount()) fault.lacks = "the right to mount";
    fault.prepare = [flags, options](Start& start, Random&) {
      std::filesystem::create_directory(start.folder + "/disk");
      start.mounts.push_back({"none", start.folder + "/disk", "tmpfs", flags, options});
      start.arguments = {"--jsonl", start.folder + "/disk/steps"};
    };
    return fault;
  };
  return {
      device, on_a_disk("full after some steps", 0, "size=64k"), on_a_disk("read-only", MS_RDONLY, ""),
      lost("truncated", "(truncat|shorter)", [](const std::string& path) { std::filesystem::resize_file(path, 0); }),
      lost("removed", "remov", [](const std::string& path) { std::filesystem::remove(path); })};
}

}  // namespace shardscope::faults
