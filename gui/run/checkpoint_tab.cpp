#include "gui/run/checkpoint_tab.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>

#include "engine/base/units.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/look/filled_layout.h"
#include "gui/look/row_table.h"

namespace shardscope {
namespace {

enum Column { step_column, mesh_column, size_column, state_column, columns };
constexpr int pause_ms = 2000;

QSpinBox* make_number(const QString& name, int least, int value, const QString& tip) {
  auto* box = new QSpinBox;
  box->setObjectName(name);
  box->setRange(least, std::numeric_limits<int>::max());
  box->setValue(value);
  box->setToolTip(tip);
  box->setAccessibleName(tip);
  guard_field(box);
  return box;
}

}  // namespace

CheckpointTab::CheckpointTab(RunControl& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      folder_(new QLineEdit(this)),
      every_(make_number("saveEvery", 0, 100, tr("A checkpoint after so many steps; each run keeps its end, too."))),
      keep_(make_number("keepCheckpoints", 1, 3, tr("So many checkpoints remain, the newest."))),
      restarts_(
          make_number("restarts", 0, 0,
                      tr("So often the ranks are started again after one was lost: from the newest checkpoint, or "
                         "anew where there is none."))),
      table_(new QTableWidget(0, columns, this)),
      resume_(new QPushButton(tr("Resume"), this)) {
  folder_->setObjectName("checkpointFolder");
  folder_->setAccessibleName(tr("checkpoint folder"));
  folder_->setPlaceholderText(tr("No checkpoints are written"));
  folder_->setToolTip(tr("The folder of this run's checkpoints. Training that begins needs one without any."));
  every_->setSpecialValueText(tr("at the end"));
  every_->setSuffix(tr(" steps"));
  restarts_->setMaximum(99);
  resume_->setObjectName("resume");
  resume_->setToolTip(tr("Goes on with the plan that is shown, on its mesh, from the selected checkpoint."));
  auto* choose = new QPushButton(tr("Choose\u2026"), this);
  choose->setToolTip(tr("Chooses the folder of checkpoints."));

  table_->setObjectName("checkpoints");
  table_->setAccessibleName(tr("checkpoints"));
  table_->setHorizontalHeaderLabels({tr("Step"), tr("Written on"), tr("Size"), tr("State")});
  set_row_table(*table_, 23);
  table_->horizontalHeader()->setSectionResizeMode(state_column, QHeaderView::Stretch);
  table_->setColumnWidth(mesh_column, 180);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);

  auto* bar = filled(bordered(new QHBoxLayout, {8, 6, 8, 4}), {new QLabel(tr("Folder"), this),
                                                               {folder_, 1},
                                                               choose,
                                                               new QLabel(tr("Save every"), this),
                                                               every_,
                                                               new QLabel(tr("Keep"), this),
                                                               keep_,
                                                               new QLabel(tr("Restarts"), this),
                                                               restarts_,
                                                               resume_});
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addLayout(bar);
  layout->addWidget(table_, 1);

  connect(choose, &QPushButton::clicked, this, &CheckpointTab::choose_folder);
  connect(folder_, &QLineEdit::editingFinished, this, &CheckpointTab::take_settings);
  connect(every_, &QSpinBox::valueChanged, this, &CheckpointTab::take_settings);
  connect(keep_, &QSpinBox::valueChanged, this, &CheckpointTab::take_settings);
  connect(restarts_, &QSpinBox::valueChanged, this, &CheckpointTab::take_settings);
  connect(table_, &QTableWidget::itemSelectionChanged, this, &CheckpointTab::show_selected);
  connect(resume_, &QPushButton::clicked, this, [this] { emit resumeWanted(selected()); });
  connect(&run_, &RunControl::stateChanged, this, &CheckpointTab::refresh);
  pause_.setSingleShot(true);
  pause_.setInterval(pause_ms);
  connect(&run_, &RunControl::received, this, [this] {
    if (isVisible() && !pause_.isActive()) pause_.start();
  });
  connect(&pause_, &QTimer::timeout, this, &CheckpointTab::refresh);
  take_settings();
}

void CheckpointTab::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

void CheckpointTab::set_folder(const QString& folder) {
  folder_->setText(folder);
  take_settings();
}

void CheckpointTab::choose_folder() {
  const QString chosen = QFileDialog::getExistingDirectory(this, tr("Folder of checkpoints"), folder_->text());
  if (!chosen.isEmpty()) set_folder(chosen);
}

void CheckpointTab::take_settings() {
  run_.set_checkpoints({folder_->text(), every_->value(), keep_->value(), restarts_->value()});
  refresh();
}

// A checkpoint does not change once it has its name.
void CheckpointTab::refresh() {
  std::vector<FoundCheckpoint> found;
  try {
    if (!folder_->text().isEmpty()) found = list_checkpoints(folder_->text().toStdString());
    mark_invalid(folder_, false);
  } catch (const Failure&) {
    mark_invalid(folder_, true);
  }
  std::ranges::reverse(found);
  if (found != shown_) {
    // The newest, but where another one was chosen.
    const QString chosen = table_->currentRow() > 0 ? selected() : QString();
    shown_ = std::move(found);
    table_->setRowCount(static_cast<int>(shown_.size()));
    for (int row = 0; row < table_->rowCount(); ++row) show_row(row, shown_[static_cast<size_t>(row)]);
    const auto again = std::ranges::find(shown_, chosen.toStdString(), &FoundCheckpoint::path);
    if (!shown_.empty()) table_->selectRow(again == shown_.end() ? 0 : static_cast<int>(again - shown_.begin()));
  }
  show_selected();
}

void CheckpointTab::show_row(int row, const FoundCheckpoint& checkpoint) {
  QStringList cells{QString::number(checkpoint.step)};
  try {
    const CheckpointIndex index = CheckpointReader(checkpoint.path).index();
    cells << qt(index.mesh) << qt(bytes_text(static_cast<double>(index.bytes()))) << qt(index.model);
  } catch (const Failure& failure) {
    const bool is_gone = is_removed(checkpoint.path);
    cells << QString() << QString() << (is_gone ? tr("removed meanwhile") : tr("damaged: %1").arg(qt(failure.what())));
  }
  for (int column = 0; column < columns; ++column) {
    auto* item = new QTableWidgetItem(cells[column]);
    item->setToolTip(cells[column]);
    table_->setItem(row, column, item);
  }
}

QString CheckpointTab::selected() const {
  const int row = table_->currentRow();
  return row < 0 || row >= static_cast<int>(shown_.size()) ? QString() : qt(shown_[static_cast<size_t>(row)].path);
}

void CheckpointTab::show_selected() { resume_->setEnabled(!selected().isEmpty() && !run_.is_active()); }

}  // namespace shardscope
