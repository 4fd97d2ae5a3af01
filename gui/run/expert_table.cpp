#include "gui/run/expert_table.h"

#include <QHeaderView>
#include <QHelpEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QToolTip>
#include <algorithm>

#include "engine/base/plural.h"
#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/empty_state.h"
#include "gui/look/row_table.h"
#include "viz/text/metric_text.h"

namespace shardscope {
namespace {

constexpr int load_height = 46, load_margin = 4;
enum LoadColumn { layer_column, tokens_column, imbalance_column, dropped_column, load_columns };

QString exact_tokens(double tokens) { return qt(exact_number(static_cast<int64_t>(tokens))); }

// Bars of the row's load.
class LoadDelegate : public QStyledItemDelegate {
 public:
  LoadDelegate(const RunControl& run, QObject* parent) : QStyledItemDelegate(parent), run_(run) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyleOptionViewItem cell = option;
    initStyleOption(&cell, index);
    cell.text.clear();
    cell.widget->style()->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);
    const ExpertLoad* load = load_of(index);
    if (!load || load->total() <= 0) return;
    const QRectF place = place_in(option.rect);
    const double most = std::ranges::max(load->tokens), mean = load->total() / double(load->tokens.size());
    const double wide = place.width() / double(load->tokens.size());
    for (size_t i = 0; i < load->tokens.size(); ++i) {
      const double high = load->tokens[i] / most * place.height();
      const double gap = wide > 4 ? 1 : 0;
      painter->fillRect(QRectF(place.x() + double(i) * wide, place.bottom() - high, std::max(wide - gap, 0.5), high),
                        theme().accent);
    }
    painter->setPen(QPen(theme().text, 1, Qt::DashLine));
    const double y = place.bottom() - mean / most * place.height();
    painter->drawLine(QPointF(place.left(), y), QPointF(place.right(), y));
  }

  bool helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                 const QModelIndex& index) override {
    const ExpertLoad* load = load_of(index);
    if (!load || event->type() != QEvent::ToolTip) return QStyledItemDelegate::helpEvent(event, view, option, index);
    const QRectF place = place_in(option.rect);
    QToolTip::showText(event->globalPos(), expert_tip(*load, event->pos().x() - place.x(), place.width()), view);
    return true;
  }

 private:
  static QRectF place_in(const QRect& cell) {
    return QRectF(cell).adjusted(load_margin, load_margin, -load_margin, -load_margin);
  }
  const ExpertLoad* load_of(const QModelIndex& index) const {
    const std::optional<ExpertsMessage>& experts = run_.record().experts;
    return experts && index.row() < std::ssize(experts->layers) ? &experts->layers[static_cast<size_t>(index.row())]
                                                                : nullptr;
  }

  const RunControl& run_;
};

// For who does not see the bars.
QString bars_text(const ExpertLoad& load) {
  if (load.tokens.empty()) return {};
  const auto busiest = std::ranges::max_element(load.tokens), idlest = std::ranges::min_element(load.tokens);
  return ExpertTable::tr("%1 experts, from %2 (expert %3) to %4 (expert %5)")
      .arg(load.tokens.size())
      .arg(exact_tokens(*idlest))
      .arg(idlest - load.tokens.begin())
      .arg(exact_tokens(*busiest))
      .arg(busiest - load.tokens.begin());
}

QString dropped_text(const ExpertLoad& load) {
  if (load.dropped <= 0 || load.total() <= 0) return exact_tokens(load.dropped);
  return ExpertTable::tr("%1 (%2)").arg(exact_tokens(load.dropped), qt(share_text(load.dropped / load.total())));
}

}  // namespace

QString expert_tip(const ExpertLoad& load, double x, double width) {
  if (load.tokens.empty() || x < 0 || x >= width) return {};
  const auto expert = static_cast<size_t>(x / width * double(load.tokens.size()));
  if (expert >= load.tokens.size() || load.total() <= 0) return {};
  const auto tokens = static_cast<int64_t>(load.tokens[expert]);
  return ExpertTable::tr("expert %1: chosen by %2 %3, %4 of the mean")
      .arg(expert)
      .arg(exact_tokens(load.tokens[expert]), qt(plural(tokens, "token")),
           qt(share_text(load.tokens[expert] * double(load.tokens.size()) / load.total())));
}

ExpertTable::ExpertTable(RunControl& run, QWidget* parent) : QTableWidget(0, load_columns, parent), run_(run) {
  setObjectName("expertTable");
  setAccessibleName(tr("Tokens by expert"));
  setHorizontalHeaderLabels({tr("Layer"), tr("Tokens by expert"), tr("Busiest / mean"), tr("Dropped")});
  for (int column : {layer_column, tokens_column})
    horizontalHeaderItem(column)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  for (int column : {imbalance_column, dropped_column})
    horizontalHeaderItem(column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  horizontalHeaderItem(tokens_column)
      ->setToolTip(tr("How many tokens chose each expert in the step, on all ranks; dashed: the mean."));
  horizontalHeaderItem(imbalance_column)
      ->setToolTip(tr("Tokens of the busiest expert over the mean: 1 where all experts get as many."));
  horizontalHeaderItem(dropped_column)
      ->setToolTip(tr("Choices that found no room within model.capacity_factor; a token counts once for each expert."));
  set_row_table(*this, load_height);
  horizontalHeader()->setSectionResizeMode(tokens_column, QHeaderView::Stretch);
  setEditTriggers(NoEditTriggers);
  setColumnWidth(layer_column, 190);
  setColumnWidth(imbalance_column, 110);
  setColumnWidth(dropped_column, 130);
  setItemDelegateForColumn(tokens_column, new LoadDelegate(run, this));
  connect(&run, &RunControl::received, this, &ExpertTable::refresh);
  refresh();
}

void ExpertTable::showEvent(QShowEvent* event) {
  QTableWidget::showEvent(event);
  refresh();
}

void ExpertTable::refresh() {
  if (!isVisible()) return;
  const std::optional<ExpertsMessage>& experts = run_.record().experts;
  setRowCount(experts ? static_cast<int>(experts->layers.size()) : 0);
  horizontalHeader()->setVisible(rowCount() > 0);
  for (int row = 0; row < rowCount(); ++row) {
    const ExpertLoad& load = experts->layers[static_cast<size_t>(row)];
    const QString cells[] = {qt(load.layer), bars_text(load),
                             qt(metric_text(expert_imbalance_metric, load.imbalance())), dropped_text(load)};
    for (int column = 0; column < load_columns; ++column) {
      if (!item(row, column)) setItem(row, column, new QTableWidgetItem);
      item(row, column)->setText(cells[column]);
      if (column > tokens_column) item(row, column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    }
    item(row, layer_column)->setToolTip(tr("%1, step %2").arg(qt(load.layer)).arg(experts->step));
  }
  viewport()->update();
}

void ExpertTable::paintEvent(QPaintEvent* event) {
  QTableWidget::paintEvent(event);
  if (rowCount() > 0) return;
  QPainter painter(viewport());
  const bool has_run = run_.record().hello.has_value();
  const bool has_experts = run_.plan() && !run_.plan()->expert_layers.empty();
  if (has_run && has_experts)
    return paint_empty_state(painter, viewport()->rect(), tr("Waiting for the first step"),
                             tr("How many tokens choose each expert appears here while the ranks train."));
  if (has_run)
    return paint_empty_state(painter, viewport()->rect(), tr("No experts"),
                             tr("The run's model has no experts; those of mixtral, qwen3_moe, deepseek_v3 and gpt_oss "
                                "have."));
  paint_empty_state(painter, viewport()->rect(), tr("No run yet"),
                    tr("Train a model with experts to see how many tokens each of them gets."));
}

}  // namespace shardscope
