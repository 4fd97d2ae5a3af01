#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/cli/program.h"

namespace lint_test {

using namespace shardscope;

namespace {

QByteArray content(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

// A run with an axis that splits nothing.
QStringList idle() {
  return {preset("tiny_lm_dp"), "--set", "sharding.mode=as_written", "--set",
          R"(mesh.axes=[{"name":"data","size":4},{"name":"spare","size":2}])"};
}

QStringList with(QStringList arguments, const QStringList& more) { return arguments << more; }

}  // namespace

class LintCommandTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  QString path(const char* name) const { return folder_.filePath(name); }

  // That run as a file.
  QString idle_file(const char* name) {
    QFile::remove(path(name));
    QFile(preset("tiny_lm_dp")).copy(path(name));
    QFile file(path(name));
    QByteArray text = content(path(name));
    text.replace(R"({"name": "data", "size": 8})", R"({"name": "data", "size": 4}, {"name": "spare", "size": 2})");
    text.replace(R"("mode": "fastest")", R"("mode": "as_written")");
    if (file.open(QIODevice::WriteOnly)) file.write(text);
    return path(name);
  }

 private slots:
  void a_finding_is_reported_with_place_cost_fix_and_chapter_and_the_code_is_1() {
    const ProgramResult result = shardrun(with({"lint"}, with(idle(), {"--rule", "idle_axis"})));
    QCOMPARE(result.code, 1);
    QCOMPARE(result.errors, QString());
    const QStringList lines = result.output_lines();
    QCOMPARE(lines.size(), 5);
    QVERIFY2(lines[0].startsWith("mesh.axes[1]: axis 'spare' splits nothing") && lines[0].endsWith("[idle_axis]"),
             qPrintable(lines[0]));
    QVERIFY2(lines[1].contains("ms a step"), qPrintable(lines[1]));
    QVERIFY2(lines[2].startsWith("    fix: --set "), qPrintable(lines[2]));
    QVERIFY2(lines[3].startsWith("    or: --set ") && lines[3].contains("(a step of "), qPrintable(lines[3]));
    QCOMPARE(lines[4], QString("    docs/lint.md#idle_axis"));
  }

  void the_fix_that_is_reported_is_one_to_type() {
    const ProgramResult reported = shardrun(with({"lint", "--json", "--rule", "idle_axis"}, idle()));
    const QJsonObject finding = QJsonDocument::fromJson(reported.output.toUtf8())["findings"][0].toObject();
    QCOMPARE(finding["rule"].toString(), QString("idle_axis"));
    QVERIFY(finding["cost"]["seconds"].toDouble() > 0);
    const ProgramResult text = shardrun(with({"lint", "--rule", "idle_axis"}, idle()));
    QProcess shell;
    shell.start("/bin/sh", {"-c", "printf '%s\\n' " + text.output_lines()[2].section("fix: ", 1)});
    const QStringList fix = finish(shell).output_lines();
    const ProgramResult fixed = shardrun(with(with({"lint", "--rule", "idle_axis"}, idle()), fix));
    QCOMPARE(fixed.code, 0);
    QCOMPARE(fixed.output, QString());
  }

  void a_written_file_has_nothing_left_to_fix() {
    const QString out = path("fixed.json");
    const ProgramResult written = shardrun(with({"lint", "--write", out, "--rule", "idle_axis"}, idle()));
    QCOMPARE(written.code, 0);
    QVERIFY2(written.errors.contains("fixed: mesh.axes[1]"), qPrintable(written.errors));
    QCOMPARE(shardrun({"lint", out, "--rule", "idle_axis"}).code, 0);
    const QByteArray before = content(out);
    QCOMPARE(shardrun(with({"lint", "--write", out, "--rule", "idle_axis"}, idle())).code, 2);  // it exists
    QCOMPARE(content(out), before);
    QCOMPARE(shardrun({"lint", out, "--in-place", "--rule", "idle_axis"}).code, 0);
    QCOMPARE(content(out), before);  // nothing to fix: nothing is written
  }

  void in_place_replaces_the_file_whole_and_keeps_its_permissions() {
    const QString file = idle_file("idle.json");
    QFile::setPermissions(file, QFile::ReadOwner | QFile::WriteOwner);
    const auto permissions = QFile::permissions(file);
    const ProgramResult result = shardrun({"lint", file, "--in-place", "--rule", "idle_axis"});
    QCOMPARE(result.code, 0);
    QVERIFY(!content(file).contains("spare\", \"size\": 2"));
    QCOMPARE(QFile::permissions(file), permissions);
    QCOMPARE(shardrun({"validate", file}).code, 0);
    QCOMPARE(QDir(folder_.path()).entryList({"idle.json*"}, QDir::Files), QStringList{"idle.json"});
  }

  void in_place_refuses_what_is_not_the_files_own() {
    const QString file = idle_file("own.json");
    const QByteArray before = content(file);
    QCOMPARE(shardrun({"lint", file, "--in-place", "--set", "seed=3"}).code, 2);
    QCOMPARE(shardrun({"lint", "-", "--in-place"}).code, 2);
    QCOMPARE(shardrun({"lint", file, "--in-place", "--write", path("two.json")}).code, 2);
    QCOMPARE(shardrun({"lint", file, "--rule", "idle"}).code, 2);
    QCOMPARE(content(file), before);
  }

  void an_output_that_cannot_be_is_refused_before_planning() {
    const QString existing = idle_file("existing.json");
    const QByteArray before = content(existing);
    const std::pair<QStringList, QString> wrong[] = {
        {{"--write", existing}, existing + ": the file exists"},
        {{"--write", "nodir/x.json"}, "nodir/x.json: cannot write: No such"},
        {{"--json", "--write", "-"}, "--json --write -: "},
        {{"--force", "--write", preset("tiny_lm_dp")}, preset("tiny_lm_dp") + ": writing here would destroy"}};
    for (const auto& [outputs, said] : wrong) {
      const ProgramResult result = shardrun(with(QStringList{"lint"} + idle(), outputs));
      QCOMPARE(result.code, 2);
      QVERIFY(result.output.isEmpty());
      QVERIFY2(result.errors.startsWith(said), qPrintable(result.errors));
    }
    QCOMPARE(content(existing), before);
  }

  void a_rule_that_is_off_is_reported_with_its_reason() {
    const ProgramResult result =
        shardrun(with({"lint", "--rule", "idle_axis", "--set", "lint.off.idle_axis=two runs share it"}, idle()));
    QCOMPARE(result.code, 0);
    QCOMPARE(result.output, QString("off: idle_axis: two runs share it\n"));
    const ProgramResult wrong = shardrun(with({"lint", "--set", "lint.off.idel_axis=x"}, idle()));
    QCOMPARE(wrong.code, 2);
    QVERIFY2(wrong.errors.contains("'idle_axis'"), qPrintable(wrong.errors));
  }

  void the_advice_of_plan_json_is_what_lint_finds_for_certain() {
    const ProgramResult result = shardrun(with({"plan", "--json"}, idle()));
    const QJsonArray advice = QJsonDocument::fromJson(result.output.toUtf8())["advice"].toArray();
    QVERIFY(std::ranges::any_of(advice, [](const QJsonValue& text) {
      return text.toString().startsWith("mesh.axes[1]: axis 'spare' splits nothing");
    }));
  }
};

REGISTER_PROGRAM_TEST(LintCommandTest)

}  // namespace lint_test

#include "lint_test.moc"
