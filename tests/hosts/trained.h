#pragma once

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>
#include <cmath>

#include "tests/cli/program.h"

namespace shardscope {

// A model that trains in no time, on data x 2 ranks: on two hosts, groups inside a host and across.
inline QStringList small_model(int data = 2) {
  return {preset("parallax_decoder"),
          "--set",
          QString("mesh.data=%1").arg(data),
          "--set",
          "mesh.model=2",
          "--set",
          "data.batch_size=8",
          "--set",
          "model.seq_len=16",
          "--set",
          "model.embed_dim=32",
          "--set",
          "model.vocab_size=64",
          "--set",
          "model.num_heads=4"};
}

inline QList<double> losses(const QString& jsonl) {
  QList<double> found;
  QFile file(jsonl);
  if (!file.open(QIODevice::ReadOnly)) return found;
  for (const QByteArray& line : file.readAll().split('\n')) {
    if (!line.isEmpty()) found += QJsonDocument::fromJson(line).object()["loss"].toDouble();
  }
  return found;
}

inline bool are_near(const QList<double>& a, const QList<double>& b) {
  if (a.isEmpty() || a.size() != b.size()) return false;
  for (qsizetype i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= 1e-5 * std::abs(b[i]))) return false;
  }
  return true;
}

}  // namespace shardscope
