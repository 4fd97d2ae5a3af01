#include <algorithm>
#include <filesystem>
#include <memory>

#include "engine/base/error.h"
#include "engine/base/standard_streams.h"
#include "engine/base/version.h"
#include "engine/cli/command_line.h"
#include "engine/cli/reference/formats.h"
#include "engine/config/write.h"

namespace shardscope {

namespace {

const ManPage& page_named(const std::vector<ManPage>& pages, const std::string& name) {
  std::vector<std::string> names;
  for (const ManPage& page : pages) {
    if (page.name == name || page.name == "shardrun-" + name) return page;
    names.push_back(page.name);
  }
  throw Failure(Error{"page", "there is no page '" + name + "'", at_argument("man"), name_hint(name, names)});
}

void write_pages(const std::vector<ManPage>& pages, const std::string& folder) {
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  if (fault) throw Failure(Error{"unwritable_file", fault.message(), in_file(folder), ""});
  for (const ManPage& page : pages) replace_file(folder + "/" + page.name + ".1", page.text);
}

}  // namespace

void add_man(CLI::App& app, CommandLine& line) {
  struct Arguments {
    std::string name = "shardrun", folder;
  };
  CLI::App* command = app.add_subcommand("man", "The manual pages of these commands, in roff");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("PAGE", arguments->name,
                      "which one to print: `shardrun` (the default), `shardrun-train` or `train`");
  command->add_option("--into", arguments->folder, "write all of them into this folder instead, as `shardrun-train.1`")
      ->type_name("DIR");
  line.help(command)
      .paragraph("The Debian packages install them.")
      .example("shardrun man train | man -l -", "read one")
      .example("shardrun man --into ~/.local/share/man/man1", "install them for yourself");
  command->callback([&line, arguments] {
    line.action = [arguments] {
      const std::vector<ManPage> pages = man_pages(command_reference(), version);
      if (arguments->folder.empty()) print_lines(page_named(pages, arguments->name).text);
      else write_pages(pages, arguments->folder);
      return exit_ok;
    };
  });
}

}  // namespace shardscope
