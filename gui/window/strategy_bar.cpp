#include "gui/window/strategy_bar.h"

#include <QAbstractItemView>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <algorithm>
#include <utility>

#include "engine/config/strategy.h"
#include "engine/plan/schedules/schedule.h"
#include "engine/plan/stages.h"
#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/key_schema.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"

namespace shardscope {
namespace {

constexpr int gap = 4;  // between fields

QString place_of_key(const std::string& key) { return "strategy." + qt(key); }

// What comes of choosing a schedule: the interleaved one is of several model chunks a stage, others of one.
StrategyConfig with_schedule(StrategyConfig strategy, const std::string& schedule) {
  strategy.pipeline_schedule = schedule;
  if (schedule == "interleaved") strategy.virtual_stages = std::max<int64_t>(strategy.virtual_stages, 2);
  else strategy.virtual_stages = 1;
  return strategy;
}

// The axes above 1, outermost first.
std::vector<std::string> split_order(const StrategyConfig& strategy) {
  std::vector<std::string> axes = strategy.order.empty() ? default_order() : strategy.order;
  std::erase_if(axes, [&](const std::string& axis) { return degree(strategy, axis) == 1; });
  return axes;
}

// An order that is given has all axes above 1: those that are missing come last.
void complete_order(StrategyConfig& strategy) {
  if (strategy.order.empty()) return;
  for (const std::string& axis : default_order())
    if (degree(strategy, axis) > 1 && std::ranges::count(strategy.order, axis) == 0) strategy.order.push_back(axis);
}

// All orders of up to three axes. Of more: as Megatron has them, and each axis outermost or innermost. And the own one.
std::vector<std::vector<std::string>> orders_of(const std::vector<std::string>& own) {
  std::vector<std::string> axes = default_order();
  std::erase_if(axes, [&](const std::string& axis) { return std::ranges::count(own, axis) == 0; });
  std::vector<std::vector<std::string>> orders;
  const auto add = [&](const std::vector<std::string>& order) {
    if (std::ranges::count(orders, order) == 0) orders.push_back(order);
  };
  add(axes);
  if (axes.size() <= 3) {
    std::vector<std::string> order = axes;
    std::ranges::sort(order);
    do add(order);
    while (std::ranges::next_permutation(order).found);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    std::vector<std::string> outermost = axes, innermost = axes;
    const auto at = static_cast<std::ptrdiff_t>(i);
    std::rotate(outermost.begin(), outermost.begin() + at, outermost.begin() + at + 1);
    std::rotate(innermost.begin() + at, innermost.begin() + at + 1, innermost.end());
    add(outermost);
    add(innermost);
  }
  add(own);
  return orders;
}

QString text_of(const std::vector<std::string>& order) {
  QStringList axes;
  for (const std::string& axis : order) axes << qt(axis);
  return axes.join(", ");
}

// Of such a text; none where it is as Megatron has them.
std::vector<std::string> axes_of(const QString& text) {
  std::vector<std::string> order, usual = default_order();
  for (const QString& axis : text.split(", ", Qt::SkipEmptyParts)) order.push_back(axis.toStdString());
  std::erase_if(usual, [&](const std::string& axis) { return std::ranges::count(order, axis) == 0; });
  return order == usual ? std::vector<std::string>() : order;
}

// The list that opens is as wide as its lines, also where the field is not.
void widen_list(const QComboBox& box) {
  int widest = 0;
  for (int item = 0; item < box.count(); ++item)
    widest = std::max(widest, box.fontMetrics().horizontalAdvance(box.itemText(item)));
  box.view()->setMinimumWidth(widest + 40);
}

// None where the mesh cannot be, which the planner says at the fields.
std::vector<Error> schedule_faults(const PipelineSchedule& schedule, const RunConfig& config) {
  try {
    return schedule.check(pipeline_shape(config, staged_mesh(config.pipeline, Mesh(config.mesh_axes))));
  } catch (const Failure&) {
    return {};
  }
}

}  // namespace

StrategyBar::StrategyBar(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      schedule_(new QComboBox(this)),
      order_(new QComboBox(this)),
      sequence_(new QCheckBox(tr("sequence"), this)),
      recompute_(new QComboBox(this)),
      total_(new QLabel(this)),
      write_out_(new QPushButton(tr("Write out"), this)),
      rows_(new QVBoxLayout(this)) {
  rows_->setContentsMargins(6, 0, 6, 0);
  rows_->setSpacing(2);
  auto* title = new QLabel(tr("Strategy"), this);
  title->setToolTip(tr("How the model is split, by the usual numbers. Their product is the number of devices."));
  parts_.push_back({{title}});
  const std::pair<const char*, QString> axes[] = {
      {"data", tr("Replicas of the model; each takes its part of the batch.")},
      {"fsdp", tr("Replicas that share parameters, gradients and optimizer state.")},
      {"tensor", tr("Devices that share heads and feed-forward layers, as in Megatron.")},
      {"context", tr("Parts of a sequence.")},
      {"expert", tr("Parts of the list of experts; tokens travel to them.")},
      {"pipeline", tr("Stages; each has a part of the layers.")}};
  for (const auto& [axis, tip] : axes) {
    add_number(axis, qt(axis), tip, [name = std::string(axis)](StrategyConfig& strategy) -> int64_t& {
      return *find_degree(strategy, name);
    });
  }
  parts_.push_back({{total_}});
  parts_.push_back({{write_out_}});
  const size_t second_row = parts_.size();
  add_number("zero", tr("ZeRO"),
             tr("What replicas split: 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too."),
             [](StrategyConfig& strategy) -> int64_t& { return strategy.zero; });
  add_number("microbatch_size", tr("microbatch"), tr("Sequences of one replica at a time; 0: as the schedule says."),
             [](StrategyConfig& strategy) -> int64_t& { return strategy.microbatch_size; });
  add_number("virtual_stages", tr("virtual stages"),
             tr("Model chunks of each pipeline stage: more of them wait less, and send more."),
             [](StrategyConfig& strategy) -> int64_t& { return strategy.virtual_stages; });
  for (auto [box, letters] : {std::pair(schedule_, 11), std::pair(order_, 20)}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(letters);
  }
  connect(schedule_, &QComboBox::activated, this, [this](int index) {
    const std::string schedule = schedule_->itemData(index).toString().toStdString();
    edit([&](StrategyConfig& strategy) { strategy = with_schedule(strategy, schedule); }, "pipeline_schedule");
  });
  add_field("pipeline_schedule", tr("schedule"),
            tr("The order in which each stage does its microbatches. Interleaved has several model chunks a stage."),
            schedule_);
  connect(order_, &QComboBox::activated, this, [this](int index) {
    edit([&](StrategyConfig& strategy) { strategy.order = axes_of(order_->itemText(index)); }, "order");
  });
  add_field("order", tr("order"),
            tr("The mesh's axes from the outermost to the innermost, which has the fastest links. Megatron has tensor "
               "innermost."),
            order_);
  connect(sequence_, &QCheckBox::toggled, this, [this](bool checked) {
    edit([checked](StrategyConfig& strategy) { strategy.sequence_parallel = checked; }, "sequence_parallel");
  });
  add_field("sequence_parallel", {},
            tr("Sequence parallelism: activations between tensor-parallel blocks are split by length."), sequence_);
  for (const std::string& policy : recompute_policies()) show_recompute(qt(policy));
  connect(recompute_, &QComboBox::activated, this, [this](int index) {
    const std::string policy = recompute_->itemData(index).toString().toStdString();
    edit([policy](StrategyConfig& strategy) { strategy.recompute = policy; }, "recompute");
  });
  add_field("recompute", {},
            tr("What backward recomputes instead of keeping it: nothing, attention's scores, feed-forward layers, or "
               "whole layers."),
            recompute_);
  recompute_->setAccessibleName(tr("recompute"));
  write_out_->setObjectName("writeOutStrategy");
  write_out_->setToolTip(tr("Puts mesh, sharding, pipeline and schedule in the strategy's place. The plan stays."));
  connect(write_out_, &QPushButton::clicked, this, [this] { write_out_strategy(workspace_.document); });
  parts_[second_row].begins_row = true;
  QWidget* before = fields_.front().field;  // by Tab in the order in which they are seen
  for (const Part& part : parts_) {
    QWidget* next = part.widgets.back();
    if (next->focusPolicy() == Qt::NoFocus) continue;
    setTabOrder(before, next);
    before = next;
  }
  fit_to(QWIDGETSIZE_MAX);
  connect(&workspace.document, &Document::configChanged, this, &StrategyBar::show_config);
  connect(&workspace.planner, &Planner::delivered, this, &StrategyBar::show_errors);
  connect(&workspace.findings, &Findings::changed, this, &StrategyBar::show_errors);
  show_config();
}

void StrategyBar::add_field(const std::string& key, const QString& caption, const QString& tip, QWidget* field) {
  auto* label = new MarkedLabel(caption, this);
  label->setBuddy(field);
  field->setObjectName("strategy_" + qt(key));
  if (!caption.isEmpty()) field->setAccessibleName(tr("strategy: %1").arg(caption));
  guard_field(field);
  parts_.push_back({{label, field}});
  fields_.push_back({key, label, field, tip});
}

void StrategyBar::add_number(const std::string& key, const QString& caption, const QString& tip,
                             std::function<int64_t&(StrategyConfig&)> value) {
  auto* box = new QSpinBox(this);
  const KeyRange range = key_range(place_of_key(key));
  box->setRange(static_cast<int>(range.low), static_cast<int>(range.high));
  box->setAlignment(Qt::AlignRight);
  box->setFixedWidth(70);
  add_field(key, caption, tip, box);
  connect(box, &QSpinBox::editingFinished, this, [this] { workspace_.document.close_edit(); });
  connect(box, &QSpinBox::valueChanged, this, [this, key, value](int number) {
    edit(
        [&](StrategyConfig& strategy) {
          value(strategy) = number;
          complete_order(strategy);
        },
        qt(key));
  });
  numbers_.emplace_back(box, std::move(value));
}

void StrategyBar::fit_to(int width) {
  width_ = width;
  const QMargins margins = rows_->contentsMargins();
  const int room = width - margins.left() - margins.right();
  std::vector<std::vector<QWidget*>> rows;
  int used = 0;
  for (const Part& part : parts_) {
    int wanted = 0;
    for (QWidget* widget : part.widgets) wanted += QWidgetItem(widget).sizeHint().width() + gap;
    if (rows.empty() || part.begins_row || used + wanted > room + gap) {
      rows.emplace_back();
      used = 0;
    }
    used += wanted;
    rows.back().insert(rows.back().end(), part.widgets.begin(), part.widgets.end());
  }
  if (rows == shown_rows_) return;
  shown_rows_ = std::move(rows);
  while (QLayoutItem* row = rows_->takeAt(0)) delete row;
  for (const std::vector<QWidget*>& widgets : shown_rows_) {
    auto* row = new QHBoxLayout;
    row->setSpacing(gap);
    for (QWidget* widget : widgets) row->addWidget(widget);
    row->addStretch();
    rows_->addLayout(row);
  }
}

// Marks and longer texts change the room that fields take.
bool StrategyBar::event(QEvent* event) {
  if (event->type() == QEvent::LayoutRequest) fit_to(width_);
  return QWidget::event(event);
}

QSpinBox* StrategyBar::field(const std::string& key) const {
  return findChild<QSpinBox*>("strategy_" + qt(key), Qt::FindDirectChildrenOnly);
}

bool StrategyBar::focus_place(const QString& place) {
  if (!is_at(place, "strategy") || isHidden()) return false;
  QWidget* field = fields_.front().field;
  for (const Field& each : fields_)
    if (is_at(place, place_of_key(each.key))) field = each.field;
  field->setFocus(Qt::OtherFocusReason);
  if (auto* box = qobject_cast<QSpinBox*>(field)) box->selectAll();
  return true;
}

void StrategyBar::edit(const std::function<void(StrategyConfig&)>& change, const QString& key) {
  std::optional<StrategyConfig> strategy = workspace_.document.config().strategy;
  if (!strategy) return;
  change(*strategy);
  set_strategy(workspace_.document, std::move(*strategy), key);
}

void StrategyBar::show_config() {
  std::optional<StrategyConfig> strategy = workspace_.document.config().strategy;
  emit presenceChanged(strategy.has_value());
  if (!strategy) return;
  for (const auto& [box, value] : numbers_) {
    const QSignalBlocker block(box);
    box->setValue(static_cast<int>(value(*strategy)));
  }
  const QSignalBlocker sequence(sequence_);
  sequence_->setChecked(strategy->sequence_parallel);
  sequence_->setEnabled(strategy->tensor > 1);
  field("virtual_stages")->setEnabled(strategy->pipeline > 1 || strategy->virtual_stages > 1);
  const std::string& policy = workspace_.document.config().schedule.rematerialise;
  show_recompute(qt(strategy->recompute.empty() ? recompute_of(policy) : strategy->recompute));
  show_schedules(*strategy);
  show_orders(*strategy);
  total_->setText(tr("= %1").arg(counted_text(strategy->devices(), "device")));
  show_errors();
}

void StrategyBar::show_recompute(const QString& policy) {
  if (recompute_->findData(policy) < 0) recompute_->addItem(tr("recompute %1").arg(policy), policy);
  recompute_->setCurrentIndex(recompute_->findData(policy));
}

void StrategyBar::show_schedules(const StrategyConfig& strategy) {
  schedule_->clear();
  for (const PipelineSchedule& known : all_schedules()) {
    const RunConfig config = with_strategy(workspace_.document.config(), with_schedule(strategy, known.name));
    const std::vector<Error> faults = schedule_faults(known, config);
    schedule_->addItem(qt(known.name), qt(known.name));
    if (faults.empty() || strategy.pipeline == 1) continue;
    const int item = schedule_->count() - 1;
    schedule_->setItemText(item, tr("%1: %2").arg(qt(known.name), qt(faults.front().message)));
    schedule_->setItemData(item, errors_text(faults), Qt::ToolTipRole);
    qobject_cast<QStandardItemModel*>(schedule_->model())->item(item)->setEnabled(false);
  }
  const QString chosen = qt(pipeline_schedule(strategy));
  if (schedule_->findData(chosen) < 0) schedule_->addItem(chosen, chosen);
  schedule_->setCurrentIndex(schedule_->findData(chosen));
  schedule_->setEnabled(strategy.pipeline > 1);
  widen_list(*schedule_);
}

void StrategyBar::show_orders(const StrategyConfig& strategy) {
  order_->clear();
  const std::vector<std::string> own = split_order(strategy);
  for (const std::vector<std::string>& order : orders_of(own)) order_->addItem(text_of(order));
  order_->setCurrentText(text_of(own));
  order_->setEnabled(own.size() > 1);
  widen_list(*order_);
}

void StrategyBar::show_errors() {
  for (const Field& each : fields_) {
    std::vector<Error> here = errors_at(workspace_.planner.errors(), place_of_key(each.key));
    const QString found = workspace_.findings.text_at(place_of_key(each.key));
    each.label->set_mark(found);
    if (here.size() > 4) here.resize(4);
    show_state(each.field, !here.empty(), found, here.empty() ? each.tip : errors_text(here));
  }
}

}  // namespace shardscope
