#include "gui/window/file_watch.h"

#include <QFileInfo>
#include <utility>

namespace shardscope {
namespace {

constexpr int settle_ms = 100;  // a file is often written in several steps

}  // namespace

FileWatch::FileWatch(Document& document) : document_(document) {
  settle_.setSingleShot(true);
  settle_.setInterval(settle_ms);
  connect(&settle_, &QTimer::timeout, this, &FileWatch::check);
  connect(&disk_, &QFileSystemWatcher::fileChanged, this, &FileWatch::settle);
  connect(&disk_, &QFileSystemWatcher::directoryChanged, this, &FileWatch::settle);
  connect(&document, &Document::titleChanged, this, &FileWatch::follow);
  follow();
}

// Not begun anew by what comes meanwhile: in a folder where something is always written it would never end.
void FileWatch::settle() {
  if (!settle_.isActive()) settle_.start();
}

void FileWatch::follow() {
  look_.cancel();
  watch();
  if (document_.path().isEmpty()) take({});
  else check();
}

// A file that was replaced is another one, of which nothing is reported until it is watched, too.
void FileWatch::watch() {
  QStringList wanted;
  if (const QString& path = document_.path(); !path.isEmpty()) {
    const QFileInfo file(path);
    wanted << file.absoluteFilePath() << file.absolutePath();
    if (const QFileInfo target(file.canonicalFilePath()); file.isSymLink() && target.isFile())
      wanted << target.filePath() << target.path();
    wanted.removeIf([](const QString& each) { return !QFileInfo::exists(each); });
    wanted.removeDuplicates();
  }
  QStringList old = disk_.files() + disk_.directories(), added = wanted;
  old.removeIf([&](const QString& each) { return wanted.contains(each); });
  added.removeIf(
      [this](const QString& each) { return disk_.files().contains(each) || disk_.directories().contains(each); });
  if (!old.isEmpty()) disk_.removePaths(old);
  if (!added.isEmpty()) disk_.addPaths(added);
}

void FileWatch::check() {
  if (document_.path().isEmpty()) return;
  look_.make([path = document_.path(), known = document_.known_file()](const std::stop_token&) {
    return look_at(path, known);
  });
}

void FileWatch::take(StoredFile found) {
  watch();
  if (found == found_) return;
  found_ = std::move(found);
  emit changed();
}

}  // namespace shardscope
