#pragma once

#include <QFrame>
#include <QLabel>
#include <QPointer>
#include <QPushButton>
#include <QWidget>
#include <functional>
#include <vector>

namespace shardscope {

// A stop of the tour: a part of the window, and what it is for.
struct TourStop {
  std::function<QWidget*()> part;  // brings it to the front; null: the stop is passed over
  QString title, text;
};

// Leads through the window: one part after the other is lit, the rest dimmed, and a note says what it is for. Enter and
// Right go on, Left back, Escape ends it.
class Tour : public QWidget {
  Q_OBJECT
 public:
  // `remember` is called at the start; what it gives, at the end: it brings back what the stops have changed.
  Tour(QWidget& window, std::vector<TourStop> stops, std::function<std::function<void()>()> remember);

  void start();
  int at() const { return at_; }  // -1: it is over
  int stops() const { return static_cast<int>(stops_.size()); }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool focusNextPrevChild(bool) override { return true; }  // the keyboard stays
  void mousePressEvent(QMouseEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void go(int by);
  void end();
  void place();
  QRect lit() const;

  std::vector<TourStop> stops_;
  std::function<std::function<void()>()> remember_;
  std::function<void()> bring_back_;
  int at_ = -1;
  QPointer<QWidget> part_, before_;
  QFrame* note_;
  QLabel *title_, *text_, *count_;
  QPushButton *back_, *next_;
};

}  // namespace shardscope
