#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QTimer>

#include "gui/background/background.h"
#include "gui/document/document.h"

namespace shardscope {

// Watches the run file of a document: that somebody else writes it, puts another in its place (as editors do), removes
// it or makes it again, also at the end of a symbolic link. Where the system tells nothing of it, as in a folder of
// another machine, check() looks; reading is done on another thread.
class FileWatch : public QObject {
  Q_OBJECT
 public:
  explicit FileWatch(Document& document);

  void check();
  // How the file stands to the document, as it was seen last.
  const StoredFile& found() const { return found_; }

 signals:
  void changed();  // found() is another

 private:
  void settle();
  void follow();
  void watch();
  void take(StoredFile found);

  Document& document_;
  QFileSystemWatcher disk_;
  QTimer settle_;
  StoredFile found_;
  Background<StoredFile> look_{[this](StoredFile found) { take(std::move(found)); }};
};

}  // namespace shardscope
