#include "gui/panels/settings_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QScrollArea>
#include <QSettings>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>

#include "engine/config/run_keys.h"
#include "engine/plan/schedules/schedule.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/look/fitted_fields.h"
#include "gui/look/marked_label.h"
#include "gui/planning/later_iteration.h"
#include "gui/workspace/array_facts.h"

namespace shardscope {
namespace {

QString real_text(double value) { return QString::number(value, 'g', 10); }

QString readable(const std::string& name) {
  QString text = qt(name).replace('_', ' ');
  text[0] = text[0].toUpper();
  return text;
}

// In the list of axes: one that is made when it is chosen.
const QString new_axis = QStringLiteral("\n");
constexpr const char* interleaved_name = "interleaved";

QString schedule_tip(const QString& name) {
  if (name == "gpipe") return SettingsPanel::tr("all forward, then all backward");
  if (name == "1f1b") return SettingsPanel::tr("one forward, one backward");
  if (name == interleaved_name) return SettingsPanel::tr("several chunks a stage");
  if (name == "zero_bubble") return SettingsPanel::tr("weights' backward fills gaps");
  return {};
}

// "2, 2" as numbers; nothing where it is something else.
std::optional<std::vector<int64_t>> layers_of(const QString& text) {
  static const QRegularExpression separators("[,\\s]+");
  std::vector<int64_t> layers;
  for (const QString& part : text.split(separators, Qt::SkipEmptyParts)) {
    bool is_whole = false;
    layers.push_back(part.toLongLong(&is_whole));
    if (!is_whole || layers.back() < 0) return std::nullopt;
  }
  return layers;
}

WholeField* whole_field(int64_t value, QWidget* parent) {
  auto* box = new WholeField(parent);
  box->setMinimum(-WholeField::largest);
  box->setValue(static_cast<double>(value));
  return box;
}

// What the table of keys says of a place of the run file.
const JsonNode& key_schema(const QString& place) {
  const JsonNode* schema = &run_type(true).schema;
  for (const QString& key : place.split('.'))
    schema = object_schema(*schema).find("properties")->find(key.toStdString());
  return *schema;
}

QString key_tip(const QString& place) { return qt(key_schema(place).find("description")->text).remove('`'); }

// What a field of one line says of a value: a number, a text, or a list of texts.
QString written_text(const OptionValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return real_text(*number);
  if (const auto* list = std::get_if<TextList>(&value)) return list_text(*list);
  return qt(std::get<std::string>(value));
}

// The value of such a text, of the kind of `like`; nothing where it is none.
std::optional<OptionValue> written_value(const QString& text, const OptionValue& like) {
  if (std::holds_alternative<TextList>(like)) return OptionValue(listed_texts(text));
  if (std::holds_alternative<std::string>(like)) return OptionValue(text.toStdString());
  bool legal = false;
  const double number = text.toDouble(&legal);
  return legal ? std::optional<OptionValue>(number) : std::nullopt;
}

void show_value(QWidget* field, const OptionValue& value) {
  const QSignalBlocker block(field);
  if (auto* check = qobject_cast<QCheckBox*>(field)) {
    check->setChecked(std::get<bool>(value));
  } else if (auto* box = qobject_cast<QComboBox*>(field)) {
    box->setCurrentIndex(box->findText(qt(std::get<std::string>(value))));
  } else if (auto* spin = qobject_cast<QDoubleSpinBox*>(field)) {
    spin->setValue(static_cast<double>(std::get<int64_t>(value)));
  } else if (auto* line = qobject_cast<QLineEdit*>(field)) {
    const std::optional<OptionValue> said = written_value(line->text(), value);
    if (!(line->hasFocus() && said == value)) line->setText(written_text(value));
  }
}

}  // namespace

SettingsPanel::SettingsPanel(Workspace& workspace, QWidget* parent) : QWidget(parent), workspace_(workspace) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  area_ = new QScrollArea(this);
  area_->setWidgetResizable(true);
  area_->setFrameShape(QFrame::NoFrame);
  area_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area_->viewport()->installEventFilter(this);
  layout->addWidget(area_);
  holder_ = new QWidget;
  auto* column = new QVBoxLayout(holder_);
  column->setContentsMargins(0, 0, 0, 0);
  area_->setWidget(holder_);
  connect(&workspace.document, &Document::configChanged, this, &SettingsPanel::show_config);
  connect(&workspace.planner, &Planner::delivered, this, &SettingsPanel::show_errors);
  connect(&workspace.findings, &Findings::changed, this, &SettingsPanel::show_errors);
  rebuild();
}

bool SettingsPanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == (watched == body_ ? QEvent::LayoutRequest : QEvent::Resize)) wrap_rows();
  return QWidget::eventFilter(watched, event);
}

// Labels beside their fields where there is room for the widest of both, else above them. The layout can wrap single
// rows, but then asks for too little height.
void SettingsPanel::wrap_rows() {
  if (!form_) return;
  int label = 0, field = 0;
  for (int row = 0; row < form_->rowCount(); ++row) {
    if (const QLayoutItem* item = form_->itemAt(row, QFormLayout::LabelRole))
      label = std::max(label, item->sizeHint().width());
    if (const QLayoutItem* item = form_->itemAt(row, QFormLayout::FieldRole))
      field = std::max(field, item->minimumSize().width());
  }
  const QMargins around = form_->contentsMargins();
  const int needed = around.left() + label + form_->horizontalSpacing() + field + around.right();
  const auto policy = needed <= area_->viewport()->width() ? QFormLayout::DontWrapRows : QFormLayout::WrapAllRows;
  if (policy != form_->rowWrapPolicy()) form_->setRowWrapPolicy(policy);
}

QString SettingsPanel::layout_signature() const {
  QString signature;
  for (const MeshAxis& axis : workspace_.document.config().mesh_axes) signature += qt(axis.name) + ",";
  for (OptionGroup which : {OptionGroup::model, OptionGroup::data, OptionGroup::optimizer}) {
    const RunConfig& config = workspace_.document.config();
    signature += qt(group(config, which).name) + "{";
    for (const ShownOption& option : shown_options(config, which))
      signature += qt(option.name) + QString::number(option.value.index()) + ",";
  }
  return signature;
}

void SettingsPanel::rebuild() {
  QString focused;
  for (const auto& [place, field] : fields_) {
    if (field->hasFocus()) focused = place;
    field->disconnect(this);
  }
  // The field that brought this about may still be at it.
  if (body_) {
    holder_->layout()->removeWidget(body_);
    body_->hide();
    body_->deleteLater();
  }
  signature_ = layout_signature();
  fields_.clear();
  tips_.clear();
  body_ = new QWidget(holder_);  // at once in its place: to move a form gives each of its fields its style anew
  form_ = new QFormLayout(body_);
  form_->setContentsMargins(10, 8, 10, 10);
  form_->setVerticalSpacing(5);
  form_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form_->setLabelAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  const RunConfig& config = workspace_.document.config();

  add_title(tr("Run"));
  add_number(tr("Steps"), "steps", config.steps, set_steps);
  add_number(tr("Microbatches"), "schedule.microbatches", config.schedule.microbatches, set_microbatches);
  add_rematerialisation(config.schedule.rematerialise);
  add_overlap(config.schedule.overlap);
  add_zero(config.sharding.zero, config.mesh_axes);
  add_number(tr("Seed"), "seed", config.seed, set_seed);
  auto* deterministic = new QCheckBox(body_);
  deterministic->setChecked(config.deterministic);
  connect(deterministic, &QCheckBox::toggled, this, [this](bool on) { set_deterministic(workspace_.document, on); });
  add_field(tr("Deterministic"), "deterministic", deterministic, key_tip("deterministic"));

  auto* hosts = new FittedLine(body_);
  hosts->setText(qt(config.hosts));
  hosts->setPlaceholderText(tr("this host"));
  connect(hosts, &QLineEdit::editingFinished, this,
          [this, hosts] { set_hosts(workspace_.document, hosts->text().trimmed().toStdString()); });
  add_field(tr("Hosts"), "hosts", hosts, tr("Hosts of the ranks, in order, as h0:4,h1:4; reached by ssh."));

  add_pipeline(config.mesh_axes);
  add_group(OptionGroup::optimizer, tr("Optimizer"));
  add_group(OptionGroup::data, tr("Data"));
  add_group(OptionGroup::model, tr("Model"));
  holder_->layout()->addWidget(body_);
  body_->installEventFilter(this);
  wrap_rows();
  body_->show();
  if (!focused.isEmpty()) focus_place(focused);
  show_errors();
}

void SettingsPanel::add_rematerialisation(const std::string& policy) {
  auto* box = new QComboBox(body_);
  box->setEditable(true);
  box->addItems({"none", "full", "attention", "mlp"});
  box->setInsertPolicy(QComboBox::NoInsert);
  const auto edit = [this, box] {
    const QString text = box->currentText();
    if (text != pattern_text(workspace_.document.config().schedule.rematerialise))
      set_rematerialisation(workspace_.document, written_pattern(text));
  };
  connect(box, &QComboBox::activated, this, edit);
  connect(box->lineEdit(), &QLineEdit::editingFinished, this, edit);
  add_field(
      tr("Rematerialise"), "schedule.rematerialise", box,
      tr("Forward results that backward recomputes instead of keeping them: of whole layers, of a part of each, or "
         "of ops by a pattern of their names; several with commas: mlp, **/ln1/**"));
  show_rematerialisation(policy);
}

void SettingsPanel::show_rematerialisation(const std::string& policy) {
  auto* box = qobject_cast<QComboBox*>(fields_["schedule.rematerialise"]);
  const QSignalBlocker block(box);
  if (box->currentText() != pattern_text(policy)) box->setCurrentText(pattern_text(policy));
}

void SettingsPanel::add_overlap(OverlapMode overlap) {
  auto* box = new QComboBox(body_);
  box->addItems({tr("where it pays"), tr("off")});  // in the order of OverlapMode
  box->setCurrentIndex(static_cast<int>(overlap));
  connect(box, &QComboBox::activated, this,
          [this](int index) { set_overlap(workspace_.document, static_cast<OverlapMode>(index)); });
  add_field(tr("Overlap"), "schedule.overlap", box,
            tr("Collectives beside computation where the machine can and the predicted step gets shorter; the results "
               "are the same bits."));
}

void SettingsPanel::add_zero(const ZeroConfig& zero, const std::vector<MeshAxis>& mesh_axes) {
  auto* stage = new QComboBox(body_);
  stage->addItems({tr("none"), tr("1: optimizer state"), tr("2: and gradients"), tr("3: and parameters")});
  auto* axis = new QComboBox(body_);
  for (const MeshAxis& known : mesh_axes) axis->addItem(qt(known.name));
  const auto edit = [this, stage, axis] {
    set_zero(workspace_.document, {stage->currentIndex(), listed_texts(axis->currentText())});
  };
  connect(stage, &QComboBox::activated, this, edit);
  connect(axis, &QComboBox::activated, this, edit);
  add_field(tr("ZeRO"), "sharding.zero.stage", stage, key_tip("sharding.zero"));
  add_field(tr("ZeRO axis"), "sharding.zero.axis", axis, key_tip("sharding.zero.axis"));
  show_zero(zero);
}

void SettingsPanel::show_zero(const ZeroConfig& zero) {
  auto* stage = qobject_cast<QComboBox*>(fields_["sharding.zero.stage"]);
  auto* axis = qobject_cast<QComboBox*>(fields_["sharding.zero.axis"]);
  stage->setCurrentIndex(static_cast<int>(zero.stage));
  const QString axes = list_text(zero.axes);
  if (!axes.isEmpty() && axis->findText(axes) < 0) axis->addItem(axes);
  axis->setCurrentIndex(axes.isEmpty() ? 0 : axis->findText(axes));
  axis->setEnabled(zero.stage > 0);
}

void SettingsPanel::add_pipeline(const std::vector<MeshAxis>& mesh_axes) {
  add_title(tr("Pipeline"));
  auto* axis = new QComboBox(body_);
  axis->addItem(tr("none"), QString());
  for (const MeshAxis& known : mesh_axes) axis->addItem(qt(known.name), qt(known.name));
  axis->addItem(tr("new axis of 2 stages\u2026"), new_axis);
  connect(axis, &QComboBox::activated, this, [this, axis] {
    if (axis->currentData().toString() == new_axis) return add_pipeline_axis(workspace_.document);
    PipelineConfig pipeline = workspace_.document.config().pipeline;
    pipeline.axis = axis->currentData().toString().toStdString();
    set_pipeline(workspace_.document, pipeline);
  });
  add_field(tr("Axis"), "pipeline.axis", axis,
            tr("The mesh axis along which the layers are cut into stages: microbatches pass through them."));

  auto* schedule = new QComboBox(body_);
  QString schedules = tr("In which order each stage does its microbatches.");
  for (const PipelineSchedule& known : all_schedules()) {
    const QString name = qt(known.name), tip = schedule_tip(name);
    schedule->addItem(name, name);
    schedule->setItemData(schedule->count() - 1, tip, Qt::ToolTipRole);
    schedules += "\n" + name + ": " + tip;
  }
  connect(schedule, &QComboBox::activated, this, [this, schedule] {
    PipelineConfig pipeline = workspace_.document.config().pipeline;
    pipeline.schedule = schedule->currentData().toString().toStdString();
    const bool interleaves = pipeline.schedule == interleaved_name;
    if (interleaves != (pipeline.chunks > 1)) {
      pipeline.chunks = interleaves ? 2 : 1;
      pipeline.layers.clear();
    }
    set_pipeline(workspace_.document, pipeline);
  });
  add_field(tr("Schedule"), "pipeline.schedule", schedule, schedules);

  add_number(tr("Chunks"), "pipeline.chunks", 1, [](Document& document, int64_t chunks) {
    PipelineConfig pipeline = document.config().pipeline;
    pipeline.chunks = chunks;
    set_pipeline(document, pipeline);
  });

  auto* layers = new FittedLine(body_);
  layers->setPlaceholderText(tr("equally long"));
  connect(layers, &QLineEdit::editingFinished, this, [this, layers] { take_layers(layers->text()); });
  add_field(tr("Layers"), "pipeline.layers", layers,
            tr("Layers of each chunk in the network's order, as 2, 2; empty: such that all take equally long."));
  show_pipeline(workspace_.document.config().pipeline);
}

void SettingsPanel::show_pipeline(const PipelineConfig& pipeline) {
  auto* axis = qobject_cast<QComboBox*>(fields_["pipeline.axis"]);
  const QString name = qt(pipeline.axis);
  if (axis->findData(name) < 0) axis->insertItem(1, name, name);  // the mesh has it no more
  axis->setCurrentIndex(axis->findData(name));
  auto* schedule = qobject_cast<QComboBox*>(fields_["pipeline.schedule"]);
  if (schedule->findData(qt(pipeline.schedule)) < 0) schedule->addItem(qt(pipeline.schedule), qt(pipeline.schedule));
  schedule->setCurrentIndex(schedule->findData(qt(pipeline.schedule)));
  show_value(fields_["pipeline.chunks"], pipeline.chunks);
  QStringList layers;
  for (const int64_t count : pipeline.layers) layers << QString::number(count);
  auto* line = qobject_cast<QLineEdit*>(fields_["pipeline.layers"]);
  if (!line->hasFocus() || layers_of(line->text()) != pipeline.layers) line->setText(layers.join(", "));
  const bool is_on = !pipeline.axis.empty();
  for (const char* place : {"pipeline.schedule", "pipeline.layers"}) fields_[place]->setEnabled(is_on);
  fields_["pipeline.chunks"]->setEnabled(is_on && (pipeline.schedule == interleaved_name || pipeline.chunks > 1));
}

void SettingsPanel::take_layers(const QString& text) {
  const std::optional<std::vector<int64_t>> layers = layers_of(text);
  mark_invalid(fields_["pipeline.layers"], !layers);
  if (!layers) return fields_["pipeline.layers"]->setToolTip(tr("Whole numbers such as 2, 2"));
  PipelineConfig pipeline = workspace_.document.config().pipeline;
  if (pipeline.layers == *layers) return;
  pipeline.layers = *layers;
  set_pipeline(workspace_.document, pipeline);
}

void SettingsPanel::add_title(const QString& title, const QString& name) {
  auto* label = new QLabel(title, body_);
  label->setProperty("section", true);
  if (name.isEmpty()) return form_->addRow(label);
  auto* named = new QLabel(name, body_);
  named->setProperty("section", true);
  form_->addRow(label, named);
}

void SettingsPanel::add_group(OptionGroup which, const QString& title) {
  const NamedOptions& options = group(workspace_.document.config(), which);
  add_title(title, options.name.empty() ? tr("none") : qt(options.name));
  for (const ShownOption& option : shown_options(workspace_.document.config(), which)) {
    const QString place = group_name(which) + "." + qt(option.name), file = tr("%1 in the run file").arg(place);
    add_field(readable(option.name), place, option_field(which, option),
              option.help.empty() ? file : file + ": " + qt(option.help));
  }
}

// In the range of the key.
void SettingsPanel::add_number(const QString& label, const QString& place, int64_t value,
                               void (*set)(Document&, int64_t)) {
  WholeField* box = whole_field(value, body_);
  box->setRange(static_cast<double>(key_schema(place).find("minimum")->integer),
                std::min(WholeField::largest, static_cast<double>(key_schema(place).find("maximum")->integer)));
  connect(box, &QDoubleSpinBox::valueChanged, this,
          [this, set](double number) { set(workspace_.document, static_cast<int64_t>(number)); });
  add_field(label, place, box, key_tip(place));
}

void SettingsPanel::add_field(const QString& label, const QString& place, QWidget* field, const QString& tip) {
  field->setObjectName(place);
  guard_field(field);
  const auto close = [this] { workspace_.document.close_edit(); };
  if (auto* spin = qobject_cast<QDoubleSpinBox*>(field)) connect(spin, &QDoubleSpinBox::editingFinished, this, close);
  if (auto* line = qobject_cast<QLineEdit*>(field)) connect(line, &QLineEdit::editingFinished, this, close);
  field->setToolTip(tip);
  fields_[place] = field;
  tips_[place] = tip;
  auto* caption = new MarkedLabel(label, body_);
  caption->setBuddy(field);
  form_->addRow(caption, field);
}

QWidget* SettingsPanel::option_field(OptionGroup which, const ShownOption& option) {
  const auto& [name, value, help, choices] = option;
  if (const auto* flag = std::get_if<bool>(&value)) {
    auto* check = new QCheckBox(body_);
    check->setChecked(*flag);
    connect(check, &QCheckBox::toggled, this,
            [this, which, name = name](bool on) { set_option(workspace_.document, which, name, on); });
    return check;
  }
  if (!choices.empty() && std::holds_alternative<std::string>(value)) {
    auto* box = new QComboBox(body_);
    for (const std::string& choice : choices) box->addItem(qt(choice));
    show_value(box, value);
    connect(box, &QComboBox::textActivated, this, [this, which, name = name](const QString& text) {
      set_option(workspace_.document, which, name, text.toStdString());
    });
    return box;
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    auto* box = whole_field(*whole, body_);
    connect(box, &QDoubleSpinBox::valueChanged, this, [this, which, name = name](double number) {
      set_option(workspace_.document, which, name, static_cast<int64_t>(number));
    });
    return box;
  }
  auto* line = new FittedLine(body_);
  line->setAlignment(Qt::AlignRight);
  show_value(line, value);
  connect(line, &QLineEdit::textEdited, this, [this, line, which, name = name, like = value](const QString& text) {
    const std::optional<OptionValue> said = written_value(text, like);
    mark_invalid(line, !said);
    if (!said) line->setToolTip(tr("A number such as 0.001 or 1e-3"));
    if (said) set_option(workspace_.document, which, name, *said);
  });
  connect(line, &QLineEdit::editingFinished, this, [this] { show_config(); });
  return line;
}

void SettingsPanel::show_config() {
  if (layout_signature() != signature_) {
    in_later_iteration(this, [this] { rebuild_if_other(); });
    return;
  }
  const RunConfig& config = workspace_.document.config();
  show_value(fields_["steps"], config.steps);
  show_value(fields_["schedule.microbatches"], config.schedule.microbatches);
  show_rematerialisation(config.schedule.rematerialise);
  qobject_cast<QComboBox*>(fields_["schedule.overlap"])->setCurrentIndex(static_cast<int>(config.schedule.overlap));
  show_value(fields_["hosts"], config.hosts);
  show_zero(config.sharding.zero);
  show_pipeline(config.pipeline);
  show_value(fields_["seed"], config.seed);
  show_value(fields_["deterministic"], config.deterministic);
  for (OptionGroup which : {OptionGroup::model, OptionGroup::data, OptionGroup::optimizer})
    for (const ShownOption& option : shown_options(config, which))
      show_value(fields_[group_name(which) + "." + qt(option.name)], option.value);
  show_errors();
}

void SettingsPanel::rebuild_if_other() {
  if (layout_signature() != signature_) rebuild();
}

// Where the file leaves a value to the model, what the model says of it: as the text of an empty field.
void SettingsPanel::show_effective() {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const auto compute = fields_.find("model.compute_dtype");
  auto* type = compute == fields_.end() ? nullptr : qobject_cast<QComboBox*>(compute->second);
  if (type && plan && !workspace_.document.config().model.find("compute_dtype")) {
    type->setPlaceholderText(tr("%1 (by default)").arg(qt(std::string(name(plan->compute_type)))));
    type->setCurrentIndex(-1);
  }
  const auto length = fields_.find("data.sequence_length");
  auto* tokens = length == fields_.end() ? nullptr : qobject_cast<WholeField*>(length->second);
  const std::optional<ArrayFacts> input = array_facts(workspace_, InputRef{});
  if (!tokens || !input || input->shape.size() < 2) return;
  tokens->setMinimum(0);
  tokens->setSpecialValueText(tr("%L1 (by the model)").arg(input->shape[1]));
}

void SettingsPanel::show_errors() {
  show_effective();
  std::map<QString, QStringList> findings;
  for (const Finding& finding : workspace_.findings.list())
    findings[field_at(qt(finding.place.path))] << Findings::text_of(finding);
  for (const auto& [place, field] : fields_) {
    const QString errors = errors_text(errors_at(workspace_.planner.errors(), place));
    const QString found = findings[place].join('\n');
    static_cast<MarkedLabel*>(form_->labelForField(field))->set_mark(found);
    show_state(field, !errors.isEmpty(), found, errors.isEmpty() ? tips_[place] : errors);
  }
}

QString SettingsPanel::field_at(const QString& place) const {
  QString around, inside;
  for (int row = 0; row < form_->rowCount(); ++row) {
    const QLayoutItem* item = form_->itemAt(row, QFormLayout::FieldRole);
    const QString field = item ? item->widget()->objectName() : QString();
    if (!fields_.contains(field)) continue;
    if (is_at(place, field) && field.size() > around.size()) around = field;
    if (is_at(field, place) && inside.isEmpty()) inside = field;
  }
  return around.isEmpty() ? inside : around;
}

std::map<QString, QString> SettingsPanel::labels() const {
  std::map<QString, QString> labels;
  for (const auto& [place, field] : fields_) {
    const auto* label = qobject_cast<const QLabel*>(form_->labelForField(field));
    labels[place] = label ? label->text() : place;
  }
  return labels;
}

bool SettingsPanel::focus_place(const QString& place) {
  const auto found = fields_.find(field_at(place));
  if (found == fields_.end()) return false;
  found->second->setFocus(Qt::OtherFocusReason);
  return true;
}

}  // namespace shardscope
