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
  // Beside the menus of a window of this width.
  void fit_to(int width);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {0, 0}; }

 private:
  int room_ = 0;
  QTimer end_;
};

}  // namespace shardscope
