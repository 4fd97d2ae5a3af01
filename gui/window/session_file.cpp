#include "gui/window/session_file.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryFile>

#include "engine/config/parse.h"
#include "engine/config/write.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

constexpr const char* format = "shardscope unsaved edits 1";

// Also of a run file that is not legal, as one that is being edited may be.
RunConfig config_of(const QJsonValue& text) {
  QTemporaryFile file;
  if (!file.open() || file.write(text.toString().toUtf8()) < 0 || !file.flush()) return {};
  return read_run_file(file.fileName().toStdString()).config;
}

}  // namespace

QByteArray to_json(const UnsavedEdits& edits) {
  return QJsonDocument(QJsonObject{{"format", format},
                                   {"title", edits.title},
                                   {"path", edits.path},
                                   {"when", edits.when.toString(Qt::ISODateWithMs)},
                                   {"before", qt(write_run_config(edits.before))},
                                   {"after", qt(write_run_config(edits.after))}})
      .toJson();
}

std::optional<UnsavedEdits> unsaved_edits(const QByteArray& json) {
  const QJsonObject object = QJsonDocument::fromJson(json).object();
  if (object["format"].toString() != format) return std::nullopt;
  try {
    return UnsavedEdits{object["title"].toString(), object["path"].toString(), config_of(object["before"]),
                        config_of(object["after"]),
                        QDateTime::fromString(object["when"].toString(), Qt::ISODateWithMs)};
  } catch (const Failure&) {
    return std::nullopt;
  }
}

}  // namespace shardscope
