#include <memory>

#include "engine/base/input_file.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/key_reference.h"
#include "engine/cli/option_reference.h"
#include "engine/cli/reference/formats.h"
#include "engine/cli/run_file_schema.h"
#include "engine/config/write.h"

namespace shardscope {

// For ./run documents, and hidden: whoever has no sources has nothing to write.
void add_documents(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("documents", "Write commands.md, the tables of run-file.md and its schema anew");
  command->group("");
  auto folder = std::make_shared<std::string>();
  command->add_option("DIR", *folder, "the folder docs of the sources")->required();
  command->callback([&line, folder] {
    line.action = [folder] {
      constexpr int64_t most_bytes = 1 << 24;
      const std::string run_file = *folder + "/run-file.md";
      replace_file(run_file, with_key_tables(with_option_tables(read_text(run_file, most_bytes, "unreadable_file"))));
      replace_file(*folder + "/../resources/run_file.schema.json", run_file_schema());
      replace_file(*folder + "/commands.md", commands_document(command_reference()));
      return exit_ok;
    };
  });
}

}  // namespace shardscope
