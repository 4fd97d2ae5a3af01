#include "gui/search/search_form.h"

#include <QLabel>
#include <algorithm>

#include "engine/config/strategy.h"
#include "engine/mesh/mesh.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"

namespace shardscope {
namespace {

constexpr int most_form_columns = 5;
constexpr int field_width = 108;
constexpr double gibibyte = 1024.0 * 1024 * 1024;

QSpinBox* whole_field(int low, int high, QWidget* parent) {
  auto* box = new QSpinBox(parent);
  box->setRange(low, high);
  return box;
}

QDoubleSpinBox* limit_field(const QString& suffix, int decimals, QWidget* parent) {
  auto* box = new QDoubleSpinBox(parent);
  box->setDecimals(decimals);
  box->setRange(0, 1e6);
  box->setSuffix(suffix);
  return box;
}

// As errors of search_request() name it.
QString search_place(const QString& field) {
  return field == "searchDevices" ? QString("search.devices") : "search." + field.mid(QString("search_").size());
}

}  // namespace

SearchForm::SearchForm(QWidget* parent)
    : QScrollArea(parent),
      inner_(new QWidget(this)),
      grid_(new QGridLayout(inner_)),
      devices_(whole_field(1, static_cast<int>(Mesh::max_devices), inner_)),
      seconds_(whole_field(0, 86400, inner_)),
      objective_(new QComboBox(inner_)),
      memory_(limit_field(tr(" GiB"), 1, inner_)),
      time_(limit_field(tr(" s"), 3, inner_)) {
  setObjectName("searchForm");
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  setWidget(inner_);
  grid_->setContentsMargins(10, 2, 10, 4);
  grid_->setHorizontalSpacing(6);
  grid_->setVerticalSpacing(3);
  add(tr("devices"), "searchDevices", tr("How many devices there are."), devices_);
  add_number("data", tr("data"), tr("Replicas of the model; each takes its part of the batch."));
  add_number("fsdp", tr("fsdp"), tr("Replicas that share parameters, gradients and optimizer state."));
  add_number("tensor", tr("tensor"), tr("Devices that share heads and feed-forward layers."));
  add_number("context", tr("context"), tr("Parts of a sequence."));
  add_number("expert", tr("expert"), tr("Parts of the list of experts."));
  add_number("pipeline", tr("pipeline"), tr("Stages; each has a part of the layers."));
  add_number("virtual_stages", tr("virtual stages"), tr("Model chunks of each stage."));
  add_number("zero", tr("ZeRO"),
             tr("Stage: 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too, "
                "which over data alone is fsdp."));
  add_number("microbatch_size", tr("microbatch"), tr("Sequences of one replica at a time."));
  Choices policies{{tr("any"), {}}};
  for (const std::string& policy : recompute_policies()) policies.push_back({qt(policy), {policy}});
  add_words("recompute", tr("recompute"),
            tr("What backward recomputes: nothing, attention's scores, feed-forward layers, or whole layers; any: all "
               "but feed-forward layers."),
            policies);
  add_words("sequence_parallel", tr("sequence"),
            tr("Whether what is between tensor-parallel layers is split along the sequence."),
            {{tr("any"), {}}, {tr("parallel"), {"true"}}, {tr("whole"), {"false"}}});
  Choices schedules{{tr("any"), {}}};
  for (const std::string& schedule : strategy_schedules()) schedules.push_back({qt(schedule), {schedule}});
  add_words("pipeline_schedule", tr("schedule"), tr("Of a pipeline's microbatches; virtual stages have 1f1b."),
            schedules);
  add_words("order", tr("replicas"),
            tr("Where a pipeline's replicas are: within its stages, as Megatron has them, or outermost, so that a "
               "replica's stages are neighbours."),
            {{tr("any"), {}}, {tr("in stages"), {"megatron"}}, {tr("outermost"), {"replicas_outermost"}}});
  add_words("mode", tr("layouts"), tr("Of arrays between the layers: as the strategy writes them, or the fastest."),
            {{tr("as written"), {}}, {tr("fastest"), {"fastest"}}, {tr("both"), {"as_written", "fastest"}}});
  memory_->setSpecialValueText(tr("device's"));
  add(tr("memory"), "searchMemory", tr("The most memory of a device; without a number what the machine has."), memory_);
  time_->setSpecialValueText(tr("any"));
  add(tr("step time"), "searchTime", tr("The longest time of a step."), time_);
  objective_->addItem(tr("time"), static_cast<int>(SearchObjective::time));
  objective_->addItem(tr("memory"), static_cast<int>(SearchObjective::memory));
  objective_->addItem(tr("device hours"), static_cast<int>(SearchObjective::device_hours));
  add(tr("objective"), "searchObjective", tr("What is best, and of what the gap is proved."), objective_);
  seconds_->setSuffix(tr(" s"));
  seconds_->setSpecialValueText(tr("exact result"));
  add(tr("end after"), "searchSeconds",
      tr("Ends after this time with a proved gap; without a number when the result is exact."), seconds_);
  connect(devices_, &QSpinBox::valueChanged, this, [this] {
    mark_invalid(devices_, false);
    for (const Number& number : numbers_) judge(number);
  });
  for (QSpinBox* box : {devices_, seconds_}) connect(box, &QSpinBox::valueChanged, this, &SearchForm::changed);
  for (QDoubleSpinBox* box : {memory_, time_}) connect(box, &QDoubleSpinBox::valueChanged, this, &SearchForm::changed);
  connect(objective_, &QComboBox::currentIndexChanged, this, &SearchForm::changed);
  for (size_t i = 1; i < rows_.size(); ++i) setTabOrder(rows_[i - 1].second, rows_[i].second);
  arrange();
}

void SearchForm::add(const QString& caption, const QString& name, const QString& tip, QWidget* field) {
  auto* label = new QLabel(caption, inner_);
  label->setProperty("muted", true);
  label->setBuddy(field);
  field->setObjectName(name);
  field->setAccessibleName(tr("search: %1").arg(caption));
  field->setToolTip(tip);
  field->setProperty("silent", true);
  field->setMinimumWidth(field_width);
  field->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  guard_field(field);
  rows_.emplace_back(label, field);
}

void SearchForm::add_number(const std::string& key, const QString& caption, const QString& tip) {
  auto* line = new QLineEdit(inner_);
  line->setPlaceholderText(tr("any"));
  const Number number{key, line, tip + "\n" + tr("8 locks it; 1, 2, 4 or 2..8 are choices; empty: any.")};
  add(caption, "search_" + qt(key), number.tip, line);
  numbers_.push_back(number);
  connect(line, &QLineEdit::textChanged, this, [this, number] {
    judge(number);
    emit changed();
  });
  connect(line, &QLineEdit::returnPressed, this, &SearchForm::startWanted);
}

void SearchForm::add_words(const std::string& key, const QString& caption, const QString& tip, const Choices& choices) {
  Words& words = words_.emplace_back(key, new QComboBox(inner_), std::vector<std::vector<std::string>>());
  for (const auto& [text, values] : choices) {
    words.box->addItem(text);
    words.values.push_back(values);
  }
  add(caption, "search_" + qt(key), tip, words.box);
  connect(words.box, &QComboBox::currentIndexChanged, this, &SearchForm::changed);
}

QString SearchForm::fault_of(const Number& number) const {
  const AllowedNumbers allowed = allowed_numbers(number.line->text());
  return allowed.fault.isEmpty() ? never_of(allowed, qt(number.key), devices()) : allowed.fault;
}

void SearchForm::show_refusals(const std::vector<Error>& errors) {
  for (const auto& [label, field] : rows_) {
    const auto number = std::ranges::find(numbers_, field, &Number::line);
    if (number != numbers_.end()) judge(*number);
    else mark_invalid(field, false);
    const std::vector<Error> here = errors_at(errors, search_place(field->objectName()));
    if (here.empty()) continue;
    mark_invalid(field, true);
    if (number != numbers_.end()) field->setToolTip(errors_text(here));
  }
}

void SearchForm::judge(const Number& number) {
  const QString fault = fault_of(number);
  mark_invalid(number.line, !fault.isEmpty());
  number.line->setToolTip(fault.isEmpty() ? number.tip : fault);
}

QString SearchForm::fault() const {
  for (const Number& number : numbers_)
    if (const QString fault = fault_of(number); !fault.isEmpty()) return qt(number.key) + ": " + fault;
  return {};
}

void SearchForm::focus_fault() {
  for (const Number& number : numbers_)
    if (!fault_of(number).isEmpty()) return number.line->setFocus(Qt::OtherFocusReason);
}

SearchWish SearchForm::wish() const {
  SearchWish wish;
  wish.devices = devices_->value();
  for (const Number& number : numbers_) {
    const AllowedNumbers allowed = allowed_numbers(number.line->text());
    if (!allowed.is_any()) wish.numbers[number.key] = allowed;
  }
  for (const Words& words : words_)
    if (const auto& values = words.values[static_cast<size_t>(words.box->currentIndex())]; !values.empty())
      wish.words[words.key] = values;
  if (memory_->value() > 0) wish.at_most_memory = memory_->value() * gibibyte;
  if (time_->value() > 0) wish.at_most_seconds = time_->value();
  wish.objective = static_cast<SearchObjective>(objective_->currentData().toInt());
  if (seconds_->value() > 0) wish.budget_seconds = seconds_->value();
  return wish;
}

void SearchForm::set_devices(int64_t devices) {
  devices_->setValue(static_cast<int>(std::clamp<int64_t>(devices, 1, Mesh::max_devices)));
}

// Labels of a column are as wide as its widest one, fields share what is left.
void SearchForm::arrange() {
  int label = 0;
  for (const auto& [caption, input] : rows_) label = std::max(label, caption->sizeHint().width());
  const int spacing = grid_->horizontalSpacing(), margins = 20;
  const int columns =
      std::clamp((viewport()->width() - margins + spacing) / (label + field_width + 2 * spacing), 1, most_form_columns);
  if (columns == columns_) return;
  columns_ = columns;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const int row = static_cast<int>(i) / columns, column = static_cast<int>(i) % columns;
    grid_->addWidget(rows_[i].first, row, 2 * column);
    grid_->addWidget(rows_[i].second, row, 2 * column + 1);
  }
  for (int column = 0; column < 2 * most_form_columns; ++column)
    grid_->setColumnStretch(column, column % 2 == 1 && column < 2 * columns ? 1 : 0);
  updateGeometry();
}

QSize SearchForm::sizeHint() const { return {inner_->sizeHint().width(), inner_->sizeHint().height()}; }

QSize SearchForm::minimumSizeHint() const { return {120, std::min(58, inner_->minimumSizeHint().height())}; }

void SearchForm::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  arrange();
}

}  // namespace shardscope
