#pragma once

#include <QSettings>
#include <QTemporaryDir>

namespace shardscope {

// From here on what the program remembers goes to a folder of the test's own, not among the person's settings.
inline void use_own_settings() {
  static const QTemporaryDir folder;
  QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder.path());
}

}  // namespace shardscope
