#include <fmt/format.h>
#include <unistd.h>

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <filesystem>
#include <map>

#include "engine/session/recorded_run.h"
#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"
#include "tests/session/socket_client.h"

namespace shardscope::faults {

namespace fs = std::filesystem;

namespace {

constexpr int64_t first_steps = 8000;

std::string record(const Start& start) { return start.folder + "/record"; }
std::string socket_path(const Start& start) { return start.folder + "/socket"; }
fs::path named(const std::string& output, const Start& start) {
  const std::map<std::string, std::string> paths = {{"--jsonl", start.jsonl()},
                                                    {"--record", record(start)},
                                                    {"--checkpoint", start.checkpoints()},
                                                    {"--socket", socket_path(start)}};
  return paths.at(output);
}

// Of those files of a record, by path, that stay as they are while the run goes on.
std::map<std::string, QByteArray> fixed_files(const std::string& folder) {
  const RecordFiles files{folder};
  std::map<std::string, QByteArray> texts;
  for (const std::string& path : {files.header(), files.run_file(), files.machine()}) {
    QFile file(QString::fromStdString(path));
    if (file.open(QIODevice::ReadOnly)) texts[path] = file.readAll();
  }
  return texts;
}

// Losses by step.
std::map<int64_t, double> losses_in(const std::string& jsonl) {
  std::map<int64_t, double> losses;
  QFile file(QString::fromStdString(jsonl));
  if (!file.open(QIODevice::ReadOnly)) return losses;
  for (QByteArray line = file.readLine(); !line.isEmpty(); line = file.readLine()) {
    const QJsonObject step = QJsonDocument::fromJson(line).object();
    losses[step["step"].toInteger()] = step["loss"].toDouble();
  }
  return losses;
}

std::map<int64_t, double> recorded_losses(const std::string& folder) {
  std::map<int64_t, double> losses;
  try {
    RecordedRun(folder).replay([&](const Message& message) {
      const auto* step = std::get_if<StepMessage>(&message);
      for (size_t i = 0; step && i < step->metrics.size(); ++i) {
        if (step->metrics[i].name == "loss") losses[step->step] = step->metrics[i].value;
      }
    });
  } catch (const Failure& failure) {
    throw Complaint(failure.what());
  }
  return losses;
}

void check_record(const Run& run) {
  check_all_steps(run);
  for (TraceChoice choice : trace_choices) {
    const std::string trace = RecordFiles{record(run.start())}.trace(choice);
    if (!fs::exists(trace)) throw Complaint(trace + " is gone");
  }
  if (recorded_losses(record(run.start())) != losses_in(run.start().jsonl())) {
    throw Complaint("the record holds other losses than the run had");
  }
}

// A second run that would write where the first does is refused (code 2 or 1), naming the path; the first goes on
// as if nothing had been.
Fault second(const std::string& output, const std::vector<std::string>& more) {
  Fault fault;
  fault.name = fmt::format("a second run with the same {}{}{}", output, more.empty() ? "" : " and ",
                           more.empty() ? "" : more.front());
  fault.phases = {Phase::joining, Phase::computing};
  fault.expected = {"", {0}, 90};
  fault.prepare = [output](Start& start, Random&) {
    ask_for_all_steps(start, first_steps);
    if (output != "--jsonl") start.add({output, named(output, start)});
    if (output == "--checkpoint") start.add({"--save-every", "500"});
  };
  fault.inject = [output, more](Run& run, Random&) {
    const fs::path path = named(output, run.start());
    const fs::path last_made = output == "--record" ? fs::path(RecordFiles{path}.messages()) : path;
    if (!run.run_until([&] { return fs::exists(last_made); }, 10'000)) throw Missed{};
    const auto before = fixed_files(path);
    Start other = run.start();
    other.steps = 5;
    other.arguments = {output, path};
    other.add(more);
    const Run::Ended ended = run.run_beside(other);
    if (run.ended()) throw Missed{};
    if (ended.code != 1 && ended.code != 2) {
      throw Complaint(fmt::format("the second run ended with code {}: {}", ended.code, ended.errors));
    }
    if (ended.errors.find(path) == std::string::npos) {
      throw Complaint(fmt::format("the second run does not name {}: {}", path.string(), ended.errors));
    }
    if (fixed_files(path) != before) throw Complaint("the refused call has changed " + path.string());
    if (output == "--socket" && !SocketClient(path).connected()) throw Complaint("the run's socket is gone");
    run.run_for(60'000);
  };
  fault.check = output == "--record" ? check_record : check_all_steps;
  return fault;
}

// Two at once, of other seeds: one of them is refused, and the record is the other's alone. The last argument is the
// file of its steps.
Fault two_at_once() {
  Fault fault;
  fault.name = "two runs at once with the same --record";
  fault.phases = at_start;
  fault.expected = {"", {0}, 90};
  fault.prepare = [](Start& start, Random&) {
    start.add({"--record", record(start)});
    ask_for_all_steps(start, 200);
    start.before = {"bash", "-c",
                    "\"${@:1:$#-1}\" \"${@: -1}.second\" --set data.seed=7 & \"$@\"; first=$?; wait $!; second=$?; "
                    "[ $first = 0 ] && [ $second != 0 ] || { [ $first != 0 ] && [ $second = 0 ]; }",
                    "bash"};
  };
  fault.check = [](const Run& run) {
    const std::map<int64_t, double> kept = recorded_losses(record(run.start()));
    const std::string first = run.start().jsonl(), other = first + ".second";
    const bool is_first = losses_in(first).size() == static_cast<size_t>(run.start().steps);
    const QByteArray run_file = fixed_files(record(run.start()))[RecordFiles{record(run.start())}.run_file()];
    const bool is_firsts = QJsonDocument::fromJson(run_file)["data"]["seed"].toInt() != 7;
    if (is_first != is_firsts) throw Complaint("the record has the run file of the refused run");
    if (kept != losses_in(is_first ? first : other)) throw Complaint("the record is not that of the run that made it");
  };
  return fault;
}

// Somebody removes the file of the run's socket, and another run takes its name: it keeps it when the first ends.
Fault a_socket_taken_over() {
  Fault fault;
  fault.name = "a socket's path that another run has taken";
  fault.phases = {Phase::computing};
  fault.expected = {"", {128 + SIGINT}, 30};
  fault.prepare = [](Start& start, Random&) { start.add({"--socket", socket_path(start)}); };
  fault.inject = [](Run& run, Random&) {
    const std::string path = socket_path(run.start());
    ::unlink(path.c_str());
    const auto other = run.start_beside(run.start());
    if (!run.run_until([&] { return SocketClient(path).connected(); }, 20'000)) throw Missed{};
    send(run.launcher(), SIGINT);
    run.begin_fault();
    run.run_for(20'000);
    const bool is_there = SocketClient(path).connected();
    other->terminate();
    other->waitForFinished();
    if (!is_there) throw Complaint("the socket of the other run is gone");
  };
  return fault;
}

}  // namespace

std::vector<Fault> second_writers() {
  return {second("--record", {}),
          second("--record", {"--force"}),
          second("--jsonl", {"--force"}),
          second("--jsonl", {"--append"}),
          second("--checkpoint", {}),
          second("--socket", {}),
          two_at_once(),
          a_socket_taken_over()};
}

}  // namespace shardscope::faults
