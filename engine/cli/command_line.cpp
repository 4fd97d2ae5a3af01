#include "engine/cli/command_line.h"

#include <fmt/format.h>

#include <cstdio>

#include "engine/base/error.h"
#include "engine/cli/version.h"

namespace shardscope {

int run_command_line(int argc, char** argv) {
  CLI::App app("Plans how a neural network is split over a device mesh, and trains that plan on MPI ranks.",
               "shardrun");
  CommandLine line{argc, argv, {}};
  app.set_version_flag("--version", std::string("shardrun ") + version);
  app.require_subcommand(1);
  add_validate(app, line);
  add_show(app, line);
  add_plan(app, line);
  add_train(app, line);
  add_checkpoint(app, line);
  add_calibrate(app, line);
  add_rank(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_ok : exit_bad_input;
  }
  try {
    return line.action();
  } catch (const Failure& failure) {
    for (const Error& error : failure.errors()) fmt::print(stderr, "{}\n", to_string(error));
    return exit_bad_input;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_failed_run;
  }
}

}  // namespace shardscope
