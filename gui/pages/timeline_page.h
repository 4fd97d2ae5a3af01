#pragma once

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <QWidget>

#include "gui/pages/timeline_builder.h"
#include "gui/pages/timeline_canvas.h"
#include "gui/pages/timeline_search.h"
#include "gui/pages/trace_box.h"
#include "gui/workspace/page.h"

namespace shardscope {

// One training step over time: as predicted, and beneath it as each rank of a run of this plan did it, every plan step
// when it was really done. Chosen are the training step (the nearest to the median, the slowest, the latest), what the
// colours tell, which devices have lanes of their own, and whether ranks that do the same are folded. Ranges are
// measured, steps are searched; a line below says what is selected.
class TimelinePage : public QWidget, public Page {
  Q_OBJECT
 public:
  explicit TimelinePage(Workspace& workspace, QWidget* parent = nullptr);
  TimelineCanvas* canvas() const { return canvas_; }
  // What is predicted or the chosen training step is being made ready to be drawn.
  bool is_settled() const override { return !prediction_.is_busy() && !memory_.is_busy() && !builder_->is_busy(); }
  void begin_picture(const Page* seen) override;  // with lanes of the same devices

 protected:
  void showEvent(QShowEvent* event) override;
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  struct Place {
    double start = 0;  // predicted
    int stage = 0, position = 0;
  };

  QLayout* make_bar();
  void take_devices();
  void toggle_device();
  void take_plan();
  void show_prediction(TimelineCanvas::Prediction prediction);
  void take_measurements();
  void show_measured();
  void offer_correction();
  void show_facts();
  void gather_places();
  void go(int by);

  Workspace& workspace_;
  TraceBox* choice_;
  QComboBox* coloring_;
  QLineEdit* devices_;
  QToolButton *folds_, *measures_, *searches_, *corrects_;
  TimelineSearch* search_;
  TimelineCanvas* canvas_;
  QLabel* facts_;
  TimelineBuilder* builder_;
  Background<TimelineCanvas::Prediction> prediction_;
  Background<std::vector<MemoryTrack>> memory_;  // of the plan that is drawn
  std::shared_ptr<const Plan> plan_;             // that is drawn
  std::vector<Place> places_;                    // of what was found, as it is walked through; made when it is first
  int current_ = -1;                             // of these
};

}  // namespace shardscope
