#include "gui/pages/pipeline_page.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/document/edits.h"
#include "gui/document/text.h"
#include "gui/look/filled_layout.h"

namespace shardscope {

PipelinePage::PipelinePage(Workspace& workspace, QWidget* parent)
    : QStackedWidget(parent), workspace_(workspace), area_(new QScrollArea) {
  setObjectName("pipelinePage");
  auto* body = new QWidget;
  stages_ = new PipelineStages(workspace, body);
  timeline_ = new ScheduleView(workspace, body);
  auto* stack = new QVBoxLayout(body);
  stack->setContentsMargins(0, 0, 0, 0);
  stack->setSpacing(0);
  stack->addWidget(stages_);
  stack->addWidget(timeline_, 1);
  area_->setWidgetResizable(true);
  area_->setFrameShape(QFrame::NoFrame);
  area_->setWidget(body);
  empty_ = make_empty();
  addWidget(area_);
  addWidget(empty_);
  connect(&workspace.planner, &Planner::delivered, this, &PipelinePage::show_state);
  connect(&workspace.document, &Document::configChanged, this, &PipelinePage::show_state);
  show_state();
}

QWidget* PipelinePage::make_empty() {
  auto* empty = new QWidget;
  auto* title = new QLabel(tr("<b>No pipeline</b>"), empty);
  auto* advice = new QLabel(tr("A pipeline cuts the layers into stages, one for each place along a mesh axis; the "
                               "microbatches of the batch pass through them, so that all stages work at a time."),
                            empty);
  advice->setWordWrap(true);
  for (QLabel* label : {title, advice}) label->setAlignment(Qt::AlignCenter);
  auto* column =
      filled(bordered(new QVBoxLayout(empty), {32, 24, 32, 24}, 12), {LayoutPart::spacer_of(0), title, advice});
  choices_ = new QWidget(empty);
  new QVBoxLayout(choices_);
  column->addWidget(choices_, 0, Qt::AlignCenter);
  column->addStretch();
  return empty;
}

void PipelinePage::show_state() {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const bool has_pipeline = plan && plan->program.stages > 1;
  setCurrentWidget(has_pipeline ? static_cast<QWidget*>(area_) : empty_);
  const std::vector<MeshAxis>& axes = workspace_.document.config().mesh_axes;
  if (has_pipeline || offered_ == axes) return;
  offered_ = axes;
  for (QPushButton* button : choices_->findChildren<QPushButton*>(Qt::FindDirectChildrenOnly)) {
    button->hide();
    button->deleteLater();  // it may be the one that brought this about
  }
  const auto offer = [this](const QString& name, const QString& text, auto edit) {
    auto* button = new QPushButton(text, choices_);
    button->setObjectName(name);
    choices_->layout()->addWidget(button);
    connect(button, &QPushButton::clicked, this, edit);
  };
  offer("addPipelineAxis", tr("Add a mesh axis of 2 stages"), [this] { add_pipeline_axis(workspace_.document); });
  for (const MeshAxis& axis : axes) {
    if (axis.size < 2) continue;
    offer("usePipelineAxis", tr("Make axis %1 the pipeline: %2 stages").arg(qt(axis.name)).arg(axis.size),
          [this, name = axis.name] {
            PipelineConfig pipeline = workspace_.document.config().pipeline;
            pipeline.axis = name;
            set_pipeline(workspace_.document, pipeline);
          });
  }
}

}  // namespace shardscope
