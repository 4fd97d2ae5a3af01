#include <fmt/format.h>

#include <memory>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/config/parse.h"
#include "engine/config/read_file.h"
#include "engine/config/write.h"

namespace shardscope {

namespace {

// Paths stay as they are written.
void upgrade(const std::string& path) {
  const std::string before = read_file(path);
  const std::string after = write_run_config(parse_run_config(before, path));
  if (path == standard_stream) return print_lines(after);
  if (before == after) return note(path + ": is current");
  replace_file(path, after);
  note(path + ": rewritten");
}

}  // namespace

void add_upgrade(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("upgrade", "Rewrite run files of former versions as this version writes them");
  auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("FILE", *files, "run files; - from standard input to standard output")->required();
  line.help(command)
      .paragraph(
          "What a run file says stays the same: former names of values (`cheapest`, now `fastest`) and keys that are "
          "read "
          "but not needed (`mesh_axes`) go, keys get their order and layout, and `version` is that of this program. A "
          "file is replaced as a whole, or stays as it is where it has a fault; the others are rewritten all the same.")
      .example("shardrun upgrade runs/*.json", "all files of a folder");
  command->callback([&line, files] {
    line.action = [files] {
      std::vector<Error> faults;
      for (const std::string& file : *files) {
        try {
          upgrade(file);
        } catch (const Failure& failure) {
          faults.insert(faults.end(), failure.errors().begin(), failure.errors().end());
        }
      }
      if (!faults.empty()) throw Failure(faults);
      return exit_ok;
    };
  });
}

}  // namespace shardscope
