#pragma once

#include <QFile>
#include <QHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QString>
#include <QtGlobal>

namespace shardscope::test {

// tests/golden/`name`.json: what the originals in JAX, Flax and Optax gave.
inline QJsonDocument golden_file(const QString& name) {
  static QHash<QString, QJsonDocument> known;
  if (known.contains(name)) return known[name];
  QFile file(QStringLiteral(SHARDSCOPE_SOURCE_DIR "/tests/golden/%1.json").arg(name));
  if (!file.open(QIODevice::ReadOnly)) qFatal("%s is missing", qPrintable(file.fileName()));
  return known[name] = QJsonDocument::fromJson(file.readAll());
}

}  // namespace shardscope::test
