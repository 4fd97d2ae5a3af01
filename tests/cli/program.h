#pragma once

#include <QCoreApplication>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QtTest>
#include <memory>

#include "engine/cli/command_line.h"

namespace shardscope {

// The test's own executable serves as shardrun: called with a subcommand (or
// what a person takes for one) it is that program, ranks included.
inline bool is_shardrun_call(int argc, char** argv) {
  static const QStringList commands = {"validate",   "show",         "plan",    "train",  "rank",  "checkpoint",
                                       "host-agent", "remote-shell", "suggest", "export", "trian", "no-such-command"};
  return argc > 1 && commands.contains(QString(argv[1]));
}

struct ProgramResult {
  int code = -1;
  QString output;
  QString errors;

  QStringList output_lines() const { return output.split('\n', Qt::SkipEmptyParts); }
  QStringList error_lines() const { return errors.split('\n', Qt::SkipEmptyParts); }
};

inline ProgramResult finish(QProcess& process) {
  if (!process.waitForFinished(300'000)) process.kill();
  return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
          QString::fromUtf8(process.readAllStandardOutput()), QString::fromUtf8(process.readAllStandardError())};
}

inline ProgramResult shardrun(const QStringList& arguments) {
  QProcess process;
  process.start(QCoreApplication::applicationFilePath(), arguments);
  return finish(process);
}

inline QString preset(const QString& name) { return QString(SHARDSCOPE_SOURCE_DIR "/presets/%1.json").arg(name); }

}  // namespace shardscope

// Runs the class's tests, or shardrun.
template <class Test>
int main_of(int argc, char** argv) {
  if (shardscope::is_shardrun_call(argc, argv)) return shardscope::run_command_line(argc, argv);
  QCoreApplication application(argc, argv);
  Test test;
  return QTest::qExec(&test, argc, argv);
}
