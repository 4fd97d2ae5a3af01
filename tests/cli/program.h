#pragma once

#include <QCoreApplication>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QtTest>
#include <memory>

#include "engine/cli/command_line.h"
#include "tests/test_program.h"

namespace shardscope {

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

// The tests' own program serves as shardrun, ranks included, where it is not called with the name of a test.
#define REGISTER_PROGRAM_TEST(Test) \
  REGISTER_CORE_TEST(Test)          \
  static const bool is_program = shardscope::tests::register_program(shardscope::run_command_line);
