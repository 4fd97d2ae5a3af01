#include "engine/session/host_agent.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/cli/command_line.h"
#include "engine/session/shell_server.h"

namespace shardscope {

void add_host_agent(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("host-agent", "What a launcher of ranks has on each of its hosts");
  command->group("");
  auto options = std::make_shared<HostAgentOptions>();
  auto launcher = std::make_shared<std::string>();
  auto stopped = std::make_shared<std::string>();
  auto* connect = command->add_option("--connect", *launcher, "the launcher: ADDRESS:PORT");
  command->add_option("--host", options->host, "the number of this host in the run");
  command->add_option("--end", *stopped, "ends an agent that does not answer: PID:START")->excludes(connect);
  command->callback([&line, options, launcher, stopped] {
    line.action = [options, launcher, stopped] {
      if (!stopped->empty()) {
        ProcessId agent;
        if (std::sscanf(stopped->c_str(), "%10d:%20" SCNu64, &agent.pid, &agent.start_time) != 2) return exit_bad_input;
        return end_host_agent(agent);
      }
      const size_t colon = launcher->rfind(':');
      options->address = launcher->substr(0, colon);
      options->port = colon == std::string::npos ? 0 : std::atoi(launcher->c_str() + colon + 1);
      if (!std::getline(std::cin, options->secret) || options->secret.empty()) {
        throw Failure(Error{"bad_argument", "the secret of the run is read from standard input",
                            at_argument("host-agent"), "this is for 'shardrun train' to call"});
      }
      return run_host_agent(*options);
    };
  });
}

void add_remote_shell(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("remote-shell", "What mpirun calls in the place of ssh");
  command->group("");
  command->prefix_command();
  command->callback([&line, command] {
    line.action = [command] {
      std::vector<std::string> words = command->remaining();
      if (words.empty()) throw Failure(Error{"bad_argument", "no host", at_argument("remote-shell"), ""});
      const std::string host = words.front();
      words.erase(words.begin());
      return run_remote_shell(host, words);
    };
  });
}

}  // namespace shardscope
