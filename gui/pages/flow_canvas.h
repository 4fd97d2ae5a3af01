#pragma once

#include <QPointF>
#include <memory>
#include <vector>

#include "gui/background/background.h"
#include "gui/look/pan_zoom_canvas.h"
#include "gui/workspace/step_words.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/flow_graph.h"
#include "viz/paint/flow_painter.h"

namespace shardscope {

// The flow graph of the stage that is shown. The wheel zooms about the cursor, dragging pans, a click selects a step, a
// double click its array; arrow keys go from node to node, C to the next collective (Shift+C back), + and - zoom, Home
// shows all, Return selects the array.
class FlowCanvas : public PanZoomCanvas {
  Q_OBJECT
 public:
  explicit FlowCanvas(Workspace& workspace, QWidget* parent = nullptr);
  QSize minimumSizeHint() const override;

  std::shared_ptr<const Plan> plan() const { return plan_; }
  const FlowGraph& graph() const { return *graph_; }
  bool is_settled() const { return !background_.is_busy(); }
  void set_fold(bool fold);
  int selected() const { return selected_; }  // node; -1: none

  // What has all words of a text is found; an empty text ends the search.
  void search(const QString& text);
  int found_count() const { return static_cast<int>(found_list_.size()); }
  int found_at() const;   // which of these is selected; -1: none
  void go_found(int by);  // selects the next of them, or the one before
  void go_collective(int by);
  void show_all() override;

  QRectF place_of(int node) const;  // in widget coordinates
  double scale() const { return scale_; }

 signals:
  void changed();  // the graph, what is selected or found

 protected:
  void paintEvent(QPaintEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void zoom_about(double factor, const QPointF& point, Qt::KeyboardModifiers keys = {}) override;
  void drag(const QPointF& by, const QPointF& to) override;
  void click(const QPointF& point) override { select(node_under(point)); }
  void double_click(const QPointF& point) override { node_under(point) >= 0 ? select_array() : show_all(); }
  void hover(const QPointF& point) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  QString tip_at(const QPointF& point) override;

 private:
  static constexpr double first_scale = 0.8;

  struct Made {
    std::shared_ptr<const Plan> plan;
    int stage = 0;
    bool fold = true;
    std::shared_ptr<const FlowGraph> graph;
  };

  void ask();
  void take(Made made);
  void make_roomy();  // so that no word is cut
  void follow_step();
  void find();
  void select(int node);
  void select_array();
  void go(double dx, double dy);
  void bring_into_view(int node);
  double possible(double scale) const;  // the nearest
  void set_view(double scale, const QPointF& origin);
  int node_under(const QPointF& point) const;
  QPointF picture_point(const QPointF& point) const { return origin_ + point / scale_; }

  Workspace& workspace_;
  Made asked_;
  bool fold_ = true;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const FlowGraph> graph_;
  FlowWords words_;
  StepWords step_words_;
  int selected_ = -1, hovered_ = -1;
  QStringList searched_;  // words
  std::vector<bool> found_;
  std::vector<int> found_list_;
  double scale_ = first_scale;
  QPointF origin_;  // of the picture, at the widget's
  Background<Made> background_;
};

}  // namespace shardscope
