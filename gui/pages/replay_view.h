#pragma once

#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QSlider>
#include <QSplitter>
#include <QTableView>
#include <QTimer>
#include <QToolButton>

#include "gui/look/path_label.h"
#include "gui/pages/replay_canvas.h"
#include "gui/pages/replay_list.h"

namespace shardscope {

// A reshard of the plan played over the mesh, with a text list of its pieces beside it, and the controls of a player:
// Space plays and pauses, the arrow keys step, Home and End go to the ends, [ and ] change the speed, + - 0 zoom,
// Ctrl+C copies the list, Escape closes.
class ReplayView : public QWidget {
  Q_OBJECT
 public:
  explicit ReplayView(Workspace& workspace, QWidget* parent = nullptr);

  // From the beginning of the step it was made for; paused.
  void open(Replay replay);
  void close_replay();  // lets its plan go
  const Replay* replay() const { return replay_.get(); }

  double tick() const { return tick_; }
  void set_tick(double tick);
  void step(int by);  // to the next whole tick, or the one before
  void play();
  void pause();
  bool is_playing() const { return timer_.isActive(); }
  // What the timer does: goes on by so much time.
  void advance(double seconds);

  ReplayCanvas* canvas() const { return canvas_; }
  ReplayList* list() const { return list_; }

 signals:
  void closed();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* make_controls();
  QToolButton* make_button(const QString& name, const QString& tip);
  void show_icons();
  void show_leg(int leg);
  void show_pieces();
  void show_moment(const ReplayMoment& moment);
  void change_speed(int by);

  Workspace& workspace_;
  std::shared_ptr<const Replay> replay_;
  int leg_ = -1;
  double tick_ = 0;
  QTimer timer_;
  QElapsedTimer clock_;

  PathLabel* title_;
  QLabel* facts_;
  ReplayCanvas* canvas_;
  ReplayList* list_;
  QTableView* table_;
  QToolButton *first_, *back_, *play_, *forward_, *close_;
  QSlider* slider_;
  QComboBox* speed_;
  QSplitter* split_;
  QLabel* place_;
};

}  // namespace shardscope
