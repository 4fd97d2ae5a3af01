#include "engine/session/mpirun.h"

#include <unistd.h>

#include <regex>

namespace shardscope {

std::vector<std::string> mpirun_command(const std::string& program, const std::string& session_directory, int ranks) {
  std::vector<std::string> command = {"mpirun", "--oversubscribe", "--bind-to", "none", "--tag-output",
                                      "--mca", "mpi_yield_when_idle", "1",
                                      "--mca", "btl", "self,tcp",
                                      "--mca", "orte_tmpdir_base", session_directory + "/tmp"};
  if (::geteuid() == 0) command.push_back("--allow-run-as-root");
  for (const std::string& argument :
       {std::string("-n"), std::to_string(ranks), program, std::string("rank"), std::string("--session"),
        session_directory}) {
    command.push_back(argument);
  }
  return command;
}

TaggedLine parse_tagged_line(std::string_view line) {
  static const std::regex tag(R"(^\[\d+,(\d{1,6})\]<std(out|err)>:)");
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_search(line.begin(), line.end(), match, tag)) return {-1, std::string(line)};
  std::string prefix = match.str();
  std::string text(line.substr(prefix.size()));
  // A line written in pieces carries its tag before each piece.
  for (size_t at; (at = text.find(prefix)) != std::string::npos;) text.erase(at, prefix.size());
  return {std::stoi(match.str(1)), text};
}

void read_exit_report(std::string_view line, ExitReport& report) {
  static const std::regex on_signal(R"(process rank (\d{1,6}) .*exited on signal (\d{1,3}))");
  static const std::regex process_name(R"(Process name: \[\[\d+,\d+\],(\d{1,6})\])");
  static const std::regex exit_code(R"(Exit code:\s+(\d{1,6}))");
  if (report.names_culprit()) return;
  std::string text(line);
  std::smatch match;
  if (std::regex_search(text, match, on_signal)) {
    report = {std::stoi(match.str(1)), std::stoi(match.str(2)), std::nullopt};
  } else if (std::regex_search(text, match, process_name)) {
    report.rank = std::stoi(match.str(1));
  } else if (report.rank && std::regex_search(text, match, exit_code)) {
    report.exit_code = std::stoi(match.str(1));
  }
}

}  // namespace shardscope
