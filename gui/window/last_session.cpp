#include "gui/window/last_session.h"

#include <QFileInfo>
#include <QSettings>

namespace shardscope {
namespace {

const QString path_key = "session/path", page_key = "session/page", array_key = "session/array";

}  // namespace

void remember_session(const LastSession& session) {
  QSettings settings;
  settings.setValue(path_key, session.path);
  settings.setValue(page_key, session.page);
  settings.setValue(array_key, session.array);
}

LastSession last_session() {
  const QSettings settings;
  LastSession session{settings.value(path_key).toString(), settings.value(page_key).toString(),
                      settings.value(array_key).toString()};
  if (!QFileInfo(session.path).isFile()) session.path.clear();
  return session;
}

}  // namespace shardscope
