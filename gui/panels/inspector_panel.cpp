#include "gui/panels/inspector_panel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QMenu>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/base/units.h"
#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/spec_batch.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/panels/spec_targets.h"
#include "gui/workspace/line_edits.h"
#include "gui/workspace/step_facts.h"
#include "viz/paint/layout_geometry.h"

namespace shardscope {
namespace {

constexpr size_t most_outputs = 3;
constexpr int narrowest = 190;
constexpr int most_faults = 4;
constexpr int most_named = 12;  // in a tool tip

// A property of several arrays: what they have in common.
class Common {
 public:
  void add(const QString& value) {
    const auto known = std::ranges::find(values_, value, &std::pair<QString, int>::first);
    if (known != values_.end()) ++known->second;
    else values_.emplace_back(value, 1);
  }
  size_t count() const { return values_.size(); }
  bool is_one() const { return values_.size() == 1; }
  QString text() const { return is_one() ? values_.front().first : InspectorPanel::tr("mixed"); }
  // And how many arrays have each value, where they differ.
  QString tip(QString meaning) const {
    if (is_one()) return meaning;
    for (size_t i = 0; i < std::min(values_.size(), size_t{most_named}); ++i)
      meaning += (meaning.isEmpty() ? "" : "\n") +
                 InspectorPanel::tr("%1 of them: %2").arg(values_[i].second).arg(values_[i].first);
    return values_.size() > most_named ? meaning + "\n\u2026" : meaning;
  }

 private:
  std::vector<std::pair<QString, int>> values_;
};

QString names_of(const std::vector<ArrayFacts>& arrays) {
  QStringList names;
  for (const ArrayFacts& facts : arrays) names << facts.title;
  return names.size() > most_named ? names.mid(0, most_named).join('\n') + "\n\u2026" : names.join('\n');
}

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
    give_dim(workspace_, spec_targets(workspace_, workspace_.selection.arrays()), dim, axes);
  });
  connect(costs_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (item) workspace_.select_step(item->data(0, Qt::UserRole).value<StepRef>());
  });
  connect(&workspace.selection, &Selection::arraysChanged, this, &InspectorPanel::show_all);
  connect(&workspace.selection, &Selection::arrayChanged, this, &InspectorPanel::show_device);
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
  const auto targets = [this] { return spec_targets(workspace_, workspace_.selection.arrays()); };
  connect(typed_, &SpecField::judged, this, &InspectorPanel::show_spec_error);
  connect(typed_, &SpecField::specTyped, this, [this, targets](const PartitionSpec& spec) {
    if (const auto chosen = targets(); !chosen.empty()) give_spec(workspace_, chosen, spec);
  });
  connect(swap_, &QToolButton::clicked, this, [this, targets] { swap_dims(workspace_, targets(), 0, 1); });
  connect(layers_, &QToolButton::clicked, this, [this] { give_all_layers(workspace_, workspace_.selection.array()); });
  return line;
}

// Of what is being typed, else of the spec that was planned.
void InspectorPanel::show_spec_error() {
  const QString text = typed_->fault().isEmpty() ? spec_faults_ : typed_->fault();
  spec_error_->setText(in_color(theme().error, text.toHtmlEscaped().replace("\n", "<br>")));
  spec_error_->setVisible(!text.isEmpty());
}

// Those that have a spec; or, where none has one, the current array alone.
std::vector<ArrayFacts> InspectorPanel::selected() const {
  const std::vector<ArrayRef>& arrays = workspace_.selection.arrays();
  if (arrays.size() > 1)
    if (std::vector<ArrayFacts> targets = spec_targets(workspace_, arrays); !targets.empty()) return targets;
  std::optional<ArrayFacts> facts = array_facts(workspace_, workspace_.selection.array());
  return facts ? std::vector{std::move(*facts)} : std::vector<ArrayFacts>{};
}

void InspectorPanel::show_spec(const std::vector<ArrayFacts>& arrays) {
  const bool shown = !arrays.empty() && arrays.front().editable && !arrays.front().shape.empty();
  spec_->setVisible(shown);
  spec_line_->setVisible(shown);
  spec_error_->hide();
  if (arrays.empty() || !arrays.front().editable) return;
  std::vector<EditedSpec> edited;
  QStringList faults;
  Common specs;
  int rank = 0;
  for (const ArrayFacts& facts : arrays) {
    const QString place = place_of(facts.array);
    const std::vector<Error> errors = errors_at(workspace_.planner.errors(), place);
    edited.push_back({facts.title, facts.shape, facts.spec, errors, place});
    if (!errors.empty()) faults << errors_text(errors);
    specs.add(spec_text(facts.spec, facts.shape.size()));
    rank = std::max(rank, static_cast<int>(facts.shape.size()));
  }
  const RunConfig& config = workspace_.document.config();
  spec_->show_specs(config.mesh_axes, config.pipeline.axis, edited);
  faults.removeDuplicates();
  spec_faults_ = QStringList(faults.mid(0, most_faults)).join("\n");
  show_spec_error();
  if (specs.is_one()) typed_->show_spec(specs.text());
  else typed_->show_spec({}, tr("mixed"));
  swap_->setVisible(rank > 1);
  if (QMenu* before = swap_->menu()) {
    swap_->setMenu(nullptr);
    before->deleteLater();  // it may be what was clicked
  }
  if (rank > 2) {
    auto* pairs = new QMenu(swap_);
    add_swaps(*pairs, rank, workspace_, [this] { return spec_targets(workspace_, workspace_.selection.arrays()); });
    swap_->setMenu(pairs);
  }
  const auto* parameter = arrays.size() == 1 ? std::get_if<ParameterRef>(&arrays.front().array) : nullptr;
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
  if (std::exchange(shown_, workspace_.selection.arrays()) != shown_) typed_->setModified(false);
  const std::vector<ArrayFacts> arrays = selected();
  costs_title_->hide();
  costs_->hide();
  show_spec(arrays);
  if (arrays.empty()) {
    title_->set_path_text(tr("Nothing selected"));
    subtitle_->setText(tr("Choose a parameter, a device or a collective."));
    return fill(array_, "", {});
  }
  Common kinds, shapes, dtypes;
  ArrayFacts together = arrays.front();  // for what their values cost
  together.graph_values.clear();
  for (const ArrayFacts& facts : arrays) {
    kinds.add(facts.kind);
    shapes.add(qt(to_string(facts.shape)));
    dtypes.add(qt(name(facts.dtype)));
    together.graph_values.insert(together.graph_values.end(), facts.graph_values.begin(), facts.graph_values.end());
  }
  const bool is_one = arrays.size() == 1;
  title_->set_path_text(is_one ? arrays.front().title : counted_text(std::ssize(arrays), "array"));
  title_->setToolTip(is_one ? QString() : names_of(arrays));
  const QString shape = shapes.is_one() ? shapes.text() : tr("%1 shapes").arg(shapes.count());
  subtitle_->setText(tr("%1, %2 %3").arg(kinds.is_one() ? kinds.text() : tr("arrays"), shape, dtypes.text()));
  subtitle_->setToolTip(shapes.tip({}));
  show_rows(arrays);
  show_costs(together);
}

void InspectorPanel::show_rows(const std::vector<ArrayFacts>& arrays) {
  std::vector<Row> rows;
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  Common layouts, locals, replicas, stages, reasons;
  double bytes = 0;
  for (const ArrayFacts& facts : arrays) {
    reasons.add(facts.why);
    if (!plan || !facts.sharding) continue;
    const Shape local = local_shape(*facts.sharding, plan->mesh, facts.shape);
    const int64_t copies = copies_of(facts, *plan);
    bytes += double(element_count(local) * byte_size(facts.dtype));
    layouts.add(qt(to_string(*facts.sharding, plan->mesh)));
    locals.add(qt(to_string(local)));
    replicas.add(copies == 1 ? tr("1 (none)") : QString::number(copies));
    if (!facts.stages.empty()) stages.add(stages_text(facts.stages));
  }
  const auto row = [&rows](const QString& name, const Common& values, const QString& tip) {
    if (values.count() > 0) rows.push_back({name, values.text(), values.tip(tip)});
  };
  row(tr("Layout"), layouts, tr("For each dimension the mesh axes that split it."));
  row(tr("Local shape"), locals, tr("Shape of one shard: what one device holds."));
  if (layouts.count() > 0) rows.push_back({tr("Per device"), qt(bytes_text(bytes)), qt(exact_bytes(bytes))});
  row(tr("Replicas"), replicas, tr("How many devices hold the same shard."));
  row(tr("Stage"), stages, tr("Only the devices of this stage hold it."));
  row(tr("Why"), reasons,
      tr("Where this layout came from: the run file, an op that propagated it, or the cost that chose it."));
  fill(array_, "", rows);
}

void InspectorPanel::show_costs(const ArrayFacts& facts) {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!plan) return;
  const QSignalBlocker block(costs_);
  costs_->clear();
  double wire = 0;
  for (const StepRef id : collectives_of(workspace_.planner, facts)) {
    const Instruction& instruction = *find_step(*plan, id);
    const int runs = workspace_.planner.index().runs(id);
    const double share = wire_share(*plan, instruction, facts) * runs, all = instruction.wire_bytes() * runs;
    wire += share;
    auto* item = new QTreeWidgetItem(
        costs_, {is_transfer(instruction.kind())
                     ? qt(plan->instruction_name(instruction)).section(" of ", 0, 0)
                     : tr("%1 over %2").arg(qt(name(instruction.kind())), axes_text(plan->mesh, instruction.axes())),
                 qt(bytes_text(share))});
    item->setData(0, Qt::UserRole, QVariant::fromValue(id));
    item->setToolTip(0, QString("%1, %2\n%3")
                            .arg(qt(name(instruction.phase)), qt(plan->instruction_name(instruction)),
                                 short_cause(qt(plan->cause(instruction)))));
    item->setToolTip(1, share < all ? tr("%1 sent by each device, of %2 for %3 arrays in one go")
                                          .arg(qt(exact_bytes(share)), qt(exact_bytes(all)))
                                          .arg(instruction.moved().size())
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
    if (rank->moved_bytes >= 0)
      rows.push_back({tr("Moved"), tr("%1 a step").arg(qt(bytes_text(double(rank->moved_bytes)))),
                      tr("What the transport really moved: bytes that it copied, read from peers, summed or handed to "
                         "MPI; sent is by the ring convention. %1")
                          .arg(qt(exact_bytes(double(rank->moved_bytes))))});
  }
  fill(device_, tr("Device %1").arg(device), rows);
}

void InspectorPanel::show_step() {
  const std::optional<StepRef> id = workspace_.selection.step();
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const Instruction* found = plan ? find_step(*plan, id) : nullptr;
  if (!found) return fill(step_, "", {});
  const Instruction& instruction = *found;
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
  const QString title = qt(plan->instruction_name(instruction)), cause = qt(plan->cause(instruction));
  row(tr("Op"), title, title);
  row(tr("Phase"), qt(name(instruction.phase)));
  if (plan->program.stages > 1) row(tr("Stage"), QString::number(stage_of(*plan, *id)));
  if (is_collective(instruction.kind()))
    row(tr("Over"),
        tr("%1 (groups of %2)").arg(axes_text(plan->mesh, instruction.axes())).arg(instruction.group_size()));
  if (is_communication(instruction.kind())) {
    row(tr("Payload"), in_all(double(instruction.payload_bytes()), bytes_text),
        qt(exact_bytes(double(instruction.payload_bytes()))));
    row(tr("Sent"), in_all(instruction.wire_bytes(), bytes_text), qt(exact_bytes(instruction.wire_bytes() * runs)));
  }
  if (!cause.isEmpty()) row(tr("Cause"), short_cause(cause), cause);
  if (const QString pins = deciding_text(*plan, instruction); !pins.isEmpty())
    row(tr("Decided by"), pins, tr("The places in the run file whose specs make this reshard necessary."));
  for (size_t i = 0; i < std::min(instruction.destinations().size(), most_outputs); ++i) {
    const ProgramValue& program_value = plan->program.values[instruction.destinations()[i]];
    row(tr("Gives"), qt(to_string(program_value.shape)) + " " + qt(to_string(program_value.sharding, plan->mesh)),
        qt(plan->value_name(instruction.destinations()[i])));
    if (instruction.kind() != InstructionKind::compute) continue;
    const ValueLayout* layout = layout_of(workspace_.planner, program_value.graph_value);
    if (layout && !layout->origin.text.empty())
      row(tr("Why"), qt(layout->origin.text), tr("Where the layout of %1 came from.").arg(qt(layout->name)));
  }
  if (instruction.destinations().size() > most_outputs)
    row(tr("Gives"), tr("and %1 more").arg(instruction.destinations().size() - most_outputs));
  if (instruction.flops() > 0) row(tr("Work"), in_all(instruction.flops(), flops_text));
  row(tr("Predicted"), in_all(plan->instruction_seconds[*id], seconds_text));
  if (const std::optional<MeasuredTime> time = workspace_.measured(*id)) {
    row(tr("Measured"), in_all(time->working / runs, seconds_text),
        tr("Its work or exchange on the ranks, without waiting."));
    if (time->waiting > 0)
      row(tr("Waited"), in_all(time->waiting / runs, seconds_text),
          tr("From a rank's coming to the exchange until all that take part had come."));
  }
  fill(step_, tr("Instruction %1: %2").arg(*position_of(*plan, id)).arg(qt(name(instruction.kind()))), rows);
}

}  // namespace shardscope
