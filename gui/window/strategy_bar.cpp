#include "gui/window/strategy_bar.h"

#include <QSignalBlocker>
#include <QVBoxLayout>
#include <utility>

#include "engine/config/strategy.h"
#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"

namespace shardscope {
namespace {

QString place_of_key(const std::string& key) { return "strategy." + qt(key); }

}  // namespace

StrategyBar::StrategyBar(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      sequence_(new QCheckBox(tr("sequence"), this)),
      recompute_(new QComboBox(this)),
      total_(new QLabel(this)),
      write_out_(new QPushButton(tr("Write out"), this)) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(6, 0, 6, 0);
  rows->setSpacing(2);
  QHBoxLayout* layout = new QHBoxLayout;
  rows->addLayout(layout);
  layout->setSpacing(4);
  auto* title = new QLabel(tr("Strategy"), this);
  title->setToolTip(tr("How the model is split, by the usual numbers. Their product is the number of devices."));
  layout->addWidget(title);
  const std::pair<const char*, QString> axes[] = {
      {"data", tr("Replicas of the model; each takes its part of the batch.")},
      {"fsdp", tr("Replicas that share parameters, gradients and optimizer state.")},
      {"tensor", tr("Devices that share heads and feed-forward layers, as in Megatron.")},
      {"context", tr("Parts of a sequence.")},
      {"expert", tr("Parts of the list of experts; tokens travel to them.")},
      {"pipeline", tr("Stages; each has a part of the layers.")}};
  for (const auto& [axis, tip] : axes) {
    add_field(*layout, axis, qt(axis), tip, 1, [name = std::string(axis)](StrategyConfig& strategy) -> int64_t& {
      return *find_degree(strategy, name);
    });
  }
  layout->addWidget(total_);
  layout->addWidget(write_out_);
  layout->addStretch();
  layout = new QHBoxLayout;
  rows->addLayout(layout);
  layout->setSpacing(4);
  add_field(*layout, "zero", tr("ZeRO"),
            tr("What replicas split: 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too."), 0,
            [](StrategyConfig& strategy) -> int64_t& { return strategy.zero; });
  add_field(*layout, "microbatch_size", tr("microbatch"),
            tr("Sequences of one replica at a time; 0: as the schedule says."), 0,
            [](StrategyConfig& strategy) -> int64_t& { return strategy.microbatch_size; });
  add_field(*layout, "virtual_stages", tr("virtual stages"),
            tr("Model chunks of each pipeline stage: more of them wait less, and send more."), 1,
            [](StrategyConfig& strategy) -> int64_t& { return strategy.virtual_stages; });
  sequence_->setObjectName("strategy_sequence_parallel");
  sequence_->setToolTip(tr("Sequence parallelism: activations between tensor-parallel blocks are split by length."));
  connect(sequence_, &QCheckBox::toggled, this, [this](bool checked) {
    edit([checked](StrategyConfig& strategy) { strategy.sequence_parallel = checked; }, "sequence_parallel");
  });
  layout->addWidget(sequence_);
  recompute_->setObjectName("strategy_recompute");
  recompute_->setAccessibleName(tr("recompute"));
  recompute_->setToolTip(
      tr("What backward recomputes instead of keeping it: nothing, attention's scores, feed-forward layers, or whole "
         "layers."));
  guard_field(recompute_);
  for (const char* policy : {"none", "selective", "mlp", "full"})
    recompute_->addItem(tr("recompute %1").arg(policy), policy);
  connect(recompute_, &QComboBox::activated, this, [this](int index) {
    const std::string policy = recompute_->itemData(index).toString().toStdString();
    edit([policy](StrategyConfig& strategy) { strategy.recompute = policy; }, "recompute");
  });
  layout->addWidget(recompute_);
  write_out_->setObjectName("writeOutStrategy");
  write_out_->setToolTip(tr("Puts mesh, sharding, pipeline and schedule in the strategy's place. The plan stays."));
  connect(write_out_, &QPushButton::clicked, this, [this] { write_out_strategy(workspace_.document); });
  layout->addStretch();
  connect(&workspace.document, &Document::configChanged, this, &StrategyBar::show_config);
  connect(&workspace.planner, &Planner::delivered, this, &StrategyBar::show_errors);
  show_config();
}

void StrategyBar::add_field(QHBoxLayout& row, const std::string& key, const QString& caption, const QString& tip,
                            int64_t low, std::function<int64_t&(StrategyConfig&)> value) {
  auto* label = new QLabel(caption, this);
  auto* box = new QSpinBox(this);
  box->setObjectName("strategy_" + qt(key));
  box->setAccessibleName(tr("strategy: %1").arg(caption));
  box->setRange(static_cast<int>(low), static_cast<int>(Mesh::max_devices));
  box->setAlignment(Qt::AlignRight);
  box->setFixedWidth(64);
  label->setBuddy(box);
  guard_field(box);
  row.addWidget(label);
  row.addWidget(box);
  connect(box, &QSpinBox::editingFinished, this, [this] { workspace_.document.close_edit(); });
  connect(box, &QSpinBox::valueChanged, this, [this, key, value](int number) {
    edit([&](StrategyConfig& strategy) { value(strategy) = number; }, qt(key));
  });
  fields_.push_back({key, box, std::move(value), tip});
}

QSpinBox* StrategyBar::field(const std::string& key) const {
  for (const Field& each : fields_)
    if (each.key == key) return each.box;
  return nullptr;
}

bool StrategyBar::focus_place(const QString& place) {
  if (!is_at(place, "strategy") || isHidden()) return false;
  QSpinBox* box = fields_.front().box;
  for (const Field& each : fields_)
    if (is_at(place, place_of_key(each.key))) box = each.box;
  box->setFocus(Qt::OtherFocusReason);
  box->selectAll();
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
  for (const Field& each : fields_) {
    const QSignalBlocker block(each.box);
    each.box->setValue(static_cast<int>(each.value(*strategy)));
  }
  const QSignalBlocker sequence(sequence_), recompute(recompute_);
  sequence_->setChecked(strategy->sequence_parallel);
  sequence_->setEnabled(strategy->tensor > 1);
  field("virtual_stages")->setEnabled(strategy->pipeline > 1 || strategy->virtual_stages > 1);
  const std::string& policy = workspace_.document.config().schedule.rematerialise;
  show_recompute(qt(strategy->recompute.empty() ? recompute_of(policy) : strategy->recompute));
  total_->setText(tr("= %1").arg(counted_text(strategy->devices(), "device")));
  show_errors();
}

void StrategyBar::show_recompute(const QString& policy) {
  if (recompute_->findData(policy) < 0) recompute_->addItem(tr("recompute %1").arg(policy), policy);
  recompute_->setCurrentIndex(recompute_->findData(policy));
}

void StrategyBar::show_errors() {
  for (const Field& each : fields_) {
    std::vector<Error> here = errors_at(workspace_.planner.errors(), place_of_key(each.key));
    mark_invalid(each.box, !here.empty());
    if (here.size() > 4) here.resize(4);
    each.box->setToolTip(here.empty() ? each.tip : errors_text(here));
  }
}

}  // namespace shardscope
