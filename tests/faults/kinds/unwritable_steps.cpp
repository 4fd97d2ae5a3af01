#include <fmt/format.h>
#include <sys/mount.h>

#include <filesystem>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

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
  return {device, on_a_disk("full after some steps", 0, "size=64k"), on_a_disk("read-only", MS_RDONLY, "")};
}

}  // namespace shardscope::faults
