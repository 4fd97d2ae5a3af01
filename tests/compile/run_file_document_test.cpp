#include <QFile>
#include <QTest>

#include "engine/data/data_kind.h"
#include "engine/optim/optimizer.h"
#include "models/registry.h"
#include "tests/test_program.h"

namespace run_file_document_test {

using namespace shardscope;

namespace {

QString value_text(const OptionValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "`true`" : "`false`";
  if (const int64_t* integer = std::get_if<int64_t>(&value)) return QString("`%1`").arg(*integer);
  if (const double* number = std::get_if<double>(&value)) return QString("`%1`").arg(*number);
  if (const std::string* text = std::get_if<std::string>(&value))
    return text->empty() ? "none" : QString("`\"%1\"`").arg(QString::fromStdString(*text));
  return std::get<TextList>(value).empty() ? "none" : "a list";
}

QString type_text(const OptionDefinition& option) {
  if (!option.choices.empty()) {
    QStringList choices;
    for (const std::string& choice : option.choices) choices << "`\"" + QString::fromStdString(choice) + "\"`";
    return choices.join(", ");
  }
  const auto range = [&](const char* type) {
    return QString("%1, %2 to %3").arg(type).arg(option.minimum, 0, 'g', 10).arg(option.maximum, 0, 'g', 10);
  };
  if (std::holds_alternative<int64_t>(option.default_value)) return range("integer");
  if (std::holds_alternative<double>(option.default_value)) return range("number");
  if (std::holds_alternative<std::string>(option.default_value)) return option.is_path ? "path" : "text";
  return std::holds_alternative<bool>(option.default_value) ? "true or false" : "list of texts";
}

QString row_of(const OptionDefinition& option) {
  return QString("| `%1` | %2 | %3 |")
      .arg(QString::fromStdString(option.name), type_text(option),
           option.required ? "required" : value_text(option.default_value));
}

}  // namespace

// docs/run-file.md has the options of all models, data kinds and optimizers.
class RunFileDocumentTest : public QObject {
  Q_OBJECT

  QString document_;

  // The rows that chapter `name` lacks, with the option's help as their last column.
  QString missing(const std::string& name, const std::vector<OptionDefinition>& options) const {
    const QString title = "\n#### " + QString::fromStdString(name) + "\n";
    const QString chapter = document_.section(title, 1).section("\n#", 0, 0);
    QStringList rows;
    if (chapter.isEmpty()) rows << title;
    for (const OptionDefinition& option : options) {
      if (!chapter.contains('\n' + row_of(option)))
        rows << row_of(option) + " " + QString::fromStdString(option.help) + " |";
    }
    return rows.join('\n');
  }

 private slots:
  void initTestCase() {
    QFile file(SHARDSCOPE_SOURCE_DIR "/docs/run-file.md");
    QVERIFY(file.open(QIODevice::ReadOnly));
    document_ = QString::fromUtf8(file.readAll());
  }

  void every_option_is_there_with_its_type_range_and_default() {
    QStringList rows;
    for (const ModelDefinition& model : all_models()) rows << missing(model.name, model.options);
    for (const DataKind& kind : all_data_kinds()) rows << missing(kind.name, kind.options);
    for (const OptimizerDefinition& optimizer : all_optimizers()) rows << missing(optimizer.name, optimizer.options);
    rows.removeAll("");
    for (const QString& row : rows.join('\n').split('\n', Qt::SkipEmptyParts)) qWarning("%s", qPrintable(row));
    QVERIFY2(rows.isEmpty(), "docs/run-file.md lacks these rows");
  }
};

REGISTER_TEST(RunFileDocumentTest)

}  // namespace run_file_document_test

#include "run_file_document_test.moc"
