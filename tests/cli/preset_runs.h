#pragma once

#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include "tests/cli/program.h"

namespace shardscope {

// The plan of a preset as `shardrun plan --json` tells it.
inline QJsonObject planned(const QStringList& settings, const QString& name = "parallax_decoder") {
  const ProgramResult result = shardrun(QStringList{"plan", preset(name), "--json"} + settings);
  return QJsonDocument::fromJson(result.output.toUtf8()).object();
}

// The steps of its training on real ranks, as `--jsonl` tells them.
inline QList<QJsonObject> trained(const QStringList& settings, int steps, const QString& name = "parallax_decoder") {
  const QTemporaryDir folder;
  const QString lines = folder.filePath("steps.jsonl");
  const ProgramResult result =
      shardrun(QStringList{"train", preset(name), "--steps", QString::number(steps), "--jsonl", lines} + settings);
  if (result.code != 0) qWarning("%s", qPrintable(result.errors));
  QList<QJsonObject> records;
  QFile file(lines);
  if (!file.open(QIODevice::ReadOnly)) return records;
  for (const QByteArray& line : file.readAll().split('\n')) {
    if (!line.isEmpty()) records.append(QJsonDocument::fromJson(line).object());
  }
  return records;
}

}  // namespace shardscope
