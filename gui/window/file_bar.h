#pragma once

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "gui/window/files.h"

namespace shardscope {

// Tells that somebody else has changed or removed the run file, at the foot of the pages, which it covers, above the
// problem if one is there: nothing moves, and nothing has to be answered.
class FileBar : public QFrame {
  Q_OBJECT
 public:
  // `beneath`: what may stand at the foot already.
  FileBar(Document& document, Files& files, QWidget* beneath, QWidget* parent);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void fit();
  QToolButton* add_button(const QString& text, const QString& name, const QString& tip);

  Document& document_;
  Files& files_;
  QWidget* beneath_;
  QLabel* text_;
  QToolButton *reload_, *difference_, *later_;
  StoredFile put_off_;  // of which nothing more is to be reported
};

}  // namespace shardscope
