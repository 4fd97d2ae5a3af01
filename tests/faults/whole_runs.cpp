#include "tests/faults/whole_runs.h"

#include <fmt/format.h>

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>

namespace shardscope::faults {

namespace {

int64_t whole_lines(const std::string& path) {
  QFile file(QString::fromStdString(path));
  if (!file.open(QIODevice::ReadOnly)) throw Complaint(path + ": " + file.errorString().toStdString());
  int64_t count = 0;
  for (QByteArray line = file.readLine(); !line.isEmpty(); line = file.readLine(), ++count) {
    const QJsonObject step = QJsonDocument::fromJson(line).object();
    if (step.contains("restart")) {
      count = step["from_step"].toInteger() - 1;
    } else if (!line.endsWith('\n') || step["step"].toInteger(-1) != count) {
      throw Complaint(fmt::format("line {} of its steps is '{}'", count + 1, line.left(60).toStdString()));
    }
  }
  return count;
}

}  // namespace

void ask_for_all_steps(Start& start, int64_t steps) {
  start.steps = steps;
  start.arguments.insert(start.arguments.end(), {"--jsonl", start.jsonl()});
}

void check_all_steps(const Run& run) { check_all_steps_in(run.start().jsonl(), run.start().steps); }

void check_all_steps_in(const std::string& file, int64_t steps) {
  const int64_t lines = whole_lines(file);
  if (lines != steps) throw Complaint(fmt::format("{} of {} steps written", lines, steps));
}

void check_all_steps_or(const Run& run, const std::string& said) {
  if (run.code() == 0) check_all_steps(run);
  else if (!run.first_said(said)) throw Complaint("did not say /" + said + "/");
}

void check_whole_lines(const Run& run) { whole_lines(run.start().jsonl()); }

}  // namespace shardscope::faults
