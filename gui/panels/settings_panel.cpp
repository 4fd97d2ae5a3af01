#include "gui/panels/settings_panel.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>

#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/look/fitted_fields.h"
#include "gui/look/marked_label.h"
#include "gui/planning/later_iteration.h"
#include "gui/workspace/array_facts.h"

namespace shardscope {

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
    if (field.widget->hasFocus()) focused = place;
    field.widget->blockSignals(true);
  }
  // The field that brought this about may still be at it.
  if (body_) {
    holder_->layout()->removeWidget(body_);
    body_->hide();
    body_->deleteLater();
  }
  signature_ = layout_signature();
  fields_.clear();
  body_ = new QWidget(holder_);  // at once in its place: to move a form gives each of its fields its style anew
  form_ = new QFormLayout(body_);
  form_->setContentsMargins(10, 8, 10, 10);
  form_->setVerticalSpacing(5);
  form_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form_->setLabelAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  Document& document = workspace_.document;
  add_title(tr("Run"));
  add_fields(run_fields(document, body_));
  add_title(tr("Pipeline"));
  add_fields(pipeline_fields(document, body_));
  for (const auto& [which, title] : {std::pair(OptionGroup::optimizer, tr("Optimizer")),
                                     {OptionGroup::data, tr("Data")},
                                     {OptionGroup::model, tr("Model")}}) {
    const NamedOptions& options = group(document.config(), which);
    add_title(title, options.name.empty() ? tr("none") : qt(options.name));
    add_fields(option_fields(document, which, body_, [this] { show_config(); }));
  }
  show_values();
  holder_->layout()->addWidget(body_);
  body_->installEventFilter(this);
  wrap_rows();
  body_->show();
  if (!focused.isEmpty()) focus_place(focused);
  show_errors();
}

void SettingsPanel::add_title(const QString& title, const QString& name) {
  auto* label = new QLabel(title, body_);
  label->setProperty("section", true);
  if (name.isEmpty()) return form_->addRow(label);
  auto* named = new QLabel(name, body_);
  named->setProperty("section", true);
  form_->addRow(label, named);
}

void SettingsPanel::add_fields(std::vector<SettingsField> fields) {
  const auto close = [this] { workspace_.document.close_edit(); };
  for (SettingsField& field : fields) {
    field.widget->setObjectName(field.place);
    field.widget->setToolTip(field.tip);
    guard_field(field.widget);
    if (auto* spin = qobject_cast<QDoubleSpinBox*>(field.widget))
      connect(spin, &QDoubleSpinBox::editingFinished, this, close);
    if (auto* line = qobject_cast<QLineEdit*>(field.widget)) connect(line, &QLineEdit::editingFinished, this, close);
    auto* caption = new MarkedLabel(field.label, body_);
    caption->setBuddy(field.widget);
    form_->addRow(caption, field.widget);
    fields_[field.place] = std::move(field);
  }
}

void SettingsPanel::show_values() {
  for (const auto& [place, field] : fields_) {
    const QSignalBlocker block(field.widget);
    field.show(workspace_.document.config());
  }
}

void SettingsPanel::show_config() {
  if (layout_signature() != signature_) {
    in_later_iteration(this, [this] { rebuild_if_other(); });
    return;
  }
  show_values();
  show_errors();
}

void SettingsPanel::rebuild_if_other() {
  if (layout_signature() != signature_) rebuild();
}

// Where the file leaves a value to the model, what the model says of it: as the text of an empty field.
void SettingsPanel::show_effective() {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const auto compute = fields_.find("model.compute_dtype");
  auto* type = compute == fields_.end() ? nullptr : qobject_cast<QComboBox*>(compute->second.widget);
  if (type && plan && !workspace_.document.config().model.find("compute_dtype")) {
    type->setPlaceholderText(tr("%1 (by default)").arg(qt(std::string(name(plan->compute_type)))));
    type->setCurrentIndex(-1);
  }
  const auto length = fields_.find("data.sequence_length");
  auto* tokens = length == fields_.end() ? nullptr : qobject_cast<WholeField*>(length->second.widget);
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
    static_cast<MarkedLabel*>(form_->labelForField(field.widget))->set_mark(found);
    show_state(field.widget, !errors.isEmpty(), found, errors.isEmpty() ? field.tip : errors);
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
  for (const auto& [place, field] : fields_) labels[place] = field.label;
  return labels;
}

bool SettingsPanel::focus_place(const QString& place) {
  const auto found = fields_.find(field_at(place));
  if (found == fields_.end()) return false;
  found->second.widget->setFocus(Qt::OtherFocusReason);
  return true;
}

}  // namespace shardscope
