#include "gui/pages/pipeline_stages.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/fitted_name.h"
#include "gui/look/in_picture.h"
#include "viz/paint/layout_geometry.h"
#include "viz/paint/tone_painter.h"

namespace shardscope {
namespace {

constexpr int stages_top = 34;
constexpr int stage_height = 24;
constexpr int layers_left = 84, layers_width = 66, devices_width = 74;
constexpr int between = 4, before_bars = 8;
constexpr int bars_right = 238;  // of what stands behind the bars

// "2 + 1": the layers of each of its model chunks.
QString stage_layers_text(const Plan& plan, int stage) {
  QStringList chunks;
  for (const int layers : plan.pipeline.layers_of(stage)) chunks << QString::number(layers);
  return chunks.join(" + ");
}

}  // namespace

PipelineStages::PipelineStages(Workspace& workspace, QWidget* parent) : TipWidget(parent), workspace_(workspace) {
  setObjectName("pipelineStages");
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(&workspace.planner, &Planner::delivered, this, [this] {
    updateGeometry();
    update();
  });
  connect(&workspace.selection, &Selection::deviceChanged, this, qOverload<>(&QWidget::update));
}

QSize PipelineStages::sizeHint() const {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  return {560, stages_top + (plan ? plan->program.stages : 1) * stage_height + 10};
}

std::array<int, 2> PipelineStages::column_widths() const {
  std::array<int, 2> widths{layers_width, devices_width};
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!plan || plan->program.stages < 2 || !is_in_picture(*this)) return widths;
  const QFontMetrics metrics(small_font());
  for (int stage = 0; stage < plan->program.stages; ++stage) {
    widths[0] = std::max(widths[0], metrics.horizontalAdvance(stage_layers_text(*plan, stage)) + 1);
    widths[1] = std::max(widths[1], metrics.horizontalAdvance(qt(device_text(plan->devices_of_stage(stage)))) + 1);
  }
  return widths;
}

QSize PipelineStages::minimumSizeHint() const {
  if (!is_in_picture(*this)) return {280, sizeHint().height()};
  const auto [layers, devices] = column_widths();
  return {layers_left + layers + between + devices + before_bars + 160 + bars_right, sizeHint().height()};
}

std::optional<int> PipelineStages::stage_under(const QPointF& point) const {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const int stage = static_cast<int>((point.y() - stages_top) / stage_height);
  return plan && point.y() >= stages_top && stage < plan->program.stages ? std::optional(stage) : std::nullopt;
}

void PipelineStages::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!plan || plan->program.stages < 2) return;
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  painter.setFont(small_font());
  const PipelinePlan& pipeline = plan->pipeline;
  const auto [layers, devices] = column_widths();
  const int devices_left = layers_left + layers + between, bars_left = devices_left + devices + before_bars;
  const double room = std::max(60, width() - bars_left - bars_right);
  const int behind = bars_left + int(room) + 8;
  const auto cell = [&](int x, double y, int wide, const QString& text, Qt::Alignment side) {
    painter.drawText(QRectF(x, y, wide, stage_height), side | Qt::AlignVCenter,
                     fitted_name(text, painter.fontMetrics(), wide));
  };
  painter.setPen(theme().muted);
  cell(32, 8, 50, tr("stage"), Qt::AlignLeft);
  cell(layers_left, 8, layers, tr("layers"), Qt::AlignLeft);
  cell(devices_left, 8, devices, tr("devices"), Qt::AlignLeft);
  cell(bars_left, 8, int(room), tr("work (hatched: waits)"), Qt::AlignLeft);
  cell(behind, 8, 62, tr("waits"), Qt::AlignRight);
  cell(behind + 66, 8, 64, tr("in flight"), Qt::AlignRight);
  cell(behind + 134, 8, 84, tr("memory"), Qt::AlignRight);
  const std::optional<int> device = workspace_.selection.device();
  for (int stage = 0; stage < plan->program.stages; ++stage) {
    const double y = stages_top + stage * stage_height;
    if (device && *device < plan->mesh.device_count() && plan->stage_of(*device) == stage)
      painter.fillRect(QRectF(0, y, width(), stage_height), mix(theme().base, theme().accent, 0.14));
    paint_tones(painter, QRectF(12, y + 6, 12, 12), {{*pipeline.axis, stage, plan->program.stages}}, theme());
    const PlanTotals& totals = pipeline.totals[size_t(stage)];
    painter.setPen(theme().text);
    cell(32, y, 50, QString::number(stage), Qt::AlignLeft);
    cell(layers_left, y, layers, stage_layers_text(*plan, stage), Qt::AlignLeft);
    painter.setPen(theme().muted);
    cell(devices_left, y, devices, qt(device_text(plan->devices_of_stage(stage))), Qt::AlignLeft);
    const double waits = std::clamp(plan->waiting_share(stage), 0.0, 1.0);
    const QRectF bar(bars_left, y + 4, room, stage_height - 8),
        work(bar.x(), bar.y(), room * (1 - waits), bar.height());
    painter.fillRect(bar, theme().window);
    paint_hatch(painter, bar, theme());
    const QColor fill = instruction_color(InstructionKind::compute, theme());
    painter.fillRect(work, fill);
    painter.setPen(text_on(fill));
    if (work.width() > 70)
      painter.drawText(work.adjusted(6, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                       qt(seconds_text(totals.seconds_per_step)));
    painter.setPen(theme().text);
    cell(behind, y, 62, qt(share_text(waits)), Qt::AlignRight);
    cell(behind + 66, y, 64, QString::number(pipeline.in_flight[size_t(stage)]), Qt::AlignRight);
    cell(behind + 134, y, 84, qt(bytes_text(double(totals.device_bytes))), Qt::AlignRight);
  }
}

QString PipelineStages::tip_at(const QPointF& point) {
  const std::optional<int> stage = stage_under(point);
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!stage || plan->program.stages < 2) return {};
  const PlanTotals& totals = plan->pipeline.totals[size_t(*stage)];
  QStringList lines{tr("Stage %1: %2 %3, on devices %4")
                        .arg(*stage)
                        .arg(stage_layers_text(*plan, *stage),
                             qt(plural(std::ranges::max(plan->pipeline.layers_of(*stage)), "layer")),
                             qt(device_text(plan->devices_of_stage(*stage))))};
  lines << tr("works %1 of %2: it waits %3 of the step")
               .arg(qt(seconds_text(totals.seconds_per_step)), qt(seconds_text(plan->simulation.seconds)),
                    qt(share_text(plan->waiting_share(*stage))));
  lines << tr("holds the activations of up to %1 at a time")
               .arg(counted_text(plan->pipeline.in_flight[size_t(*stage)], "microbatch", "microbatches"));
  lines << tr("arena of %1; sends %2 a step")
               .arg(qt(exact_bytes(double(totals.device_bytes))), qt(bytes_text(totals.wire_bytes_per_device)));
  return lines.join('\n');
}

void PipelineStages::mousePressEvent(QMouseEvent* event) {
  const std::optional<int> stage = stage_under(event->position());
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (stage && plan) workspace_.selection.select_device(plan->devices_of_stage(*stage).front());
}

}  // namespace shardscope
