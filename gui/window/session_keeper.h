#pragma once

#include <QLockFile>
#include <QObject>
#include <QTimer>
#include <chrono>
#include <memory>
#include <vector>

#include "gui/background/worker_threads.h"
#include "gui/document/document.h"
#include "gui/window/session_file.h"

namespace shardscope {

// Keeps the unsaved edits of a document in a folder of the user, some moments after each edit, as long as there are
// any; and finds those that programs left there which ended without being asked. Writing is done on another thread,
// whole or not at all.
class SessionKeeper : public QObject {
  Q_OBJECT
 public:
  SessionKeeper(Document& document, const QString& folder, std::chrono::milliseconds pause = std::chrono::seconds(1));
  ~SessionKeeper() override;  // what is kept stays where it is, with the newest edits

  // What other programs left, newest first. From then on it is this one's: nobody else finds it.
  struct Left {
    QString file;
    UnsavedEdits edits;
  };
  std::vector<Left> take_left();
  static void forget(const Left& left);

  // Nothing is unsaved any more: the document was saved, or its edits were let go.
  void forget_own();
  const QString& file() const { return file_; }
  void wait_until_written();
  bool keep_now();  // true where it is written

 private:
  void keep();

  Document& document_;
  QString folder_, file_;
  std::unique_ptr<QLockFile> lock_;
  std::vector<std::unique_ptr<QLockFile>> taken_;
  std::shared_ptr<const RunConfig> before_;  // as it was opened or saved last
  QTimer pause_;
  WorkerThreads writer_{1};  // writes come in their order
};

}  // namespace shardscope
