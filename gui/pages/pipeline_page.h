#pragma once

#include <QScrollArea>
#include <QStackedWidget>
#include <optional>

#include "gui/pages/pipeline_stages.h"
#include "gui/pages/schedule_view.h"
#include "gui/workspace/page.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The pipeline: its stages, and when each does what. Without one: how to get it, in one click.
class PipelinePage : public QStackedWidget, public Page {
  Q_OBJECT
 public:
  explicit PipelinePage(Workspace& workspace, QWidget* parent = nullptr);

 private:
  QWidget* make_empty();
  void show_state();

  Workspace& workspace_;
  QWidget* empty_ = nullptr;
  QWidget* choices_ = nullptr;  // a button for each mesh axis that could be the pipeline
  std::optional<std::vector<MeshAxis>> offered_;
  QScrollArea* area_;
  PipelineStages* stages_;
  ScheduleView* timeline_;
};

}  // namespace shardscope
