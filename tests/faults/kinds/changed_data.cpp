#include <fmt/format.h>
#include <unistd.h>

#include <QProcess>
#include <QProcessEnvironment>
#include <filesystem>
#include <fstream>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

namespace fs = std::filesystem;

namespace {

constexpr int64_t bytes = 200'000;

std::string data_file(const Start& start) { return start.folder + "/data"; }

void grow(const std::string& path) { std::ofstream(path, std::ios::app) << std::string(1000, 'x'); }

// Trains on a file of the trial's own: "text", or "tokens" of two bytes.
void train_on_a_file(Start& start, const std::string& kind, int64_t steps) {
  start.preset = "tiny_text";
  std::string text;
  while (std::ssize(text) < bytes)
    text += kind == "text" ? "The quick brown fox. " : std::string{'\1', '\0', '\2', '\0'};
  std::ofstream(data_file(start)) << text;
  start.settings = {"model.embed_dim=16",    "model.ff_dim=32",   "model.num_heads=2",
                    "model.num_layers=1",    "model.seq_len=16",  "data.batch_size=4",
                    "data.evaluate_every=0", "data.kind=" + kind, "data.path=" + data_file(start)};
  if (kind == "tokens") start.settings.push_back("data.dtype=uint16");
  ask_for_all_steps(start, steps);
}

Fault on_a_file(const std::string& name, std::vector<Phase> phases, const std::string& said, std::set<int> codes) {
  Fault fault;
  fault.name = name;
  fault.phases = std::move(phases);
  fault.expected = {said, std::move(codes), 30};
  return fault;
}

// One line names the file, both sizes and that it changed.
const std::string changed =
    "(?=[^\\n]*[/']data\\b)(?=[^\\n]*chang)(?=[^\\n]*\\b200[, ]?0\\d\\d\\b)(?=[^\\n]*\\b201[, ]?0\\d\\d\\b)";

// Neither the steps that it does again nor those after them would be the same run's.
Fault grown_before_a_restart(bool allowed) {
  Fault fault = on_a_file(
      allowed ? "data that grow before a restart, with --allow-changed-data" : "data that grow before a restart",
      {Phase::computing}, allowed ? "rank %r was killed by SIGKILL" : changed, {allowed ? 0 : 1});
  fault.prepare = [allowed](Start& start, Random&) {
    train_on_a_file(start, "text", 3000);
    start.add({"--max-restarts", "1"});
    if (allowed) start.add({"--allow-changed-data"});
  };
  fault.inject = [](Run& run, Random&) {
    grow(data_file(run.start()));
    send(there(run.rank()), SIGKILL);
  };
  if (allowed) fault.check = check_all_steps;
  return fault;
}

// Runs the trial's training before the trial, to its end.
void train_before(const Start& start) {
  fs::create_directories(start.temporary());
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("TMPDIR", QString::fromStdString(start.temporary()));
  process.setProcessEnvironment(environment);
  QStringList words;
  for (const std::string& word : start.command()) words << QString::fromStdString(word);
  process.start(words.takeFirst(), words);
  if (!process.waitForFinished(60'000) || process.exitCode() != 0) {
    throw Complaint("the training before: " + process.readAllStandardError().toStdString());
  }
}

Fault grown_before_a_resume(bool allowed) {
  Fault fault = on_a_file(allowed ? "data that have grown before --resume, with --allow-changed-data"
                                  : "data that have grown before --resume",
                          at_start, allowed ? "" : changed, allowed ? std::set{0} : std::set{1, 2});
  fault.prepare = [allowed](Start& start, Random&) {
    train_on_a_file(start, "text", 40);
    Start first = start;
    first.steps = 20;
    first.add({"--checkpoint", start.checkpoints()});
    train_before(first);
    grow(data_file(start));
    start.add({"--append", "--resume", start.checkpoints()});
    if (allowed) start.add({"--allow-changed-data"});
  };
  fault.check = [allowed](const Run& run) {
    if (allowed) check_all_steps(run);
    else check_all_steps_in(run.start().jsonl(), 20);
  };
  return fault;
}

Fault truncated() {
  Fault fault = on_a_file("a token file truncated during the run", {Phase::computing},
                          "/data\\b.*(truncated|shorter|chang|bytes)|(truncated|shorter|chang|bytes).*/data\\b", {1});
  fault.prepare = [](Start& start, Random&) { train_on_a_file(start, "tokens", Start::endless); };
  fault.inject = [](Run& run, Random&) {
    if (::truncate(data_file(run.start()).c_str(), 4096) != 0) throw Complaint("cannot truncate the data");
  };
  return fault;
}

}  // namespace

std::vector<Fault> changed_data() {
  return {grown_before_a_restart(false), grown_before_a_restart(true), grown_before_a_resume(false),
          grown_before_a_resume(true), truncated()};
}

}  // namespace shardscope::faults
