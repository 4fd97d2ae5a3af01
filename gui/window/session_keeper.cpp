#include "gui/window/session_keeper.h"

#include <QDir>
#include <QSaveFile>
#include <QUuid>
#include <algorithm>

namespace shardscope {
namespace {

const QString ending = ".unsaved";

std::unique_ptr<QLockFile> lock_of(const QString& file) {
  auto lock = std::make_unique<QLockFile>(file + ".lock");
  lock->setStaleLockTime(0);  // only its owner's end frees it
  return lock->tryLock() ? std::move(lock) : nullptr;
}

}  // namespace

SessionKeeper::SessionKeeper(Document& document, const QString& folder, std::chrono::milliseconds pause)
    : document_(document), folder_(folder), before_(document.shared_config()) {
  QDir().mkpath(folder);
  file_ = QDir(folder).filePath(QUuid::createUuid().toString(QUuid::WithoutBraces) + ending);
  lock_ = lock_of(file_);
  pause_.setSingleShot(true);
  pause_.setInterval(pause);
  connect(&pause_, &QTimer::timeout, this, &SessionKeeper::keep);
  connect(&document, &Document::replaced, this, [this] { before_.reset(); });
  connect(&document, &Document::configChanged, this, [this] {
    if (!before_) before_ = document_.shared_config();
    pause_.start();
  });
  connect(&document, &Document::titleChanged, this, [this] {
    if (!document_.is_modified()) forget_own();
  });
}

SessionKeeper::~SessionKeeper() {
  if (pause_.isActive()) keep();
  writer_.wait();
}

bool SessionKeeper::keep_now() {
  keep();
  writer_.wait();
  return QFile::exists(file_);
}

void SessionKeeper::wait_until_written() { writer_.wait(); }

void SessionKeeper::keep() {
  if (!document_.is_modified() || !lock_) return;
  const UnsavedEdits edits{document_.title(), document_.path(), *before_, document_.config(),
                           QDateTime::currentDateTime()};
  writer_.start([file = file_, edits] {
    try {
      const QByteArray json = to_json(edits);
      QSaveFile kept(file);
      if (kept.open(QIODevice::WriteOnly) && kept.write(json) == json.size()) kept.commit();
    } catch (const Failure&) {
      // Values that no file can say are not kept; the ones before are.
    }
  });
}

void SessionKeeper::forget_own() {
  before_ = document_.shared_config();
  pause_.stop();
  writer_.start([file = file_] { QFile::remove(file); });
}

std::vector<SessionKeeper::Left> SessionKeeper::take_left() {
  std::vector<Left> left;
  for (const QFileInfo& info : QDir(folder_).entryInfoList({"*" + ending}, QDir::Files)) {
    const QString file = info.filePath();
    if (file == file_) continue;
    std::unique_ptr<QLockFile> lock = lock_of(file);
    if (!lock) continue;
    QFile kept(file);
    std::optional<UnsavedEdits> edits;
    if (kept.open(QIODevice::ReadOnly)) edits = unsaved_edits(kept.readAll());
    if (!edits) continue;
    left.push_back({file, std::move(*edits)});
    taken_.push_back(std::move(lock));
  }
  std::ranges::sort(left, [](const Left& a, const Left& b) { return a.edits.when > b.edits.when; });
  return left;
}

void SessionKeeper::forget(const Left& left) { QFile::remove(left.file); }

}  // namespace shardscope
