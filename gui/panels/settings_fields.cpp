#include "gui/panels/settings_fields.h"

#include <QCheckBox>
#include <QComboBox>
#include <QRegularExpression>
#include <algorithm>
#include <optional>

#include "engine/config/run_file_keys.h"
#include "engine/plan/schedules/schedule.h"
#include "gui/document/edits.h"
#include "gui/document/key_schema.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/fitted_fields.h"

namespace shardscope {
namespace {

// In the list of axes: one that is made when it is chosen.
const QString new_axis = QStringLiteral("\n");
constexpr const char* interleaved_name = "interleaved";

QString schedule_tip(const QString& name) {
  if (name == "gpipe") return QObject::tr("all forward, then all backward");
  if (name == "1f1b") return QObject::tr("one forward, one backward");
  if (name == interleaved_name) return QObject::tr("several chunks a stage");
  if (name == "zero_bubble") return QObject::tr("weights' backward fills gaps");
  return {};
}

// "2, 2" as numbers; nothing where it is something else.
std::optional<std::vector<int64_t>> layers_of(const QString& text) {
  static const QRegularExpression separators("[,\\s]+");
  std::vector<int64_t> layers;
  for (const QString& part : text.split(separators, Qt::SkipEmptyParts)) {
    bool is_whole = false;
    layers.push_back(part.toLongLong(&is_whole));
    if (!is_whole || layers.back() < 0) return std::nullopt;
  }
  return layers;
}

// In the range of the key.
SettingsField number_field(const QString& label, const QString& place, QWidget* parent,
                           std::function<void(int64_t)> set, std::function<int64_t(const RunConfig&)> value) {
  auto* box = new WholeField(parent);
  const KeyRange range = key_range(place);
  box->setRange(static_cast<double>(range.low), std::min(WholeField::largest, static_cast<double>(range.high)));
  QObject::connect(box, &QDoubleSpinBox::valueChanged, box,
                   [set = std::move(set)](double number) { set(static_cast<int64_t>(number)); });
  return {label, place, key_description(place), box,
          [box, value = std::move(value)](const RunConfig& config) { box->setValue(double(value(config))); }};
}

SettingsField rematerialisation_field(Document& document, QWidget* parent) {
  auto* box = new QComboBox(parent);
  box->setEditable(true);
  for (const std::string& policy : run_file::rematerialise_policies()) box->addItem(qt(policy));
  box->setInsertPolicy(QComboBox::NoInsert);
  const auto edit = [&document, box] {
    const QString text = box->currentText();
    if (text != pattern_text(document.config().schedule.rematerialise))
      set_rematerialisation(document, written_pattern(text));
  };
  QObject::connect(box, &QComboBox::activated, box, edit);
  QObject::connect(box->lineEdit(), &QLineEdit::editingFinished, box, edit);
  return {QObject::tr("Rematerialise"), "schedule.rematerialise",
          QObject::tr("Forward results that backward recomputes instead of keeping them: of whole layers, of a part of "
                      "each, or of ops by a pattern of their names; several with commas: mlp, **/ln1/**"),
          box, [box](const RunConfig& config) {
            const QString text = pattern_text(config.schedule.rematerialise);
            if (box->currentText() != text) box->setCurrentText(text);
          }};
}

SettingsField overlap_field(Document& document, QWidget* parent) {
  auto* box = new QComboBox(parent);
  box->addItems({QObject::tr("where it pays"), QObject::tr("off")});  // in the order of OverlapMode
  QObject::connect(box, &QComboBox::activated, box,
                   [&document](int index) { set_overlap(document, static_cast<OverlapMode>(index)); });
  return {QObject::tr("Overlap"), "schedule.overlap",
          QObject::tr("Collectives beside computation where the machine can and the predicted step gets shorter; the "
                      "results are the same bits."),
          box, [box](const RunConfig& config) { box->setCurrentIndex(static_cast<int>(config.schedule.overlap)); }};
}

void add_zero(std::vector<SettingsField>& fields, Document& document, QWidget* parent) {
  auto* stage = new QComboBox(parent);
  stage->addItems({QObject::tr("none"), QObject::tr("1: optimizer state"), QObject::tr("2: and gradients"),
                   QObject::tr("3: and parameters")});
  auto* axis = new QComboBox(parent);
  for (const MeshAxis& known : document.config().mesh_axes) axis->addItem(qt(known.name));
  const auto edit = [&document, stage, axis] {
    set_zero(document, {stage->currentIndex(), listed_texts(axis->currentText())});
  };
  for (QComboBox* box : {stage, axis}) QObject::connect(box, &QComboBox::activated, box, edit);
  fields.push_back(
      {QObject::tr("ZeRO"), "sharding.zero.stage", key_description("sharding.zero"), stage,
       [stage](const RunConfig& config) { stage->setCurrentIndex(static_cast<int>(config.sharding.zero.stage)); }});
  fields.push_back({QObject::tr("ZeRO axis"), "sharding.zero.axis", key_description("sharding.zero.axis"), axis,
                    [axis](const RunConfig& config) {
                      const ZeroConfig& zero = config.sharding.zero;
                      const QString axes = list_text(zero.axes);
                      if (!axes.isEmpty() && axis->findText(axes) < 0) axis->addItem(axes);
                      axis->setCurrentIndex(axes.isEmpty() ? 0 : axis->findText(axes));
                      axis->setEnabled(zero.stage > 0);
                    }});
}

SettingsField deterministic_field(Document& document, QWidget* parent) {
  auto* check = new QCheckBox(parent);
  QObject::connect(check, &QCheckBox::toggled, check, [&document](bool on) { set_deterministic(document, on); });
  return {QObject::tr("Deterministic"), "deterministic", key_description("deterministic"), check,
          [check](const RunConfig& config) { check->setChecked(config.deterministic); }};
}

SettingsField hosts_field(Document& document, QWidget* parent) {
  auto* line = new FittedLine(parent);
  line->setPlaceholderText(QObject::tr("this host"));
  QObject::connect(line, &QLineEdit::editingFinished, line,
                   [&document, line] { set_hosts(document, line->text().trimmed().toStdString()); });
  return {QObject::tr("Hosts"), "hosts", QObject::tr("Hosts of the ranks, in order, as h0:4,h1:4; reached by ssh."),
          line, [line](const RunConfig& config) {
            if (!line->hasFocus() || line->text().toStdString() != config.hosts) line->setText(qt(config.hosts));
          }};
}

// Shows an entry of a list, which is made where it is not there: the file may say what the list does not have.
void show_entry(QComboBox* box, const QString& name, int made_at) {
  if (box->findData(name) < 0) box->insertItem(made_at, name, name);
  box->setCurrentIndex(box->findData(name));
}

using ChangePipeline = std::function<void(const std::function<void(PipelineConfig&)>&)>;

SettingsField pipeline_axis_field(Document& document, const ChangePipeline& change, QWidget* parent) {
  auto* box = new QComboBox(parent);
  box->addItem(QObject::tr("none"), QString());
  for (const MeshAxis& known : document.config().mesh_axes) box->addItem(qt(known.name), qt(known.name));
  box->addItem(QObject::tr("new axis of 2 stages\u2026"), new_axis);
  QObject::connect(box, &QComboBox::activated, box, [&document, change, box] {
    const QString axis = box->currentData().toString();
    if (axis == new_axis) add_pipeline_axis(document);
    else change([&](PipelineConfig& pipeline) { pipeline.axis = axis.toStdString(); });
  });
  return {QObject::tr("Axis"), "pipeline.axis",
          QObject::tr("The mesh axis along which the layers are cut into stages: microbatches pass through them."), box,
          [box](const RunConfig& config) { show_entry(box, qt(config.pipeline.axis), 1); }};
}

SettingsField schedule_field(const ChangePipeline& change, QWidget* parent) {
  auto* box = new QComboBox(parent);
  QString schedules = QObject::tr("In which order each stage does its microbatches.");
  for (const PipelineSchedule& known : all_schedules()) {
    const QString name = qt(known.name), tip = schedule_tip(name);
    box->addItem(name, name);
    box->setItemData(box->count() - 1, tip, Qt::ToolTipRole);
    schedules += "\n" + name + ": " + tip;
  }
  QObject::connect(box, &QComboBox::activated, box, [change, box] {
    change([box](PipelineConfig& pipeline) {
      pipeline.schedule = box->currentData().toString().toStdString();
      const bool interleaves = pipeline.schedule == interleaved_name;
      if (interleaves == (pipeline.chunks > 1)) return;
      pipeline.chunks = interleaves ? 2 : 1;
      pipeline.layers.clear();
    });
  });
  return {QObject::tr("Schedule"), "pipeline.schedule", schedules, box, [box](const RunConfig& config) {
            show_entry(box, qt(config.pipeline.schedule), box->count());
            box->setEnabled(!config.pipeline.axis.empty());
          }};
}

SettingsField chunks_field(const ChangePipeline& change, QWidget* parent) {
  SettingsField field = number_field(
      QObject::tr("Chunks"), "pipeline.chunks", parent,
      [change](int64_t chunks) { change([chunks](PipelineConfig& pipeline) { pipeline.chunks = chunks; }); },
      [](const RunConfig& config) { return config.pipeline.chunks; });
  field.show = [show = field.show, box = field.widget](const RunConfig& config) {
    const PipelineConfig& pipeline = config.pipeline;
    show(config);
    box->setEnabled(!pipeline.axis.empty() && (pipeline.schedule == interleaved_name || pipeline.chunks > 1));
  };
  return field;
}

SettingsField layers_field(Document& document, const ChangePipeline& change, QWidget* parent) {
  auto* line = new FittedLine(parent);
  line->setPlaceholderText(QObject::tr("equally long"));
  QObject::connect(line, &QLineEdit::editingFinished, line, [&document, change, line] {
    const std::optional<std::vector<int64_t>> layers = layers_of(line->text());
    mark_invalid(line, !layers);
    if (!layers) return line->setToolTip(QObject::tr("Whole numbers such as 2, 2"));
    if (document.config().pipeline.layers != *layers)
      change([&](PipelineConfig& pipeline) { pipeline.layers = *layers; });
  });
  return {QObject::tr("Layers"), "pipeline.layers",
          QObject::tr("Layers of each chunk in the network's order, as 2, 2; empty: such that all take equally long."),
          line, [line](const RunConfig& config) {
            QStringList layers;
            for (const int64_t count : config.pipeline.layers) layers << QString::number(count);
            if (!line->hasFocus() || layers_of(line->text()) != config.pipeline.layers)
              line->setText(layers.join(", "));
            line->setEnabled(!config.pipeline.axis.empty());
          }};
}

}  // namespace

std::vector<SettingsField> run_fields(Document& document, QWidget* parent) {
  const auto number = [&](const QString& label, const QString& place, void (*set)(Document&, int64_t),
                          std::function<int64_t(const RunConfig&)> value) {
    return number_field(
        label, place, parent, [&document, set](int64_t number) { set(document, number); }, std::move(value));
  };
  std::vector<SettingsField> fields;
  fields.push_back(
      number(QObject::tr("Steps"), "steps", set_steps, [](const RunConfig& config) { return config.steps; }));
  fields.push_back(number(QObject::tr("Microbatches"), "schedule.microbatches", set_microbatches,
                          [](const RunConfig& config) { return config.schedule.microbatches; }));
  fields.push_back(rematerialisation_field(document, parent));
  fields.push_back(overlap_field(document, parent));
  add_zero(fields, document, parent);
  fields.push_back(number(QObject::tr("Seed"), "seed", set_seed, [](const RunConfig& config) { return config.seed; }));
  fields.push_back(deterministic_field(document, parent));
  fields.push_back(hosts_field(document, parent));
  return fields;
}

std::vector<SettingsField> pipeline_fields(Document& document, QWidget* parent) {
  const ChangePipeline change = [&document](const std::function<void(PipelineConfig&)>& edit) {
    PipelineConfig pipeline = document.config().pipeline;
    edit(pipeline);
    set_pipeline(document, pipeline);
  };
  return {pipeline_axis_field(document, change, parent), schedule_field(change, parent), chunks_field(change, parent),
          layers_field(document, change, parent)};
}

}  // namespace shardscope
