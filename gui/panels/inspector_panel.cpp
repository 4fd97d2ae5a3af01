#include "gui/panels/inspector_panel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QMenu>
#include <QScrollArea>
#include <QVBoxLayout>

#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/spec_batch.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/panels/spec_targets.h"
#include "gui/workspace/step_facts.h"
#include "viz/paint/layout_geometry.h"
#include "viz/paint/units.h"

namespace shardscope {
namespace {

constexpr size_t most_outputs = 3;
constexpr int narrowest = 190;

}  // namespace

InspectorPanel::InspectorPanel(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      title_(new PathLabel),
      subtitle_(new QLabel),
      spec_(new SpecEditor(SpecEditor::Form::labelled)),
      typed_(new SpecField),
      swap_(new QToolButton),
      layers_(new QToolButton),
      spec_line_(make_spec_line()),
      spec_error_(new QLabel),
      costs_title_(new QLabel),
      costs_(new QTreeWidget) {
  auto* area = new QScrollArea(this);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* body = new QWidget;
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins(12, 10, 12, 12);
  layout->setSpacing(6);
  area->setWidget(body);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(area);
  setMinimumWidth(narrowest);

  title_->setProperty("heading", true);
  subtitle_->setProperty("muted", true);
  subtitle_->setWordWrap(true);
  spec_error_->setWordWrap(true);
  spec_error_->setObjectName("specError");
  costs_title_->setProperty("section", true);
  costs_title_->setWordWrap(true);
  costs_->setObjectName("costs");
  costs_->setAccessibleName(tr("What the array costs"));
  costs_->setColumnCount(2);
  costs_->setHeaderHidden(true);
  costs_->setRootIsDecorated(false);
  costs_->setFrameShape(QFrame::NoFrame);
  costs_->setUniformRowHeights(true);
  costs_->header()->setStretchLastSection(false);
  costs_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  costs_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);

  layout->addWidget(title_);
  layout->addWidget(subtitle_);
  layout->addWidget(spec_);
  layout->addWidget(spec_line_);
  layout->addWidget(spec_error_);
  array_ = make_section();
  device_ = make_section();
  step_ = make_section();
  layout->addWidget(array_.body);
  layout->addWidget(costs_title_);
  layout->addWidget(costs_);
  for (const Section& section : {device_, step_}) {
    layout->addWidget(section.title);
    layout->addWidget(section.body);
  }
  layout->addStretch();

  connect(spec_, &SpecEditor::dimChosen, this, [this](int dim, const std::vector<std::string>& axes) {
    give_dim(workspace_, spec_targets(workspace_, {workspace_.selection.array()}), dim, axes);
  });
  connect(costs_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (item) workspace_.select_step(item->data(0, Qt::UserRole).value<StepRef>());
  });
  connect(&workspace.selection, &Selection::arrayChanged, this, &InspectorPanel::show_all);
  connect(&workspace.selection, &Selection::deviceChanged, this, &InspectorPanel::show_device);
  connect(&workspace.selection, &Selection::stepChanged, this, &InspectorPanel::show_step);
  connect(&workspace.document, &Document::configChanged, this, &InspectorPanel::show_array);
  connect(&workspace.planner, &Planner::delivered, this, &InspectorPanel::show_all);
  connect(&workspace.run, &RunControl::received, this, [this] {
    show_device();
    show_step();
  });
  connect(&look(), &Look::changed, this, &InspectorPanel::show_array);
  show_all();
}

// The spec as text, and what can be done with the whole of it.
QWidget* InspectorPanel::make_spec_line() {
  auto* line = new QWidget;
  auto* layout = new QHBoxLayout(line);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  typed_->setMinimumWidth(60);
  swap_->setObjectName("swapButton");
  swap_->setText(QString(QChar(0x21c4)));
  swap_->setAccessibleName(tr("Swap two dimensions"));
  swap_->setToolTip(tr("Swap: what splits one dimension splits the other (Ctrl+T in the tree)."));
  swap_->setPopupMode(QToolButton::InstantPopup);
  layers_->setObjectName("allLayersButton");
  layers_->setText(QString(QChar(0x2261)));
  layers_->setAccessibleName(tr("Same in all layers"));
  layers_->setToolTip(tr("The same spec in all layers, by one line of the run file (Ctrl+L in the tree)."));
  layout->addWidget(typed_, 1);
  layout->addWidget(swap_);
  layout->addWidget(layers_);
  const auto targets = [this] { return spec_targets(workspace_, {workspace_.selection.array()}); };
  connect(typed_, &SpecField::specTyped, this, [this, targets](const PartitionSpec& spec) {
    if (const auto chosen = targets(); !chosen.empty()) give_spec(workspace_, chosen, spec);
  });
  connect(swap_, &QToolButton::clicked, this, [this, targets] { swap_dims(workspace_, targets(), 0, 1); });
  connect(layers_, &QToolButton::clicked, this, [this] { give_all_layers(workspace_, workspace_.selection.array()); });
  return line;
}

void InspectorPanel::show_spec(const ArrayFacts* facts) {
  const bool shown = facts && facts->editable && !facts->shape.empty();
  spec_->setVisible(shown);
  spec_line_->setVisible(shown);
  spec_error_->hide();
  if (!facts || !facts->editable) return;
  const QString place = place_of(facts->array);
  const std::vector<Error> errors = errors_at(workspace_.planner.errors(), place);
  spec_->show_spec(workspace_.document.config().mesh_axes, facts->shape, facts->spec, errors, place);
  spec_error_->setText(in_color(theme().error, errors_text(errors).toHtmlEscaped().replace("\n", "<br>")));
  spec_error_->setVisible(!errors.empty());
  typed_->show_spec(spec_text(facts->spec, facts->shape.size()));
  const auto rank = static_cast<int>(facts->shape.size());
  swap_->setVisible(rank > 1);
  if (QMenu* before = swap_->menu()) {
    swap_->setMenu(nullptr);
    before->deleteLater();  // it may be what was clicked
  }
  if (rank > 2) {
    auto* pairs = new QMenu(swap_);
    add_swaps(*pairs, rank, workspace_, [this] { return spec_targets(workspace_, {workspace_.selection.array()}); });
    swap_->setMenu(pairs);
  }
  const auto* parameter = std::get_if<ParameterRef>(&facts->array);
  layers_->setVisible(parameter && !in_other_layers(workspace_.planner.parameters(), parameter->path).empty());
}

InspectorPanel::Section InspectorPanel::make_section() {
  Section section;
  section.title = new QLabel(this);
  section.title->setProperty("section", true);
  section.title->setWordWrap(true);
  section.body = new QWidget(this);
  section.rows = new QGridLayout(section.body);
  section.rows->setColumnStretch(1, 1);
  section.rows->setContentsMargins(0, 0, 0, 0);
  section.rows->setVerticalSpacing(4);
  section.rows->setHorizontalSpacing(12);
  return section;
}

void InspectorPanel::fill(Section& section, const QString& title, const std::vector<Row>& rows) {
  section.title->setText(title);
  section.title->setVisible(!title.isEmpty());
  section.body->setVisible(!rows.empty());
  while (section.fields.size() < rows.size()) {
    const int row = static_cast<int>(section.fields.size());
    auto* name = new QLabel(section.body);
    name->setProperty("muted", true);
    auto* value = new PathLabel(section.body);
    section.rows->addWidget(name, row, 0, Qt::AlignTop | Qt::AlignLeft);
    section.rows->addWidget(value, row, 1);
    section.fields.emplace_back(name, value);
  }
  for (size_t i = 0; i < section.fields.size(); ++i) {
    const auto [name, value] = section.fields[i];
    name->setVisible(i < rows.size());
    value->setVisible(i < rows.size());
    if (i >= rows.size()) continue;
    name->setText(rows[i].name);
    value->set_path_text(rows[i].value);
    value->setToolTip(rows[i].tip);
  }
}

void InspectorPanel::show_all() {
  show_array();
  show_device();
  show_step();
}

void InspectorPanel::show_array() {
  const std::optional<ArrayFacts> facts = array_facts(workspace_, workspace_.selection.array());
  title_->set_path_text(facts ? facts->title : tr("Nothing selected"));
  subtitle_->setText(facts ? tr("%1, %2 %3").arg(facts->kind, qt(to_string(facts->shape)), qt(name(facts->dtype)))
                           : tr("Choose a parameter, a device or a collective."));
  show_spec(facts ? &*facts : nullptr);
  costs_title_->hide();
  costs_->hide();
  if (!facts) return fill(array_, "", {});
  std::vector<Row> rows;
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (plan && facts->sharding) {
    const Shape local = local_shape(*facts->sharding, plan->mesh, facts->shape);
    const int64_t bytes = element_count(local) * byte_size(facts->dtype);
    const int64_t copies = copies_of(*facts, *plan);
    rows = {{tr("Layout"), qt(to_string(*facts->sharding, plan->mesh)),
             tr("For each dimension the mesh axes that split it.")},
            {tr("Local shape"), qt(to_string(local)), tr("Shape of one shard: what one device holds.")},
            {tr("Per device"), qt(bytes_text(double(bytes))), qt(exact_bytes(double(bytes)))},
            {tr("Replicas"), copies == 1 ? tr("1 (none)") : QString::number(copies),
             tr("How many devices hold the same shard.")}};
    if (!facts->stages.empty())
      rows.push_back({tr("Stage"), stages_text(facts->stages), tr("Only the devices of this stage hold it.")});
  }
  rows.push_back(
      {tr("Why"), facts->why,
       tr("Where this layout came from: the run file, an op that propagated it, or the cost that chose it.")});
  fill(array_, "", rows);
  show_costs(*facts);
}

void InspectorPanel::show_costs(const ArrayFacts& facts) {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!plan) return;
  const QSignalBlocker block(costs_);
  costs_->clear();
  double wire = 0;
  for (const StepRef id : collectives_of(workspace_.planner, facts)) {
    const Step& step = *find_step(*plan, id);
    const int runs = workspace_.planner.index().runs(id);
    const double share = wire_share(*plan, step, facts) * runs, all = step.wire_bytes * runs;
    wire += share;
    auto* item = new QTreeWidgetItem(
        costs_, {is_transfer(step.kind) ? qt(plan->step_name(step)).section(" of ", 0, 0)
                                        : tr("%1 over %2").arg(qt(name(step.kind)), axes_text(plan->mesh, step.axes)),
                 qt(bytes_text(share))});
    item->setData(0, Qt::UserRole, QVariant::fromValue(id));
    item->setToolTip(
        0,
        QString("%1, %2\n%3").arg(qt(name(step.phase)), qt(plan->step_name(step)), short_cause(qt(plan->cause(step)))));
    item->setToolTip(1, share < all ? tr("%1 sent by each device, of %2 for %3 arrays in one go")
                                          .arg(qt(exact_bytes(share)), qt(exact_bytes(all)))
                                          .arg(step.inputs.size())
                                    : tr("%1 sent by each device").arg(qt(exact_bytes(share))));
    item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
  }
  const int count = costs_->topLevelItemCount();
  costs_title_->setText(count == 0 ? tr("Costs no communication") : tr("Costs %1 a step").arg(qt(bytes_text(wire))));
  costs_title_->setToolTip(tr("Bytes that each device sends for this array in a training step."));
  costs_title_->show();
  costs_->setVisible(count > 0);
  costs_->setFixedHeight(std::min(count, 8) * (fontMetrics().height() + 7) + 4);
}

void InspectorPanel::show_device() {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const int device = workspace_.selection.device().value_or(-1);
  if (!plan || device < 0 || device >= plan->mesh.device_count()) return fill(device_, "", {});
  const int stage = plan->stage_of(device);
  const double arena = double(plan->pipeline.totals[static_cast<size_t>(stage)].memory_total);
  std::vector<Row> rows{{tr("Place"), coordinates_text(plan->mesh, device), tr("Coordinates on the mesh")}};
  if (plan->program.stages > 1)
    rows.push_back({tr("Stage"), QString::number(stage), tr("Of the pipeline: which layers this device holds.")});
  const auto facts = array_facts(workspace_, workspace_.selection.array());
  if (facts && facts->sharding && !is_held_by(*facts, stage))
    rows.push_back({tr("Shard"), tr("none"), tr("The devices of another stage hold the selected array.")});
  else if (facts && facts->sharding)
    rows.push_back({tr("Shard"), qt(range_text(shard_box(*facts->sharding, plan->mesh, facts->shape, device))),
                    tr("The part of the selected array that this device holds.")});
  rows.push_back({tr("Arena"), qt(bytes_text(arena)), qt(exact_bytes(arena))});
  const RunRecord* run = workspace_.matching_run();
  if (const RankMeasurement* rank = run ? run->measurement(device) : nullptr) {
    const double used = double(rank->arena_bytes), sent = rank->wire_bytes;
    rows.push_back({tr("Measured"), tr("%1 arena, %2 sent a step").arg(qt(bytes_text(used)), qt(bytes_text(sent))),
                    qt(exact_bytes(used)) + ", " + qt(exact_bytes(sent))});
  }
  fill(device_, tr("Device %1").arg(device), rows);
}

void InspectorPanel::show_step() {
  const std::optional<StepRef> id = workspace_.selection.step();
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const Step* found = plan ? find_step(*plan, id) : nullptr;
  if (!found) return fill(step_, "", {});
  const Step& step = *found;
  std::vector<Row> rows;
  const auto row = [&](const QString& name, const QString& value, const QString& tip = {}) {
    rows.push_back({name, value, tip});
  };
  const int runs = workspace_.planner.index().runs(*id);
  // What a training step takes: of a microbatch's step its runs together.
  const auto in_all = [runs](double once, std::string (*format)(double)) {
    if (runs == 1) return qt(format(once));
    return tr("%1 \u00d7 %2 = %3").arg(runs).arg(qt(format(once)), qt(format(once * runs)));
  };
  const QString title = qt(plan->step_name(step)), cause = qt(plan->cause(step));
  row(tr("Op"), title, title);
  row(tr("Phase"), qt(name(step.phase)));
  if (plan->program.stages > 1) row(tr("Stage"), QString::number(stage_of(*plan, *id)));
  if (is_collective(step.kind))
    row(tr("Over"), tr("%1 (groups of %2)").arg(axes_text(plan->mesh, step.axes)).arg(step.group_size));
  if (is_communication(step.kind)) {
    row(tr("Payload"), in_all(double(step.payload_bytes), bytes_text), qt(exact_bytes(double(step.payload_bytes))));
    row(tr("Sent"), in_all(step.wire_bytes, bytes_text), qt(exact_bytes(step.wire_bytes * runs)));
  }
  if (!cause.isEmpty()) row(tr("Cause"), short_cause(cause), cause);
  for (size_t i = 0; i < std::min(step.outputs.size(), most_outputs); ++i) {
    const ProgramValue& lies = plan->program.values[step.outputs[i]];
    row(tr("Gives"), qt(to_string(lies.shape)) + " " + qt(to_string(lies.sharding, plan->mesh)),
        qt(plan->value_name(step.outputs[i])));
    if (step.kind != StepKind::compute) continue;
    const ValueLayout* layout = layout_of(workspace_.planner, lies.graph_value);
    if (layout && !layout->origin.text.empty())
      row(tr("Why"), qt(layout->origin.text), tr("Where the layout of %1 came from.").arg(qt(layout->name)));
  }
  if (step.outputs.size() > most_outputs) row(tr("Gives"), tr("and %1 more").arg(step.outputs.size() - most_outputs));
  if (step.flops > 0) row(tr("Work"), in_all(step.flops, flops_text));
  row(tr("Predicted"), in_all(plan->step_seconds[*id], seconds_text));
  if (const std::optional<MeasuredTime> time = workspace_.measured(*id)) {
    row(tr("Measured"), in_all(time->working / runs, seconds_text),
        tr("Its work or exchange on the ranks, without waiting."));
    if (time->waiting > 0)
      row(tr("Waited"), in_all(time->waiting / runs, seconds_text),
          tr("From a rank's coming to the exchange until all that take part had come."));
  }
  fill(step_, tr("Instruction %1: %2").arg(*position_of(*plan, id)).arg(qt(name(step.kind))), rows);
}

}  // namespace shardscope
