#include <QFile>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QtTest>
#include <algorithm>

#include "engine/base/version.h"
#include "engine/cli/command_line.h"
#include "engine/cli/key_reference.h"
#include "engine/cli/option_reference.h"
#include "engine/cli/reference/each_command.h"
#include "engine/cli/reference/formats.h"
#include "tests/cli/program.h"

namespace reference_test {

using namespace shardscope;

namespace {

QString text_of(const char* path) {
  QFile file(QString(SHARDSCOPE_SOURCE_DIR "/") + path);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

std::vector<CommandReference> all_commands() {
  std::vector<CommandReference> commands;
  for_each_command(command_reference(), [&](const CommandReference& command) { commands.push_back(command); });
  return commands;
}

bool has_option(const CommandReference& command, const std::string& name) {
  return std::ranges::any_of(command.options, [&](const OptionReference& option) {
    return std::ranges::find(option.names, name) != option.names.end();
  });
}

// What a program prints of a script; nothing where it is not installed.
std::optional<ProgramResult> run_script(const QString& program, const QStringList& arguments, const QString& script) {
  if (QStandardPaths::findExecutable(program).isEmpty()) return std::nullopt;
  QProcess process;
  process.start(program, arguments);
  process.write(script.toUtf8());
  process.closeWriteChannel();
  return finish(process);
}

// What bash offers after these words, the last of which is being typed.
QStringList bash_offers(const QStringList& words) {
  const QString script =
      QString("%1\nCOMP_WORDS=(%2)\nCOMP_CWORD=%3\n_shardrun\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
          .arg(QString::fromStdString(bash_completion(command_reference())), "\"" + words.join("\" \"") + "\"")
          .arg(words.size() - 1);
  const std::optional<ProgramResult> result = run_script("bash", {}, script);
  return result ? result->output_lines() : QStringList();
}

QStringList fish_offers(const QString& line) {
  const QString script =
      QString::fromStdString(fish_completion(command_reference())) + "\ncomplete -C '" + line + "'\n";
  QStringList names;
  for (const QString& offered : run_script("fish", {}, script)->output_lines()) names += offered.section('\t', 0, 0);
  return names;
}

}  // namespace

// Help, documents, man pages and completion are of the definitions of commands, and of nothing else.
class ReferenceTest : public QObject {
  Q_OBJECT

 private slots:
  void every_command_and_option_says_what_it_is_and_every_command_has_an_example() {
    QVERIFY(all_commands().size() > 12);
    for (const CommandReference& command : all_commands()) {
      QVERIFY2(!command.summary.empty() && !command.summary.ends_with('.'), command.name.c_str());
      if (command.commands.empty()) QVERIFY2(!command.help.examples().empty(), command.name.c_str());
      for (const OptionReference& option : command.options)
        QVERIFY2(!option.help.empty(), (command.name + " " + option.names.front()).c_str());
    }
  }

  // Up to the first sign that is the shell's.
  void an_example_has_only_options_of_its_command() {
    static const QRegularExpression word("(?:[^\\s\"]|\"[^\"]*\")+");
    int examples = 0;
    for (const CommandReference& command : all_commands()) {
      for (const HelpText::Example& example : command.help.examples()) {
        const QString line = QString::fromStdString(example.command).section(QRegularExpression("[|>]"), 0, 0);
        for (auto match = word.globalMatch(line); match.hasNext();) {
          const std::string text = match.next().captured().toStdString();
          if (!text.starts_with('-') || text == "-") continue;
          QVERIFY2(has_option(command, text) || command.is_program(), (example.command + ": " + text).c_str());
        }
        ++examples;
      }
    }
    QVERIFY(examples > 20);
  }

  void a_value_that_a_shell_offers_is_of_an_option_that_takes_one() {
    for (const CommandReference& command : all_commands())
      for (const OptionReference& option : command.options)
        QVERIFY2(option.offered.empty() || option.is_positional || !option.value.empty(), option.names.front().c_str());
  }

  void the_document_of_commands_is_what_help_says() {
    const QString made = QString::fromStdString(commands_document(command_reference()));
    QVERIFY2(text_of("docs/commands.md") == made, "docs/commands.md is not of this program: ./run documents");
  }

  void the_document_of_run_files_has_the_keys_and_options_of_their_tables() {
    const QString document = text_of("docs/run-file.md");
    const QString made = QString::fromStdString(with_key_tables(with_option_tables(document.toStdString())));
    QVERIFY2(document == made, "docs/run-file.md is not of this program: ./run documents");
  }

  void no_line_of_a_help_page_is_wider_than_a_hundred_but_examples() {
    for (const CommandReference& command : all_commands())
      for (const QString& line : QString::fromStdString(help_page(command)).section("\nExamples:", 0, 0).split('\n'))
        QVERIFY2(line.size() <= 100 || line.contains("Usage: ") || line.startsWith("  -"), qPrintable(line));
  }

  void help_is_printed_for_every_command() {
    for (const CommandReference& command : all_commands()) {
      QStringList words =
          QString::fromStdString(command.is_program() ? "" : command.name).split(' ', Qt::SkipEmptyParts);
      const ProgramResult result = shardrun(words << "--help");
      QCOMPARE(result.code, 0);
      QCOMPARE(result.output, QString::fromStdString(help_page(command)));
    }
  }

  void man_pages_are_written_for_every_command_and_groff_has_no_complaint() {
    QTemporaryDir folder;
    QCOMPARE(shardrun({"man", "--into", folder.path()}).code, 0);
    QCOMPARE(static_cast<size_t>(QDir(folder.path()).entryList({"*.1"}).size()), all_commands().size());
    if (QStandardPaths::findExecutable("groff").isEmpty()) QSKIP("groff is not installed");
    for (const QFileInfo& page : QDir(folder.path()).entryInfoList({"*.1"})) {
      const auto result = run_script("groff", {"-man", "-ww", "-Tascii", "-z", page.filePath()}, "");
      QCOMPARE(result->code, 0);
      QCOMPARE(result->errors, QString());
    }
  }

  void bash_completes_commands_options_and_values() {
    QCOMPARE(bash_offers({"shardrun", "tra"}), QStringList{"train"});
    QCOMPARE(bash_offers({"shardrun", "checkpoint", "li"}), QStringList{"list"});
    QCOMPARE(bash_offers({"shardrun", "checkpoint", "list", "--ver"}), QStringList{"--verify"});
    QCOMPARE(bash_offers({"shardrun", "train", "run.json", "--on-checkpoint-error", ""}),
             (QStringList{"stop", "continue"}));
    QVERIFY(bash_offers({"shardrun", "export", "run.json", "--to", ""}).contains("perfetto"));
    QCOMPARE(bash_offers({"shardrun", "plan", SHARDSCOPE_SOURCE_DIR "/CMakeLists"}),
             QStringList{SHARDSCOPE_SOURCE_DIR "/CMakeLists.txt"});
    QCOMPARE(bash_offers({"shardrun", "models", "adam"}), (QStringList{"adam", "adamw"}));
    QVERIFY(!bash_offers({"shardrun", ""}).contains("rank"));
    for (const CommandReference& command : all_commands()) {
      const QString name = QString::fromStdString(command.is_program() ? "" : command.name);
      const QStringList offered =
          bash_offers(QStringList{"shardrun"} + name.split(' ', Qt::SkipEmptyParts) + QStringList{"-"});
      for (const OptionReference& option : command.options) {
        if (option.is_positional) continue;
        for (const std::string& one : option.names)
          QVERIFY2(offered.contains(one.c_str()), (command.name + one).c_str());
      }
    }
  }

  void fish_completes_commands_options_and_values() {
    if (QStandardPaths::findExecutable("fish").isEmpty()) QSKIP("fish is not installed");
    QCOMPARE(fish_offers("shardrun tra"), QStringList{"train"});
    QCOMPARE(fish_offers("shardrun checkpoint list --ver"), QStringList{"--verify"});
    QVERIFY(fish_offers("shardrun train run.json --on-checkpoint-error ").contains("continue"));
    QVERIFY(!fish_offers("shardrun plan --").contains("--resume"));
  }

  void zsh_reads_its_completion() {
    const auto result =
        run_script("zsh", {"-f", "-c", "autoload -U compinit; compinit -D; source /dev/stdin; whence _shardrun_train"},
                   QString::fromStdString(zsh_completion(command_reference())));
    if (!result) QSKIP("zsh is not installed");
    QCOMPARE(result->errors, QString());
    QCOMPARE(result->code, 0);
    QVERIFY(result->output.contains("_shardrun_train"));
  }

  void models_are_listed_with_their_options() {
    const ProgramResult all = shardrun({"models"});
    QCOMPARE(all.code, 0);
    for (const OptionOwner& owner : option_owners()) {
      QVERIFY2(!owner.summary.empty() && all.output.contains(QString::fromStdString(owner.summary)),
               owner.name.c_str());
      const ProgramResult one = shardrun({"models", QString::fromStdString(owner.name)});
      for (const OptionDefinition& option : *owner.options)
        QVERIFY2(one.output.contains(QString::fromStdString(option.help)), option.name.c_str());
    }
    QCOMPARE(shardrun({"models", "adamm"}).errors.trimmed(),
             QString("models: no model, data kind or optimizer is called 'adamm' (did you mean 'adam' or 'adamw'?)"));
  }

  void the_json_of_models_has_every_option_with_its_range_and_default() {
    const QJsonObject json = QJsonDocument::fromJson(shardrun({"models", "--json"}).output.toUtf8()).object();
    for (const OptionOwner& owner : option_owners()) {
      const QJsonArray list = json[QString::fromStdString(owner.section)].toArray();
      const auto found = std::ranges::find_if(
          list, [&](const QJsonValue& one) { return one.toObject()["name"].toString().toStdString() == owner.name; });
      QVERIFY2(found != list.end(), owner.name.c_str());
      const QJsonArray options = (*found).toObject()["options"].toArray();
      QCOMPARE(static_cast<size_t>(options.size()), owner.options->size());
      for (size_t i = 0; i < owner.options->size(); ++i) {
        const QJsonObject option = options[static_cast<int>(i)].toObject();
        const OptionDefinition& definition = (*owner.options)[i];
        QCOMPARE(option["name"].toString().toStdString(), definition.name);
        QCOMPARE(option["required"].toBool(), definition.required);
        QCOMPARE(option.contains("default"), !definition.required);
        const bool is_number = option["type"] == "integer" || option["type"] == "number";
        QCOMPARE(option.contains("minimum"), is_number);
        if (is_number) QCOMPARE(option["maximum"].toDouble(), definition.maximum);
      }
    }
  }

  void the_version_names_commit_build_and_libraries() {
    const QString text = shardrun({"--version"}).output;
    QVERIFY(text.startsWith(QString("shardrun ") + version + "\n"));
    for (const char* part : {"commit ", "GCC ", "oneDNN ", "Eigen ", "Open MPI ", "OpenSSL "})
      QVERIFY2(text.contains(part), part);
  }
};

REGISTER_PROGRAM_TEST(ReferenceTest)

}  // namespace reference_test

#include "reference_test.moc"
