#include "gui/export/export_dialog.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QMessageBox>
#include <QStandardItemModel>
#include <QToolButton>

#include "gui/document/text.h"

namespace shardscope {
namespace {

QSpinBox* add_size(QWidget* parent, QHBoxLayout& row, const QString& name, int value, int most, const QString& tip) {
  auto* box = new QSpinBox(parent);
  box->setObjectName(name);
  box->setRange(1, most);
  box->setValue(value);
  box->setToolTip(tip);
  box->setAccessibleName(tip);
  row.addWidget(box);
  return box;
}

}  // namespace

ExportDialog::ExportDialog(const QString& folder, const QString& name, const QString& page, bool has_run,
                           const ExportWish& last, const std::vector<ExportKind>& more, QWidget* parent)
    : QDialog(parent),
      folder_(folder),
      name_(name),
      page_(page),
      kinds_(new QComboBox(this)),
      pages_(new QComboBox(this)),
      pages_label_(new QLabel(tr("&Of"), this)),
      picture_(new QWidget(this)),
      picture_label_(new QLabel(tr("&Size"), this)),
      path_(new QLineEdit(this)),
      what_(new QLabel(this)) {
  setObjectName("exportDialog");
  setWindowTitle(tr("Export"));
  kinds_->setObjectName("exportKind");
  kinds_->setToolTip(tr("What is written."));
  for (const ExportKind& kind : export_kinds()) all_.push_back(&kind);
  for (const ExportKind& kind : more) all_.push_back(&kind);
  for (const ExportKind* each : all_) {
    const ExportKind& kind = *each;
    kinds_->addItem(QString("%1 \u2013 %2").arg(qt(kind.name), qt(kind.what)), qt(kind.name));
    if (!kind.needs_run || has_run) continue;
    auto* item = qobject_cast<QStandardItemModel*>(kinds_->model())->item(kinds_->count() - 1);
    item->setEnabled(false);
    item->setToolTip(tr("Of a run: train first."));
  }
  pages_->setObjectName("exportPage");
  pages_->setToolTip(tr("Which page or part of the plan."));
  path_->setObjectName("exportPath");
  path_->setToolTip(tr("The file or folder that is written, named exactly so."));
  path_->setMinimumWidth(360);
  what_->setWordWrap(true);

  auto* sizes = new QHBoxLayout(picture_);
  sizes->setContentsMargins(0, 0, 0, 0);
  width_ =
      add_size(picture_, *sizes, "exportWidth", last.size.width(), largest_picture_side,
               tr("Least width in pixels of a screen of 96 dpi; the picture is larger where its content needs that"));
  sizes->addWidget(new QLabel(QString("\u00d7"), picture_));
  height_ =
      add_size(picture_, *sizes, "exportHeight", last.size.height(), largest_picture_side, tr("Least height likewise"));
  scale_ = add_size(picture_, *sizes, "exportScale", last.scale, 8, tr("PNG: pixels of the file for each of these"));
  scale_->setPrefix(QString("\u00d7 "));
  sizes->addStretch();

  auto* browse_button = new QToolButton(this);
  browse_button->setObjectName("exportBrowse");
  browse_button->setText(QString("\u2026"));
  browse_button->setToolTip(tr("Choose the place"));
  auto* place = new QHBoxLayout;
  place->addWidget(path_, 1);
  place->addWidget(browse_button);

  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
  export_ = buttons->addButton(tr("&Export"), QDialogButtonBox::AcceptRole);
  export_->setObjectName("exportStart");
  export_->setDefault(true);

  auto* form = new QFormLayout(this);
  form->addRow(tr("&Kind"), kinds_);
  form->addRow(pages_label_, pages_);
  form->addRow(picture_label_, picture_);
  pages_label_->setBuddy(pages_);
  picture_label_->setBuddy(width_);
  form->addRow(tr("&Where"), place);
  static_cast<QLabel*>(form->labelForField(place))->setBuddy(path_);
  form->addRow(what_);
  form->addRow(buttons);

  connect(kinds_, &QComboBox::currentIndexChanged, this, &ExportDialog::follow_kind);
  connect(pages_, &QComboBox::currentIndexChanged, this, &ExportDialog::follow_fields);
  connect(path_, &QLineEdit::textEdited, this, [this] { named_ = true; });
  connect(path_, &QLineEdit::textChanged, this, [this] {
    overwrite_ = false;
    export_->setEnabled(!path_->text().trimmed().isEmpty());
  });
  connect(browse_button, &QToolButton::clicked, this, &ExportDialog::browse);
  connect(buttons, &QDialogButtonBox::accepted, this, &ExportDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  const bool is_table = !more.empty() && (!last.kind || last.kind->extension == more.front().extension);
  const int chosen = kinds_->findData(is_table    ? qt(more.front().name)
                                      : last.kind ? qt(last.kind->name)
                                                  : QString("svg"));
  kinds_->setCurrentIndex(std::max(chosen, 0));
  named_ = last.is_named;
  if (named_) path_->setText(last.path);
  follow_kind();
}

const ExportKind& ExportDialog::kind() const { return *all_[static_cast<size_t>(std::max(kinds_->currentIndex(), 0))]; }

void ExportDialog::follow_kind() {
  const ExportKind& chosen = kind();
  const QString before = pages_->currentText().isEmpty() ? page_ : pages_->currentText();
  pages_->clear();
  for (const std::string& page : chosen.pages) pages_->addItem(qt(page));
  const int same = pages_->findText(before), seen = pages_->findText(page_);
  if (pages_->count() > 0) pages_->setCurrentIndex(std::max(same >= 0 ? same : seen, 0));
  for (QWidget* widget : {static_cast<QWidget*>(pages_), static_cast<QWidget*>(pages_label_)})
    widget->setVisible(!chosen.pages.empty());
  for (QWidget* widget : {picture_, static_cast<QWidget*>(picture_label_)}) widget->setVisible(chosen.is_picture);
  scale_->setVisible(chosen.name == "png");
  what_->setText(tr("Writes %1.").arg(qt(chosen.what)));
  follow_fields();
}

void ExportDialog::follow_fields() {
  if (!named_) path_->setText(suggested());
}

QString ExportDialog::suggested() const {
  const ExportKind& chosen = kind();
  const bool is_of_page = kinds_->currentIndex() >= std::ssize(export_kinds());  // that is seen, alone
  const QString of = is_of_page ? page_ : pages_->currentText().isEmpty() ? qt(chosen.name) : pages_->currentText();
  const QString name = name_ + "_" + of;
  return QDir(folder_).filePath(chosen.extension.empty() ? name : name + "." + qt(chosen.extension));
}

void ExportDialog::browse() {
  const ExportKind& chosen = kind();
  const QString filter = chosen.extension.empty() ? tr("Folders (*)") : QString("*.%1").arg(qt(chosen.extension));
  const QString path = QFileDialog::getSaveFileName(this, tr("Export"), path_->text(), filter + ";;" + tr("All (*)"));
  if (path.isEmpty()) return;
  named_ = true;
  path_->setText(path);
  overwrite_ = true;  // the file dialog has asked
}

void ExportDialog::accept() {
  if (!overwrite_ && QFileInfo::exists(path_->text())) {
    const auto answer = QMessageBox::question(this, tr("Export"), tr("%1 exists.").arg(path_->text()),
                                              QMessageBox::Save | QMessageBox::Cancel, QMessageBox::Cancel);
    if (answer != QMessageBox::Save) return;
    overwrite_ = true;
  }
  QDialog::accept();
}

ExportWish ExportDialog::wish() const {
  ExportWish wish{&kind(),    {},    path_->text().trimmed(), {width_->value(), height_->value()}, scale_->value(),
                  overwrite_, named_};
  wish.choice.page = pages_->currentText().toStdString();
  return wish;
}

}  // namespace shardscope
