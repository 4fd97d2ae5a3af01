#include "gui/panels/mesh_dialog.h"

#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {

MeshDialog::MeshDialog(const RunConfig& config, QWidget* parent)
    : QDialog(parent),
      config_(config),
      table_(new QTableWidget(0, 2, this)),
      verdict_(new QLabel(this)),
      buttons_(new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this)) {
  setWindowTitle(tr("Mesh axes"));
  table_->setHorizontalHeaderLabels({tr("Name"), tr("Size")});
  table_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  table_->verticalHeader()->hide();
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  for (const MeshAxis& axis : config.mesh_axes) add_row(axis, axis.name);
  connect(table_, &QTableWidget::itemChanged, this, &MeshDialog::check);

  auto* side = new QVBoxLayout;
  const auto button = [&](const QString& text, auto action) {
    auto* made = new QPushButton(text, this);
    connect(made, &QPushButton::clicked, this, action);
    side->addWidget(made);
  };
  button(tr("&Add"), [this] {
    add_row({"axis" + std::to_string(table_->rowCount()), 1}, {});
    check();
  });
  button(tr("&Remove"), [this] {
    if (table_->currentRow() >= 0) table_->removeRow(table_->currentRow());
    check();
  });
  button(tr("Move &up"), [this] { move_row(-1); });
  button(tr("Move &down"), [this] { move_row(1); });
  side->addStretch();

  auto* body = new QHBoxLayout;
  body->addWidget(table_, 1);
  body->addLayout(side);
  verdict_->setWordWrap(true);
  connect(buttons_, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons_, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(new QLabel(tr("Outermost axis first. Specs and rules follow an axis to its new name."), this));
  layout->addLayout(body, 1);
  layout->addWidget(verdict_);
  layout->addWidget(buttons_);
  resize(420, 300);
  check();
}

std::vector<MeshAxis> MeshDialog::axes() const {
  std::vector<MeshAxis> axes;
  for (int row = 0; row < table_->rowCount(); ++row) {
    const QTableWidgetItem* name = table_->item(row, 0);
    const QTableWidgetItem* size = table_->item(row, 1);
    axes.push_back({name ? name->text().trimmed().toStdString() : "", size ? size->text().toLongLong() : 0});
  }
  return axes;
}

std::vector<std::string> MeshDialog::names_before() const {
  std::vector<std::string> names;
  for (int row = 0; row < table_->rowCount(); ++row)
    names.push_back(table_->item(row, 0)->data(Qt::UserRole).toString().toStdString());
  return names;
}

void MeshDialog::add_row(const MeshAxis& axis, const std::string& before) {
  const int row = table_->rowCount();
  table_->insertRow(row);
  auto* name = new QTableWidgetItem(qt(axis.name));
  name->setData(Qt::UserRole, qt(before));
  table_->setItem(row, 0, name);
  auto* size = new QTableWidgetItem(QString::number(axis.size));
  size->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  table_->setItem(row, 1, size);
}

void MeshDialog::move_row(int by) {
  const int from = table_->currentRow(), to = from + by;
  if (from < 0 || to < 0 || to >= table_->rowCount()) return;
  for (int column = 0; column < 2; ++column) {
    QTableWidgetItem* item = table_->takeItem(from, column);
    table_->setItem(from, column, table_->takeItem(to, column));
    table_->setItem(to, column, item);
  }
  table_->setCurrentCell(to, 0);
}

void MeshDialog::check() {
  QString text;
  bool legal = true;
  try {
    const Mesh mesh(axes());
    text = mesh.device_count() == 1 ? tr("1 device") : tr("%1 devices").arg(mesh.device_count());
    if (loses_device_order(config_, axes()))
      text += tr("<br>The order of the devices goes back to 0, 1, 2\u2026: it was for %1 of them.")
                  .arg(config_.mesh_devices.size());
  } catch (const Failure& failure) {
    legal = false;
    text = in_color(theme().error, errors_text(failure.errors()).toHtmlEscaped());
  }
  verdict_->setText(text);
  buttons_->button(QDialogButtonBox::Ok)->setEnabled(legal);
}

}  // namespace shardscope
