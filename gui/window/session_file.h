#pragma once

#include <QDateTime>
#include <QString>
#include <optional>
#include <vector>

#include "engine/config/run_config.h"

namespace shardscope {

// Unsaved edits as they are kept on the disk, for a program that ends without being asked.
struct UnsavedEdits {
  QString title;     // of the document
  QString path;      // empty: never saved
  RunConfig before;  // as the file, or the draft, was
  RunConfig after;
  QDateTime when;

  bool operator==(const UnsavedEdits&) const = default;
};

// As text and back; nothing where it is none of ours.
QByteArray to_json(const UnsavedEdits& edits);
std::optional<UnsavedEdits> unsaved_edits(const QByteArray& json);

}  // namespace shardscope
