#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::faults {

// As for mount(2), done in a mount namespace of the trial's own.
struct Mount {
  std::string source, target, type;
  unsigned long flags = 0;
  std::string options;
};

// What a trial starts: the training of a tiny model.
struct Start {
  static constexpr int64_t endless = 100'000'000;

  std::string program;              // shardrun
  std::string folder;               // of the trial; TMPDIR is folder/tmp, where no hosts are named
  std::vector<std::string> before;  // a command that becomes the program: prlimit --nofile=32
  std::string preset = "mintext_mlp";
  int ranks = 2;
  int64_t steps = endless;
  std::vector<std::string> settings;   // further --set
  std::vector<std::string> arguments;  // further ones of train
  std::map<std::string, std::string> environment;
  std::vector<Mount> mounts;
  std::vector<std::string>
      host_folders;            // TMPDIR of each host, which takes an even share of the ranks; empty: one host
  std::string output, errors;  // files for standard output and error; empty: the test reads them
  bool close_output = false, close_errors = false;
  bool own_terminal = false;  // `output` is a terminal, which shall be the program's
  std::optional<unsigned> umask;
  bool as_nobody = false;  // where the test is root, whom no permission binds

  // TMPDIR, of the launcher and of each host.
  std::vector<std::string> temporaries() const;
  std::string temporary_of_rank(int rank) const;
  std::string temporary() const { return temporaries().front(); }
  std::string jsonl() const { return folder + "/steps.jsonl"; }
  std::string checkpoints() const { return folder + "/checkpoints"; }
  void add(const std::vector<std::string>& more) { arguments.insert(arguments.end(), more.begin(), more.end()); }
  std::vector<std::string> run_file_arguments() const;  // FILE --set ...
  std::vector<std::string> command() const;
};

// Whether trials can have mounts of their own (root, as a rule).
bool can_mount();

}  // namespace shardscope::faults
