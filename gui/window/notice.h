#pragma once

#include <QLabel>
#include <QTimer>

namespace shardscope {

// What the window has to tell besides the plan's verdict ("Saved ..."): a line at the end of the menu bar, which shows
// it for some seconds and has its full text as tool tip.
class Notice : public QLabel {
  Q_OBJECT
 public:
  explicit Notice(QWidget* parent = nullptr);

  void say(const QString& what);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {0, 0}; }

 private:
  QTimer end_;
};

}  // namespace shardscope
