#include <QCheckBox>
#include <QComboBox>
#include <optional>

#include "gui/document/edits.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/fitted_fields.h"
#include "gui/panels/settings_fields.h"

namespace shardscope {
namespace {

QString readable(const std::string& name) {
  QString text = qt(name).replace('_', ' ');
  text[0] = text[0].toUpper();
  return text;
}

// What a field of one line says of a value: a number, a text, or a list of texts.
QString written_text(const OptionValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return QString::number(*number, 'g', 10);
  if (const auto* list = std::get_if<TextList>(&value)) return list_text(*list);
  if (const auto* text = std::get_if<std::string>(&value)) return qt(*text);
  return qt(to_string(value));
}

// The value of such a text, of the kind of `like`; nothing where it is none.
std::optional<OptionValue> written_value(const QString& text, const OptionValue& like) {
  if (std::holds_alternative<TextList>(like)) return OptionValue(listed_texts(text));
  if (std::holds_alternative<std::string>(like)) return OptionValue(text.toStdString());
  bool legal = false;
  const double number = text.toDouble(&legal);
  return legal ? std::optional<OptionValue>(number) : std::nullopt;
}

using ShowOption = std::function<void(const OptionValue&)>;
using SetOption = std::function<void(const OptionValue&)>;

std::pair<QWidget*, ShowOption> option_widget(const ShownOption& option, QWidget* parent, const SetOption& set,
                                              const std::function<void()>& finished) {
  if (std::holds_alternative<bool>(option.value)) {
    auto* check = new QCheckBox(parent);
    QObject::connect(check, &QCheckBox::toggled, check, set);
    return {check, [check](const OptionValue& value) { check->setChecked(std::get<bool>(value)); }};
  }
  if (!option.choices.empty() && std::holds_alternative<std::string>(option.value)) {
    auto* box = new QComboBox(parent);
    for (const std::string& choice : option.choices) box->addItem(qt(choice));
    QObject::connect(box, &QComboBox::textActivated, box, [set](const QString& text) { set(text.toStdString()); });
    return {box,
            [box](const OptionValue& value) { box->setCurrentIndex(box->findText(qt(std::get<std::string>(value)))); }};
  }
  if (std::holds_alternative<int64_t>(option.value)) {
    auto* box = new WholeField(parent);
    box->setMinimum(-WholeField::largest);
    QObject::connect(box, &QDoubleSpinBox::valueChanged, box,
                     [set](double number) { set(static_cast<int64_t>(number)); });
    return {box, [box](const OptionValue& value) { box->setValue(static_cast<double>(std::get<int64_t>(value))); }};
  }
  auto* line = new FittedLine(parent);
  line->setAlignment(Qt::AlignRight);
  QObject::connect(line, &QLineEdit::textEdited, line, [line, set, like = option.value](const QString& text) {
    const std::optional<OptionValue> said = written_value(text, like);
    mark_invalid(line, !said);
    if (!said) line->setToolTip(QObject::tr("A number such as 0.001 or 1e-3"));
    if (said) set(*said);
  });
  QObject::connect(line, &QLineEdit::editingFinished, line, finished);
  return {line, [line](const OptionValue& value) {
            if (!line->hasFocus() || written_value(line->text(), value) != value) line->setText(written_text(value));
          }};
}

}  // namespace

std::vector<SettingsField> option_fields(Document& document, OptionGroup group, QWidget* parent,
                                         const std::function<void()>& finished) {
  std::vector<SettingsField> fields;
  const std::vector<ShownOption> options = shown_options(document.config(), group);
  for (size_t i = 0; i < options.size(); ++i) {
    const ShownOption& option = options[i];
    const QString place = group_name(group) + "." + qt(option.name);
    const QString file = QObject::tr("%1 in the run file").arg(place);
    const auto set = [&document, group, name = option.name](const OptionValue& value) {
      set_option(document, group, name, value);
    };
    const auto [widget, show] = option_widget(option, parent, set, finished);
    fields.push_back(
        {readable(option.name), place, option.help.empty() ? file : file + ": " + qt(option.help), widget,
         [group, i, show = show](const RunConfig& config) { show(shown_options(config, group)[i].value); }});
  }
  return fields;
}

}  // namespace shardscope
