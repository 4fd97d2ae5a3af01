#include "gui/compare/sweep_tab.h"

#include <QHeaderView>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/mesh/device_count.h"
#include "gui/compare/factorisations.h"
#include "gui/document/edits.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/look/filled_layout.h"
#include "gui/look/in_picture.h"
#include "gui/look/key_help.h"
#include "gui/look/row_table.h"

namespace shardscope {
namespace {

constexpr size_t most_meshes = 256;
constexpr int most_devices = 65536;

}  // namespace

SweepTab::SweepTab(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      sweep_(workspace.planner.source()),
      model_(new SweepModel(sweep_, workspace.document, this)),
      sorted_(new QSortFilterProxyModel(this)),
      devices_(new QSpinBox(this)),
      axes_line_(new QHBoxLayout),
      plan_(new QPushButton(this)),
      take_(new QPushButton(tr("Take this mesh"), this)),
      progress_(new QProgressBar(this)),
      table_(new QTableView(this)),
      note_(new FooterNote(this)),
      none_(new EmptyNote(this)) {
  devices_->setObjectName("sweepDevices");
  devices_->setProperty("silent", true);  // in a picture: the meshes say it
  devices_->setAccessibleName(tr("Number of devices"));
  devices_->setRange(1, most_devices);
  devices_->setToolTip(tr("How many devices are laid out over the axes."));
  guard_field(devices_);
  plan_->setObjectName("sweepStart");
  take_->setObjectName("sweepTake");
  take_->setToolTip(tr("The document has the selected mesh (Enter or double click); undo brings the other one back."));
  progress_->setObjectName("sweepProgress");
  progress_->setTextVisible(false);
  progress_->setMaximumWidth(140);
  progress_->setMaximumHeight(10);
  progress_->setAccessibleName(tr("Meshes that are planned"));
  sorted_->setSourceModel(model_);
  sorted_->setSortRole(SweepModel::sort_role);
  table_->setObjectName("sweep");
  table_->setAccessibleName(tr("Meshes"));
  table_->setModel(sorted_);
  table_->setSortingEnabled(true);
  table_->sortByColumn(SweepModel::time_column, Qt::AscendingOrder);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setWordWrap(false);
  table_->setAlternatingRowColors(true);
  set_row_table(*table_, 24, {190, 96, 110, 96, 86, 120});
  table_->horizontalHeader()->setStretchLastSection(true);
  set_key_help(table_, tr("Meshes"), {{tr("Enter"), tr("take the selected mesh")}});
  none_->setText(
      tr("<b>Which mesh is best?</b><br>Plan all ways to lay these devices out over the axes, and compare "
         "memory, traffic and time."));

  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(10, 8, 10, 6);
  auto* label = new QLabel(tr("Devices"), this);
  label->setBuddy(devices_);
  bar->addWidget(label);
  bar->addWidget(devices_);
  bar->addLayout(axes_line_);
  bar->addStretch(1);
  bar->addWidget(progress_);
  bar->addWidget(plan_);
  bar->addWidget(take_);
  filled(tight(new QVBoxLayout(this)), {bar, {table_, 1}, {none_, 1}, note_});

  connect(plan_, &QPushButton::clicked, this, [this] { sweep_.is_running() ? sweep_.cancel() : start(); });
  connect(take_, &QPushButton::clicked, this, [this] { take(table_->currentIndex()); });
  connect(table_, &QTableView::activated, this, &SweepTab::take);
  connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this, &SweepTab::show_state);
  connect(devices_, &QSpinBox::valueChanged, this, &SweepTab::show_state);
  connect(&workspace.document, &Document::replaced, &sweep_, &PlanSweep::forget);
  connect(&workspace.document, &Document::configChanged, this, [this] {
    make_axes();
    show_state();
  });
  for (const auto signal : {&PlanSweep::started, &PlanSweep::ended})
    connect(&sweep_, signal, this, &SweepTab::show_state);
  connect(&sweep_, &PlanSweep::planned, this, &SweepTab::show_state);
  connect(&workspace.planner, &Planner::delivered, this, &SweepTab::show_state);
  connect(&look(), &Look::changed, this, &SweepTab::show_state);
  make_axes();
  show_state();
}

void SweepTab::make_axes() {
  const RunConfig& config = workspace_.document.config();
  std::vector<std::string> names;
  for (const MeshAxis& axis : config.mesh_axes) names.push_back(axis.name);
  if (names != axis_names_) {
    axis_names_ = names;
    for (QCheckBox* box : keep_) delete box;
    keep_.clear();
    for (const std::string& name : names) {
      auto* box = new QCheckBox(tr("keep %1").arg(qt(name)), this);
      box->setToolTip(tr("This axis keeps its size."));
      box->setChecked(name == config.pipeline.axis);
      connect(box, &QCheckBox::toggled, this, &SweepTab::show_state);
      axes_line_->addWidget(box);
      keep_.push_back(box);
    }
  }
  const int64_t devices = device_count(config.mesh_axes);
  if (devices == mesh_devices_ || sweep_.is_running()) return;
  mesh_devices_ = devices;
  const QSignalBlocker block(devices_);
  devices_->setValue(static_cast<int>(std::min<int64_t>(devices, most_devices)));
}

std::vector<bool> SweepTab::fixed() const {
  std::vector<bool> fixed;
  for (const QCheckBox* box : keep_) fixed.push_back(box->isChecked());
  return fixed;
}

void SweepTab::start() {
  swept_ = workspace_.document.config();
  std::vector<RunConfig> configs;
  for (std::vector<MeshAxis>& axes : factorisations(devices_->value(), swept_.mesh_axes, fixed(), most_meshes))
    configs.push_back(with_mesh_axes(swept_, std::move(axes)));
  sweep_.start(std::move(configs));
}

// The mesh aside, and whether a strategy says it.
bool SweepTab::is_of_shown_config() const {
  const auto rest = [](const RunConfig& config) {
    RunConfig without = with_mesh_axes(config, {});
    without.strategy.reset();
    return without;
  };
  return rest(swept_) == rest(workspace_.document.config());
}

void SweepTab::show_state() {
  const bool running = sweep_.is_running(), any = !sweep_.plans().empty();
  const int64_t count = factorisation_count(devices_->value(), workspace_.document.config().mesh_axes, fixed());
  plan_->setText(running ? tr("Cancel")
                         : tr("Plan %1").arg(counted_text(std::min<int64_t>(count, most_meshes), "mesh", "meshes")));
  plan_->setEnabled(running || count > 0);
  plan_->setToolTip(running ? tr("Ends the planning; what is known stays.")
                            : tr("Plans every mesh in the background."));
  progress_->setVisible(running);
  progress_->setRange(0, static_cast<int>(sweep_.plans().size()));
  progress_->setValue(sweep_.done());
  table_->setVisible(any);
  none_->setVisible(!any);
  take_->setEnabled(any && table_->currentIndex().isValid() && is_of_shown_config());
  const bool is_old = any && !is_of_shown_config();
  table_->setEnabled(!is_old);
  note_->set_out_of_date(is_old);
  if (running) {
    note_->setText(
        tr("planned: %1 of %2").arg(sweep_.done()).arg(counted_text(std::ssize(sweep_.plans()), "mesh", "meshes")));
  } else if (const QString error = selected_error(); !error.isEmpty() && !is_old) {
    note_->setText(tr("The selected mesh cannot be: %1").arg(error));
  } else if (is_old) {
    note_->setText(tr("Out of date: %1, its machine or hosts have changed since. Plan the meshes again.")
                       .arg(workspace_.document.title()));
  } else if (count > static_cast<int64_t>(most_meshes)) {
    note_->setText(tr("There are %1 meshes, of which the first %2 are planned; keep an axis to see the others.")
                       .arg(count)
                       .arg(most_meshes));
  } else if (count == 0) {
    note_->setText(tr("The axes that are kept do not divide %1.").arg(counted_text(devices_->value(), "device")));
  } else {
    const QString bold = tr("Bold: the one that is shown.");
    note_->setText(
        is_in_picture(*this)
            ? bold
            : tr("Meshes of %1. %2 A double click takes another one.").arg(workspace_.document.title(), bold));
  }
}

// Whole, while its column may be too narrow for it; nothing in a picture.
QString SweepTab::selected_error() const {
  const QModelIndex index = sorted_->mapToSource(table_->currentIndex());
  if (!index.isValid() || is_in_picture(*this)) return {};
  return sweep_.plans().at(static_cast<size_t>(index.row())).error.section('\n', 0, 0);
}

void SweepTab::take(const QModelIndex& index) {
  if (!index.isValid() || !is_of_shown_config()) return;
  set_mesh_axes(workspace_.document,
                sweep_.plans().at(static_cast<size_t>(sorted_->mapToSource(index).row())).config.mesh_axes);
}

}  // namespace shardscope
