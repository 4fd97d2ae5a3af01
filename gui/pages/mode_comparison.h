#pragma once

#include <QGridLayout>
#include <QLabel>
#include <QRadioButton>
#include <QWidget>
#include <array>
#include <optional>

#include "gui/workspace/workspace.h"

namespace shardscope {

// Both layout modes side by side: what each takes and moves. The mode that the document is not in is planned by a
// planner of its own, in the background and only while this is seen. Choosing a row chooses the mode.
class ModeComparison : public QWidget {
  Q_OBJECT
 public:
  explicit ModeComparison(Workspace& workspace, QWidget* parent = nullptr);

  // The plan of a mode for the config that is shown; none while it is being planned or has errors.
  std::shared_ptr<const Plan> plan_of(LayoutMode mode) const;
  bool is_busy() const { return requested_ && other_.is_busy(); }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  static constexpr int quantities = 4;
  struct Row {
    QRadioButton* choice = nullptr;
    std::array<QLabel*, quantities> values{};
  };

  void request();
  void refresh();
  void show_row(LayoutMode mode);

  Workspace& workspace_;
  Planner other_;
  std::optional<RunConfig> requested_;  // of other_
  std::array<Row, 2> rows_;
};

}  // namespace shardscope
