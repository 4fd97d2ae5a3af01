#include "gui/document/stored_file.h"

#include <QFile>
#include <QFileInfo>

#include "engine/base/error.h"
#include "engine/compile/data_paths.h"
#include "engine/config/parse.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

constexpr qint64 most_bytes = 64 << 20;  // of a run file

}  // namespace

StoredFile look_at(const QString& path, const KnownFile& known) {
  const QFileInfo info(path);
  if (!info.exists()) return {StoredState::missing, {}};
  StoredFile found{StoredState::unreadable, {}};
  if (!info.isFile()) found.fault = QObject::tr("it is no regular file");
  else if (info.size() > most_bytes) found.fault = QObject::tr("it is too large for a run file");
  if (!found.fault.isEmpty()) return found;
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) {
    found.fault = file.errorString();
    return found;
  }
  found.text = file.read(most_bytes).toStdString();
  if (known.config && found.text == known.text) {
    found.config = *known.config;
    found.state = StoredState::same;
    return found;
  }
  try {
    found.config =
        with_absolute_paths(parse_run_config(found.text, path.toStdString()), info.absolutePath().toStdString());
    found.state = known.config && found.config == *known.config ? StoredState::same : StoredState::changed;
  } catch (const Failure& failure) {
    found.fault = qt(to_string(failure.errors().front()));
  }
  return found;
}

}  // namespace shardscope
