#pragma once

#include <QLabel>
#include <QTimer>

namespace shardscope {

// What the window has to tell besides the plan's verdict ("Saved ..."): a note at the foot of the pages, above what
// else is there, for some seconds or until it is clicked.
class Notice : public QLabel {
  Q_OBJECT
 public:
  explicit Notice(QWidget& pages);

  void say(const QString& what);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  void place();

  QWidget& pages_;
  QTimer end_;
};

}  // namespace shardscope
