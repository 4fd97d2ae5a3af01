#pragma once

#include <QScrollBar>
#include <memory>
#include <optional>
#include <vector>

#include "engine/session/messages.h"
#include "gui/look/legend.h"
#include "gui/look/time_canvas.h"
#include "gui/pages/timeline_legend.h"
#include "gui/pages/timeline_title.h"
#include "gui/pages/timeline_words.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/timeline_colors.h"
#include "viz/paint/timeline_ranks.h"

namespace shardscope {

// The picture of the page: a row for each stage as predicted, which is that of each of its devices and has the number
// of the selected one, with its streams and, beneath them, what its devices hold; the same for devices on request; and
// beneath it a row for each rank (or for the extremes of each stage) as measured, each drawn from a TimelineTrack. A
// click selects the step, and the rank as the device.
class TimelineCanvas : public TimeCanvas {
  Q_OBJECT
 public:
  explicit TimelineCanvas(Workspace& workspace, QWidget* parent = nullptr);

  using PredictedStages = std::shared_ptr<const std::vector<PredictedStep>>;
  // What is predicted of a plan, made ready to be drawn.
  struct Prediction {
    std::shared_ptr<const Plan> plan;
    PredictedStages stages = std::make_shared<const std::vector<PredictedStep>>();  // never null
    TimelineColors colors;
  };
  // Without a plan: nothing. What was measured goes, unless it is the plan that is shown, in other colours.
  void show_prediction(Prediction prediction);
  const PredictedStages& predicted() const { return predicted_; }
  // Of the plan that is shown, by stage; until they are known their rows are empty.
  void show_memory(std::vector<MemoryTrack> memory);
  void show_measured(std::shared_ptr<const MeasuredStep> measured, std::shared_ptr<const TraceMessage> trace);
  void set_folded(bool folded);
  // Have rows of their own, in this order; those that the plan's mesh does not have are left out.
  void set_devices(std::vector<int> devices);
  const std::vector<int>& devices() const { return devices_; }

  using Row = TimelineRow;
  const std::vector<Row>& rows() const { return rows_; }
  QString title(size_t row) const { return title_of(rows_[row]).title; }
  QString detail(size_t row) const { return title_of(rows_[row]).detail; }
  // Where a row's time is drawn, in widget coordinates.
  QRectF row_place(size_t row) const;
  // The row in which a stage is best seen: of the selected device, else of any rank, else as predicted.
  const Row* row_of(int stage) const;

  double predicted_start(int stage, int position) const;

  // What a search has found, marked at the ruler: positions, ascending, by stage.
  void set_found(std::vector<std::vector<int>> found);
  // Makes a step of a stage the selected one, and the window such that it is seen.
  void reveal(int stage, int position);
  // What is selected, in words: the range, the step on its rank; empty without.
  QString facts() const;

  QSize minimumSizeHint() const override;

 signals:
  void factsChanged();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  QRectF time_place() const override;
  void click(const QPointF& point) override;
  QString tip_at(const QPointF& point) override;
  std::optional<Range> chosen_range() const override;

 private:
  struct Place {  // a step of a stage's main sequence
    int stage = 0, position = 0;
    bool operator==(const Place&) const = default;
  };
  struct Hit {
    const Row* row = nullptr;
    int slice = -1;
  };

  static constexpr int least_left = 132;

  void lay_out();
  void choose(std::optional<Place> place);
  void add_predicted(int stage, int device);
  void take_device();
  void show_row(size_t row);
  void take_step();
  int phases_height() const;
  double row_top(size_t row) const;
  Hit hit(const QPointF& point) const;
  const MemoryTrack* memory_of(const Row& row) const;  // null: not known yet, or a row of something else
  const TrackSlice& slice_of(const Hit& hit) const { return hit.row->track->slices()[size_t(hit.slice)]; }
  void paint_phases(QPainter& painter) const;
  QString heading() const;
  void paint_heading(QPainter& painter) const;
  TimelineTitle title_of(const Row& row) const;
  std::optional<int> device_of(const Row& row) const;  // the selected one, where the row is of it
  void paint_title(QPainter& painter, size_t row) const;
  QString instruction_label(const Instruction& instruction) const;
  QString label_of(const TrackSlice& slice, int stage, double room) const;
  void paint_row(QPainter& painter, size_t row, QImage& image) const;
  void paint_memory(QPainter& painter, size_t row) const;
  void paint_labels(QPainter& painter, size_t row) const;
  void paint_found(QPainter& painter) const;
  std::vector<LegendEntry> legend() const;
  int legend_room() const;

  Workspace& workspace_;
  QScrollBar* scroll_;
  std::shared_ptr<const Plan> plan_;
  PredictedStages predicted_ = Prediction{}.stages;
  std::shared_ptr<const MeasuredStep> measured_;
  std::shared_ptr<const TraceMessage> trace_;
  TimelineColors colors_;
  std::vector<MemoryTrack> memory_;  // by stage
  bool folded_ = false;
  std::vector<int> devices_;  // on request
  std::vector<Row> rows_;     // predicted ones first
  size_t predicted_rows_ = 0;
  int left_ = least_left;  // of the time: as wide as the titles need
  double row_height_ = 30, row_gap_ = 4;
  std::optional<Place> chosen_;
  std::optional<ExposedWait> exposed_;  // of what is chosen
  std::vector<std::vector<int>> found_;
};

}  // namespace shardscope
