#include "gui/window/mesh_bar.h"

#include <QMenu>
#include <QSignalBlocker>
#include <algorithm>
#include <limits>

#include "engine/mesh/device_count.h"
#include "engine/mesh/mesh.h"
#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/window/axis_field.h"

namespace shardscope {
namespace {

QString axis_place(size_t axis) { return QString("mesh.axes[%1]").arg(axis); }

}  // namespace

MeshBar::MeshBar(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      legal_(workspace.planner.source()),
      layout_(new QHBoxLayout(this)),
      title_(new QLabel(tr("Mesh"), this)),
      add_(new QToolButton(this)),
      total_(new QLabel(this)) {
  layout_->setContentsMargins(6, 0, 6, 0);
  layout_->setSpacing(6);
  title_->setToolTip(tr("The mesh is a grid of devices with named axes; each device is one training process (rank)."));
  layout_->addWidget(title_);
  add_->setObjectName("addAxis");
  add_->setText("+");
  add_->setAccessibleName(tr("add a mesh axis"));
  add_->setToolTip(tr("Adds an axis of 2 to the mesh. Names, order, hosts and removal: Plan, Mesh axes (Ctrl+M)."));
  add_->setPopupMode(QToolButton::InstantPopup);
  add_->setMenu(new QMenu(add_));
  connect(add_->menu(), &QMenu::aboutToShow, this, &MeshBar::offer_axes);
  layout_->addWidget(add_);
  layout_->addWidget(total_);
  connect(&workspace.document, &Document::configChanged, this, &MeshBar::show_config);
  connect(&workspace.document, &Document::configChanged, this,
          [this] { edited_axis_ = std::exchange(editing_axis_, -1); });
  connect(&workspace.planner, &Planner::delivered, this, &MeshBar::show_errors);
  connect(&workspace.findings, &Findings::changed, this, &MeshBar::show_errors);
  connect(&legal_, &LegalSizes::known, this, &MeshBar::show_errors);
  connect(&look(), &Look::changed, this, &MeshBar::name_axes);
  show_config();
}

bool MeshBar::focus_place(const QString& place) {
  if (!is_at(place, "mesh") || fields_.empty()) return false;
  size_t axis = 0;
  for (size_t i = 0; i < fields_.size(); ++i)
    if (is_at(place, axis_place(i))) axis = i;
  fields_[axis]->setFocus(Qt::OtherFocusReason);
  fields_[axis]->selectAll();
  return true;
}

void MeshBar::set_compact(bool compact) {
  if (compact_ == compact) return;
  compact_ = compact;
  title_->setVisible(!compact);
  layout_->setContentsMargins(compact ? 0 : 6, 0, compact ? 0 : 6, 0);
  layout_->setSpacing(compact ? 4 : 6);
  show_config();
}

void MeshBar::offer_axes() {
  add_->menu()->clear();
  for (const char* name : {"data", "model", "sequence", "expert", "pipeline"})
    if (std::ranges::find(names_, name) == names_.end())
      add_->menu()->addAction(tr("%1 = 2").arg(name), this, [this, name] { add_axis(name); });
  std::string other = "axis";
  for (int number = 2; std::ranges::find(names_, other) != names_.end(); ++number)
    other = "axis" + std::to_string(number);
  add_->menu()->addAction(tr("%1 = 2").arg(qt(other)), this, [this, other] { add_axis(other); });
  add_->menu()->addSeparator();
  if (!workspace_.document.config().strategy)
    add_->menu()->addAction(tr("A strategy instead"), this, [this] { begin_strategy(workspace_.document); });
  if (QAction* dialog = window()->findChild<QAction*>("meshAxes")) add_->menu()->addAction(dialog);
}

void MeshBar::add_axis(const std::string& name) {
  std::vector<MeshAxis> axes = workspace_.document.config().mesh_axes;
  axes.push_back({name, 2});
  set_mesh_axes(workspace_.document, std::move(axes));
  fields_.back()->setFocus(Qt::OtherFocusReason);
  fields_.back()->selectAll();
}

void MeshBar::make_fields() {
  for (QWidget* part : parts_) delete part;
  parts_.clear();
  fields_.clear();
  labels_.clear();
  const auto& axes = workspace_.document.config().mesh_axes;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = static_cast<int>(i);
    if (i > 0) parts_.push_back(new QLabel(QString(QChar(0x00d7)), this));
    auto* label = new MarkedLabel({}, this);
    labels_.push_back(label);
    auto* box = new AxisField([this, axis](int64_t size, bool up) { return legal_.next(axis, size, up); }, this);
    connect(box, &AxisField::entered, this,
            [this, axis] { legal_.request(workspace_.document.shared_config(), axis); });
    box->setObjectName("axis_" + qt(axes[i].name));
    box->setAccessibleName(tr("size of mesh axis %1").arg(qt(axes[i].name)));
    box->setMinimum(0);
    box->setAlignment(Qt::AlignRight);
    label->setBuddy(box);
    guard_field(box);
    connect(box, &QSpinBox::editingFinished, this, [this] { workspace_.document.close_edit(); });
    parts_.push_back(label);
    parts_.push_back(box);
    fields_.push_back(box);
    connect(box, &QSpinBox::valueChanged, this, [this, axis](int size) {
      editing_axis_ = axis;
      set_axis_size(workspace_.document, axis, size);
      editing_axis_ = -1;
    });
  }
  int at = 1;
  for (QWidget* part : parts_) layout_->insertWidget(at++, part);
  for (QSpinBox* field : fields_) field->show();
  name_axes();
}

void MeshBar::name_axes() {
  for (size_t i = 0; i < labels_.size(); ++i)
    labels_[i]->setText(in_color(axis_color(static_cast<AxisIndex>(i), theme()), QString(QChar(0x25a0))) + " " +
                        qt(names_[i]).toHtmlEscaped());
}

void MeshBar::show_config() {
  const auto& axes = workspace_.document.config().mesh_axes;
  std::vector<std::string> names;
  for (const MeshAxis& axis : axes) names.push_back(axis.name);
  const int64_t devices = device_count(axes);
  if (names != names_) {
    names_ = names;
    make_fields();
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const QSignalBlocker block(fields_[i]);
    const int64_t size = std::min<int64_t>(axes[i].size, std::numeric_limits<int>::max());
    fields_[i]->setMaximum(static_cast<int>(std::max(size, Mesh::max_devices)));
    fields_[i]->setValue(static_cast<int>(size));
    const int digits = size < 1000 ? 0 : size < 100'000 ? 24 : 60;
    fields_[i]->setFixedWidth(compact_ ? 60 + digits : 72);
  }
  for (size_t i = 0; i < axes.size(); ++i)
    if (fields_[i]->hasFocus() || fields_[i]->underMouse())
      legal_.request(workspace_.document.shared_config(), static_cast<int>(i));
  const QString words = tr("= %1").arg(counted_text(devices, "device"));
  total_->setText(compact_ ? QString("= %1").arg(devices) : words);
  total_->setToolTip(words);
  show_errors();
}

void MeshBar::show_errors() {
  const std::vector<Error>& errors = workspace_.planner.errors();
  for (size_t i = 0; i < fields_.size(); ++i) {
    std::vector<Error> here = errors_at(errors, axis_place(i));
    if (here.empty() && edited_axis_ == static_cast<int>(i) && !workspace_.planner.is_busy()) here = errors;
    const bool invalid = !here.empty();
    if (here.size() > 4) here.resize(4);
    const QString found = workspace_.findings.text_at(axis_place(i));
    labels_[i]->set_mark(compact_ ? QString() : found);
    QString tip = invalid ? errors_text(here)
                          : tr("Number of devices along mesh axis %1. Up and Down change it.").arg(qt(names_[i]));
    const auto sizes = legal_.of(static_cast<int>(i));
    if (sizes && !sizes->empty()) tip += "\n" + tr("%1 may be %2.").arg(qt(names_[i]), sizes_text(*sizes));
    show_state(fields_[i], invalid, found, tip);
  }
}

}  // namespace shardscope
