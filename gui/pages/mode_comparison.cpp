#include "gui/pages/mode_comparison.h"

#include "engine/base/units.h"
#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

struct Quantity {
  double value = 0;
  QString text, exact;
};

// `collectives`: how many the devices do in a step.
std::array<Quantity, 4> quantities_of(const PlanTotals& totals, int64_t collectives) {
  const auto bytes = [](double value) { return Quantity{value, qt(bytes_text(value)), qt(exact_bytes(value))}; };
  return {bytes(double(totals.device_bytes)), bytes(totals.wire_bytes_per_device),
          Quantity{totals.seconds_per_step, qt(seconds_text(totals.seconds_per_step)),
                   QString::number(totals.seconds_per_step, 'f', 6) + " s"},
          Quantity{double(collectives), QString::number(collectives), counted_text(collectives, "collective")}};
}

LayoutMode opposite(LayoutMode mode) {
  return mode == LayoutMode::fastest ? LayoutMode::as_written : LayoutMode::fastest;
}

}  // namespace

ModeComparison::ModeComparison(Workspace& workspace, QWidget* parent)
    : QWidget(parent), workspace_(workspace), other_(workspace.planner.source()) {
  setObjectName("modeComparison");
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(10, 6, 10, 6);
  grid->setHorizontalSpacing(14);
  grid->setSizeConstraint(QLayout::SetNoConstraint);  // it is never what keeps the window wide
  grid->setVerticalSpacing(2);
  const auto head = [&](int column, const QString& text, const QString& tip) {
    auto* label = new QLabel(text, this);
    label->setProperty("muted", true);
    label->setToolTip(tip);
    grid->addWidget(label, 0, column, column == 0 ? Qt::AlignLeft : Qt::AlignRight);
  };
  head(0, tr("Layout mode"), tr("How values that nobody pinned are laid out. Choose one here to use it."));
  head(1, tr("Memory"), tr("Memory of all arrays on the heaviest device."));
  head(2, tr("Sent a step"), tr("Bytes that each device sends in a training step."));
  head(3, tr("Time a step"), tr("What the cost model predicts."));
  head(4, tr("Collectives"), tr("How many times a training step the devices exchange parts of arrays."));
  grid->setColumnStretch(5, 1);
  const std::pair<QString, QString> modes[] = {
      {tr("Fastest"), tr("Layouts that nobody pinned are chosen for the least predicted time of a step.")},
      {tr("As written"), tr("Layouts follow from the specs alone, as in JAX.")}};
  for (size_t i = 0; i < rows_.size(); ++i) {
    const int at = static_cast<int>(i) + 1;
    rows_[i].choice = new QRadioButton(modes[i].first, this);
    rows_[i].choice->setObjectName(i == 0 ? "chooseFastest" : "chooseAsWritten");
    rows_[i].choice->setToolTip(modes[i].second);
    grid->addWidget(rows_[i].choice, at, 0);
    for (int column = 0; column < quantities; ++column) {
      rows_[i].values[column] = new QLabel(this);
      rows_[i].values[column]->setObjectName(QString("mode%1_%2").arg(i).arg(column));
      grid->addWidget(rows_[i].values[column], at, column + 1, Qt::AlignRight);
    }
    connect(rows_[i].choice, &QRadioButton::clicked, this,
            [this, i] { set_mode(workspace_.document, static_cast<LayoutMode>(i)); });
  }
  connect(&workspace.document, &Document::replaced, this, [this] {
    requested_.reset();
    other_.forget();
  });
  connect(&workspace.planner, &Planner::requested, this, &ModeComparison::refresh);
  connect(&workspace.planner, &Planner::delivered, this, &ModeComparison::request);
  connect(&other_, &Planner::delivered, this, &ModeComparison::refresh);
  refresh();
}

void ModeComparison::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  request();
}

void ModeComparison::request() {
  if (isVisible() && workspace_.planner.is_current()) {
    RunConfig config = workspace_.document.config();
    config.sharding.mode = opposite(config.sharding.mode);
    if (!requested_ || *requested_ != config) {
      requested_ = std::move(config);
      other_.request(*requested_);
    }
  }
  refresh();
}

std::shared_ptr<const Plan> ModeComparison::plan_of(LayoutMode mode) const {
  if (!workspace_.planner.is_current()) return nullptr;
  const std::shared_ptr<const Plan> shown = workspace_.planner.plan(), other = other_.plan();
  if (shown->as_written == (mode == LayoutMode::as_written)) return shown;
  if (!other || !other_.is_current()) return nullptr;
  RunConfig wanted = workspace_.document.config();
  wanted.sharding.mode = mode;
  return requested_ == wanted ? other : nullptr;
}

void ModeComparison::refresh() {
  const LayoutMode now = workspace_.document.config().sharding.mode;
  for (const LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
    rows_[static_cast<size_t>(mode)].choice->setChecked(mode == now);
    show_row(mode);
  }
}

void ModeComparison::show_row(LayoutMode mode) {
  const Row& row = rows_[static_cast<size_t>(mode)];
  const std::shared_ptr<const Plan> plan = plan_of(mode), other = plan_of(opposite(mode));
  const bool failed = !plan && requested_ && !other_.is_busy() && !other_.errors().empty() &&
                      workspace_.document.config().sharding.mode != mode;
  if (!plan && !failed && (other_.is_busy() || workspace_.planner.is_busy())) return;  // soon
  using Quantities = std::array<Quantity, quantities>;
  const auto of = [&](const std::shared_ptr<const Plan>& one) -> std::optional<Quantities> {
    if (!one) return std::nullopt;
    const Planner& planner = one == workspace_.planner.plan() ? workspace_.planner : other_;
    return quantities_of(one->totals, planner.index().exchanges);
  };
  const std::optional<Quantities> here = of(plan), there = of(other);
  for (int i = 0; i < quantities; ++i) {
    QLabel* label = row.values[i];
    label->setText(here ? (*here)[i].text : failed ? tr("cannot be planned") : QString(QChar(0x2026)));
    label->setToolTip(here ? (*here)[i].exact : failed ? errors_text(other_.errors()) : QString());
    QFont font = this->font();
    font.setBold(here && there && (*here)[i].value < (*there)[i].value * (1 - 1e-9));
    if (label->font() != font) label->setFont(font);
  }
}

}  // namespace shardscope
