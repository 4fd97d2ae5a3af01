#include "gui/window/new_run_dialog.h"

#include <QDialogButtonBox>
#include <QFormLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include "engine/base/units.h"
#include "engine/compile/compile.h"
#include "gui/document/new_run.h"
#include "gui/document/text.h"
#include "gui/look/filled_layout.h"

namespace shardscope {
namespace {

constexpr int most_devices = 16384, usual_devices = 8;

}  // namespace

NewRunDialog::NewRunDialog(QWidget* parent)
    : QDialog(parent),
      models_(new QListWidget(this)),
      optimizer_(new QComboBox(this)),
      devices_(new QSpinBox(this)),
      about_(new QLabel(this)) {
  setWindowTitle(tr("New run file"));
  models_->setObjectName("newModel");
  models_->setAccessibleName(tr("Model"));
  for (const std::string& name : model_names()) models_->addItem(qt(name));
  models_->setCurrentRow(0);
  optimizer_->setObjectName("newOptimizer");
  optimizer_->setAccessibleName(tr("Optimizer"));
  for (const std::string& name : optimizer_names()) optimizer_->addItem(qt(name), qt(name));
  optimizer_->addItem(tr("none: forward alone"), QString());
  devices_->setObjectName("newDevices");
  devices_->setAccessibleName(tr("Devices"));
  devices_->setRange(1, most_devices);
  devices_->setValue(usual_devices);
  devices_->setToolTip(
      tr("The mesh begins with one axis \u201cdata\u201d of so many devices, over which the batch is "
         "split; add axes with Mesh axes\u2026 (Ctrl+M)."));
  about_->setProperty("muted", true);
  about_->setWordWrap(true);
  auto* form = new QFormLayout;
  form->addRow(tr("&Model"), models_);
  form->addRow(tr("&Optimizer"), optimizer_);
  form->addRow(tr("&Devices"), devices_);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
  buttons->button(QDialogButtonBox::Ok)->setText(tr("&Create"));
  filled(new QVBoxLayout(this), {{form, 1}, about_, buttons});
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(models_, &QListWidget::itemDoubleClicked, this, &QDialog::accept);
  connect(models_, &QListWidget::currentRowChanged, this, &NewRunDialog::describe);
  describe();
  resize(440, 420);
  models_->setFocus();
}

QString NewRunDialog::model() const { return models_->currentItem() ? models_->currentItem()->text() : QString(); }

RunConfig NewRunDialog::config() const {
  return new_run(model().toStdString(), optimizer_->currentData().toString().toStdString(), devices_->value());
}

void NewRunDialog::describe() {
  const std::vector<ParameterInfo> parameters = list_parameters(new_run(model().toStdString(), {}, 1));
  int64_t elements = 0;
  for (const ParameterInfo& info : parameters) elements += element_count(info.type.shape);
  about_->setText(tr("%1, %2 elements at the model's defaults, which Settings changes.")
                      .arg(counted_text(std::ssize(parameters), "array"))
                      .arg(qt(count_text(double(elements)))));
}

}  // namespace shardscope
