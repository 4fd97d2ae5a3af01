#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/cli/program.h"

namespace commands_test {

using namespace shardscope;

namespace {

const QString decoder = preset("parallax_decoder");

QJsonObject plan_of(const QStringList& arguments) {
  ProgramResult result = shardrun(QStringList{"plan", decoder, "--json"} + arguments);
  return QJsonDocument::fromJson(result.output.toUtf8()).object();
}

QString write_file(const QTemporaryDir& directory, const QString& text) {
  QString path = directory.filePath("run.json");
  QFile file(path);
  if (file.open(QIODevice::WriteOnly)) file.write(text.toUtf8());
  return path;
}

QString decoder_text() {
  QFile file(decoder);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

}  // namespace

class CommandsTest : public QObject {
  Q_OBJECT

 private slots:
  void a_right_file_is_validated_in_silence();
  void every_fault_of_a_file_is_a_line_that_names_its_place();
  void a_command_that_is_not_one_is_named_with_those_that_are_near();
  void an_option_that_is_not_one_is_named_with_those_that_are_near();
  void a_page_that_is_not_one_is_named_with_those_that_are_near();
  void messages_name_the_option_that_was_typed();
  void one_device_is_not_devices();
  void a_quiet_command_says_errors_alone();
  void what_an_assignment_breaks_is_blamed_on_it();
  void faults_of_form_and_of_meaning_are_reported_together();
  void bad_input_is_exit_code_2_with_a_reason_data();
  void bad_input_is_exit_code_2_with_a_reason();
  void a_parameter_is_drawn_as_its_spec_is_without_a_file();
  void a_spec_may_be_written_as_in_jax();
  void optimizer_state_is_sharded_as_its_parameter();
  void short_and_full_names_mean_the_same_parameter();
  void a_misspelt_parameter_gets_near_names();
  void planned_categories_and_collectives_add_up_to_their_totals();
  void wire_bytes_follow_the_ring_convention();
  void equal_files_have_equal_hashes_and_others_do_not();
  void the_tables_say_what_the_json_says();
  void an_override_may_name_what_another_one_makes();
};

void CommandsTest::a_right_file_is_validated_in_silence() {
  for (const char* name : {"parallax_decoder", "parallax_decoder_2"}) {
    ProgramResult result = shardrun({"validate", preset(name)});
    QCOMPARE(result.code, 0);
    QCOMPARE(result.output + result.errors, QString());
  }
}

void CommandsTest::every_fault_of_a_file_is_a_line_that_names_its_place() {
  QTemporaryDir directory;
  QString text = decoder_text();
  text.replace("\"vocab_size\": 1024", "\"vocab_size\": 1021").replace("\"Embed_0\"", "\"Embed_7\"");
  text.replace("\"num_heads\": 8", "\"num_head\": 8");
  QString path = write_file(directory, text);
  ProgramResult result = shardrun({"validate", path});
  QCOMPARE(result.code, 2);
  QCOMPARE(result.output, QString());
  QVERIFY2(result.error_lines().size() >= 2, qPrintable(result.errors));
  for (const QString& line : result.error_lines()) QVERIFY2(line.startsWith(path + ":"), qPrintable(line));
  QVERIFY(result.errors.contains("num_head"));
  // Read once, so that it may come through a pipe.
  QProcess piped;
  piped.start(QCoreApplication::applicationFilePath(), {"validate", "/dev/stdin"});
  piped.write(text.toUtf8());
  piped.closeWriteChannel();
  const ProgramResult same = finish(piped);
  QCOMPARE(same.code, 2);
  QCOMPARE(same.errors, QString(result.errors).replace(path, "/dev/stdin"));
}

void CommandsTest::a_command_that_is_not_one_is_named_with_those_that_are_near() {
  const auto errors_of = [](const QStringList& arguments) {
    const ProgramResult result = shardrun(arguments);
    return result.code == 2 && result.output.isEmpty() ? result.errors.trimmed() : QString::number(result.code);
  };
  QCOMPARE(errors_of({"trian", decoder}), QString("shardrun: there is no command 'trian' (did you mean 'train'?)"));
  QVERIFY(errors_of({"no-such-command"}).contains("known: validate, show, plan, train"));
  QVERIFY(!errors_of({"no-such-command"}).contains("host-agent"));
  QVERIFY(errors_of({"checkpoint", "lst"}).startsWith("checkpoint: there is no command 'lst'"));
}

void CommandsTest::an_option_that_is_not_one_is_named_with_those_that_are_near() {
  const auto errors_of = [](const QStringList& arguments) {
    const ProgramResult result = shardrun(arguments);
    return result.code == 2 && result.output.isEmpty() ? result.errors.trimmed() : QString::number(result.code);
  };
  QCOMPARE(errors_of({"plan", decoder, "--jsn"}), QString("plan: there is no option '--jsn' (did you mean '--json'?)"));
  QVERIFY(
      errors_of({"train", decoder, "--resum=ck"}).startsWith("train: there is no option '--resum' (did you mean '--r"));
  // Also where the option that is wrong has taken the run file's place from it.
  QVERIFY(errors_of({"train", "--stpes", decoder}).contains("there is no option '--stpes'"));
  QVERIFY(errors_of({"train", "--stpes"}).contains("'--steps'"));
  QVERIFY(errors_of({"checkpoint", "list", "--verfy", "x"}).contains("did you mean '--verify'?"));
  QCOMPARE(errors_of({"plan", decoder, "--qwertyuiop"}),
           QString("plan: there is no option '--qwertyuiop' ('shardrun plan --help' lists all)"));
  QCOMPARE(errors_of({"plan", decoder, "more"}),
           QString("plan: 'more' is one argument too many ('shardrun plan --help' lists all)"));
}

void CommandsTest::a_page_that_is_not_one_is_named_with_those_that_are_near() {
  QTemporaryDir folder;
  const ProgramResult result =
      shardrun({"export", decoder, "--to", "csv", folder.filePath("x.csv"), "--page", "memry"});
  QCOMPARE(result.code, 2);
  QCOMPARE(result.errors.trimmed(), QString("--page memry: csv has no page 'memry' (did you mean 'memory'?)"));
}

void CommandsTest::messages_name_the_option_that_was_typed() {
  const auto errors_of = [](const QStringList& arguments) { return shardrun(arguments).errors; };
  QVERIFY2(errors_of({"train", decoder, "--steps", "many"}).startsWith("--steps many: expected an integer, got many"),
           qPrintable(errors_of({"train", decoder, "--steps", "many"})));
  QVERIFY(errors_of({"train", decoder, "--steps", "0"}).startsWith("--steps 0: "));
  QVERIFY(errors_of({"train", decoder, "--set", "steps=0"}).startsWith("--set steps"));
  QTemporaryDir folder;
  const QString hosts = write_file(folder, "a slots=1\n");
  QVERIFY(errors_of({"plan", decoder, "--hostfile", hosts}).startsWith("--hostfile " + hosts + ": they take 1 rank, "));
  QVERIFY(errors_of({"plan", decoder, "--compare", "model.num_heads=8,7"}).startsWith("--compare model.num_heads=7: "));
  QVERIFY(
      errors_of({"show", "--mesh", "data=4", "--shape", "8", "--spec", "P('data'"}).startsWith("--spec: column 9: "));
}

void CommandsTest::one_device_is_not_devices() {
  const QString text = shardrun({"plan", decoder, "--set", "mesh.data=1", "--set", "mesh.model=1"}).output;
  QVERIFY2(text.contains(" = 1 device\n"), qPrintable(text.left(200)));
  QVERIFY(shardrun({"plan", decoder}).output.contains(" = 8 devices\n"));
}

void CommandsTest::a_quiet_command_says_errors_alone() {
  QTemporaryDir folder;
  const QString warns = preset("mintext_mlp");  // of w2, which its rule does not divide
  QVERIFY(shardrun({"validate", warns}).errors.contains("warning: "));
  for (const char* option : {"--quiet", "-q"}) {
    const ProgramResult result = shardrun({"validate", warns, option});
    QCOMPARE(result.code, 0);
    QCOMPARE(result.output + result.errors, QString());
  }
  const QStringList exports{"export", warns, "--to", "csv", folder.filePath("x.csv"), "--force"};
  QVERIFY(shardrun(exports).errors.contains("x.csv: "));
  QCOMPARE(shardrun(exports + QStringList{"--quiet"}).errors, QString());
  QVERIFY(!shardrun({"plan", warns, "--quiet"}).output.isEmpty());  // it was asked for
  QVERIFY(!shardrun({"plan", "no such file", "--quiet"}).errors.isEmpty());
}

void CommandsTest::what_an_assignment_breaks_is_blamed_on_it() {
  const ProgramResult result = shardrun({"plan", decoder, "--set", "steps=7", "--set", "mesh.data=3"});
  QCOMPARE(result.code, 2);
  QVERIFY(!result.error_lines().isEmpty());
  for (const QString& line : result.error_lines()) {
    QVERIFY2(line.startsWith("--set mesh.data=3: sharding."), qPrintable(line));
  }
  // What the file itself has wrong stays the file's.
  QTemporaryDir directory;
  QString text = decoder_text();
  const QString path = write_file(directory, text.replace("\"Embed_0\"", "\"Embed_7\""));
  const ProgramResult both = shardrun({"plan", path, "--set", "mesh.data=3"});
  QCOMPARE(both.code, 2);
  QCOMPARE(both.error_lines().filter("Embed_7").filter(path + ":").size(), 1);
  QVERIFY2(!both.error_lines().filter("--set mesh.data=3: ").isEmpty(), qPrintable(both.errors));
  // Each fault is that of the first assignment that makes it, of a value in the file or of its own.
  const ProgramResult many =
      shardrun({"plan", decoder, "--set", "model.num_heads=0", "--set", "model.num_layers=0", "--set", "seed=3"});
  QCOMPARE(many.error_lines().filter("--set model.num_heads=0: model.num_heads: ").size(), 1);
  QCOMPARE(many.error_lines().filter("--set model.num_layers=0: model.num_layers: ").size(), 1);
  const QString zero = write_file(directory, decoder_text().replace("\"num_layers\": 2", "\"num_layers\": 0"));
  QVERIFY(shardrun({"plan", zero}).errors.startsWith(zero + ":"));
  QVERIFY(shardrun({"plan", zero, "--set", "seed=3"}).errors.startsWith(zero + ":"));
  QVERIFY(shardrun({"plan", zero, "--set", "model.num_layers=0"}).errors.startsWith("--set model.num_layers=0: "));
  QVERIFY(shardrun({"plan", decoder, "--set", "mesh.model=99999999"}).errors.startsWith("--set mesh.model: "));
}

void CommandsTest::faults_of_form_and_of_meaning_are_reported_together() {
  QTemporaryDir directory;
  QString text = decoder_text();
  text.replace("\"size\": 4", "\"size\": \"four\"").replace("\"seed\": 0,\n  \"steps\"", "\"sed\": 0,\n  \"steps\"");
  text.replace("[\"data\", \"model\"]", "[\"data\", \"data\"]").replace("\"learning_rate\"", "\"learning_rte\"");
  ProgramResult result = shardrun({"validate", write_file(directory, text)});
  QCOMPARE(result.code, 2);
  for (const char* place : {"mesh.axes[0].size: ", "sed: ", "embedding[1]: ", "optimizer.learning_rte: "}) {
    QVERIFY2(result.errors.contains(place), qPrintable(result.errors));
  }
  // The size that could not be read is no reason to call a spec indivisible.
  QVERIFY2(!result.errors.contains("split"), qPrintable(result.errors));
}

void CommandsTest::bad_input_is_exit_code_2_with_a_reason_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("reason");
  auto add = [](const char* name, const QStringList& arguments, const QString& reason) {
    QTest::newRow(name) << arguments << reason;
  };
  const QStringList layout = {"show", "--mesh", "data=4,model=2", "--shape", "1024,512", "--spec"};
  add("no command", {"validate"}, "FILE");
  add("unknown option", {"plan", decoder, "--jsn"}, "--jsn");
  add("missing file", {"plan", "no_such.json"}, "no_such.json");
  add("unknown path", {"plan", decoder, "--set", "mesh.dat=2"}, "mesh.data");
  add("indivisible", {"plan", decoder, "--set", "mesh.data=3"}, "mesh");
  add("mesh of size 0", {"plan", decoder, "--set", "mesh.data=0"}, "mesh");
  add("steps without number", {"train", decoder, "--steps", "x"}, "steps");
  add("file that cannot be written", {"train", decoder, "--jsonl", "/no/such/dir"}, "/no/such/dir");
  add("steps written over the run file", {"train", decoder, "--force", "--jsonl", decoder}, "destroy");
  add("steps written over a file", {"train", decoder, "--jsonl", SHARDSCOPE_SOURCE_DIR "/LICENSE"}, "--append");
  add("parameters written over the run file", {"train", decoder, "--force", "--parameters", decoder}, "destroy");
  add("parameters and steps in one file", {"train", decoder, "--jsonl", "x", "--parameters", "./x"}, "two outputs");
  add("parameters nowhere", {"train", decoder, "--parameters", "/nowhere/x"}, "/nowhere/x");
  add("steps both added and written over", {"train", decoder, "--jsonl", "x", "--append", "--force"}, "excludes");
  add("show without parameter", {"show", decoder}, "PARAM");
  add("show with half a layout", {"show", "--mesh", "data=4"}, "--spec");
  add("show with both", layout + QStringList{"[]", decoder}, "exclude");
  add("spec that is not JSON", layout + QStringList{"[data]"}, "--spec");
  add("spec that is no list", layout + QStringList{"{}"}, "--spec");
  add("spec of numbers", layout + QStringList{"[1]"}, "--spec");
  add("spec of an empty name", layout + QStringList{R"([""])"}, "--spec");
  add("spec without end", layout + QStringList{QString(60000, '[')}, "--spec");
  add("mesh axis without end", {"show", "--mesh", QString(100000, 'x') + "=4", "--spec", "[]", "--shape", "4"},
      "--mesh");
  add("spec with nested lists", layout + QStringList{"[[[\"data\"]]]"}, "--spec");
  add("unknown axis", layout + QStringList{"[\"rows\"]"}, "rows");
  add("duplicate axis", layout + QStringList{"[\"data\",\"data\"]"}, "data");
  add("spec of too high rank", layout + QStringList{"[null,null,\"data\"]"}, "--spec");
  add("device order", layout + QStringList{"[]", "--devices", "0,1,2,3,4,5,6,6"}, "--devices");
  add("device that is no number", layout + QStringList{"[]", "--devices", "0,a"}, "--devices");
  add("mesh without size", {"show", "--mesh", "data", "--spec", "[]", "--shape", "4"}, "--mesh");
  add("shape of words", {"show", "--mesh", "data=4", "--spec", "[]", "--shape", "4,x"}, "--shape");
  add("too many dimensions", {"show", "--mesh", "data=4", "--spec", "[]", "--shape", "1,1,1,1,1,1,1,1"}, "--shape");
}

void CommandsTest::bad_input_is_exit_code_2_with_a_reason() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, reason);
  ProgramResult result = shardrun(arguments);
  QCOMPARE(result.code, 2);
  QCOMPARE(result.output, QString());
  QVERIFY2(result.errors.contains(reason), qPrintable(result.errors));
}

void CommandsTest::a_parameter_is_drawn_as_its_spec_is_without_a_file() {
  for (const QString data : {"1", "2", "4"}) {
    QStringList overrides = {"--set", "mesh.data=" + data};
    for (const QJsonValue& value : plan_of(overrides)["parameters"].toArray()) {
      QJsonObject parameter = value.toObject();
      QStringList path, shape;
      for (const QJsonValue& part : parameter["path"].toArray()) path << part.toString();
      for (const QJsonValue& size : parameter["shape"].toArray()) shape << QString::number(size.toInt());
      QString spec = QJsonDocument(parameter["spec"].toArray()).toJson(QJsonDocument::Compact);
      QStringList layout = {"show", "--mesh", "data=" + data + ",model=2", "--spec", spec, "--shape", shape.join(',')};
      for (const QStringList& how : {QStringList{}, QStringList{"--index-map"}}) {
        ProgramResult of_file = shardrun(QStringList{"show", decoder, path.join('/')} + overrides + how);
        QCOMPARE(of_file.code, 0);
        QVERIFY(!of_file.output.isEmpty());
        QCOMPARE(of_file.output, shardrun(layout + how).output);
      }
    }
  }
}

void CommandsTest::a_spec_may_be_written_as_in_jax() {
  const QStringList array{"show", "--mesh", "data=4,model=2", "--shape", "1024,512", "--spec"};
  const QString drawn = shardrun(array + QStringList{R"([["data", "model"], null])"}).output;
  QVERIFY(!drawn.isEmpty());
  for (const char* spec : {"P(('data', 'model'), None)", "PartitionSpec((\"data\", \"model\"))",
                           "jax.sharding.PartitionSpec(('data', 'model'), None)"}) {
    const ProgramResult result = shardrun(array + QStringList{spec});
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QCOMPARE(result.output, drawn);
  }
  const ProgramResult wrong = shardrun(array + QStringList{"data, model"});
  QCOMPARE(wrong.code, 2);
  QVERIFY2(wrong.errors.startsWith("--spec: ") && wrong.errors.contains("P('data', None)"), qPrintable(wrong.errors));
}

void CommandsTest::optimizer_state_is_sharded_as_its_parameter() {
  for (const QString state : {"mu", "nu"}) {
    ProgramResult result = shardrun({"show", decoder, "optimizer/" + state + "/params/Embed_0/embedding"});
    QCOMPARE(result.code, 0);
    QCOMPARE(result.output, shardrun({"show", decoder, "params/Embed_0/embedding"}).output);
  }
}

void CommandsTest::short_and_full_names_mean_the_same_parameter() {
  QCOMPARE(shardrun({"show", decoder, "Dense_0/kernel"}).output,
           shardrun({"show", decoder, "params/Dense_0/kernel"}).output);
  QCOMPARE(shardrun({"show", decoder, "optimizer/mu/Dense_0/kernel"}).output,
           shardrun({"show", decoder, "optimizer/mu/params/Dense_0/kernel"}).output);
}

void CommandsTest::a_misspelt_parameter_gets_near_names() {
  for (const QString wrong : {"Embed_0/embeding", "params/Embed_0/embeding", "optimizer/mu/params/Embed_0/embeding"}) {
    ProgramResult result = shardrun({"show", decoder, wrong});
    QCOMPARE(result.code, 2);
    QVERIFY2(result.errors.contains(QString(wrong).replace("embeding", "embedding") + "'"), qPrintable(result.errors));
  }
  ProgramResult result = shardrun({"show", decoder, "nothing like it"});
  QCOMPARE(result.code, 2);
  QVERIFY(result.errors.contains("shardrun plan"));
}

void CommandsTest::planned_categories_and_collectives_add_up_to_their_totals() {
  for (const QStringList& overrides :
       {QStringList{}, {"--set", "mesh.data=2"}, {"--set", "sharding.mode=as_written"}, {"--set", "mesh.model=1"}}) {
    QJsonObject plan = plan_of(overrides);
    QJsonObject memory = plan["memory"].toObject();
    double bytes = 0;
    for (const char* category : {"parameters", "gradients", "optimizer", "activations", "collectives", "workspace"}) {
      QVERIFY(memory.contains(category));
      bytes += memory[category].toDouble();
    }
    QVERIFY(bytes <= memory["total"].toDouble());
    QVERIFY(memory["live_lower_bound"].toDouble() <= memory["total"].toDouble());
    double wire = 0;
    for (const QJsonValue& collective : plan["collectives"].toArray()) {
      wire += collective["wire_bytes"].toDouble() * collective["count"].toDouble();
    }
    QCOMPARE(wire, plan["wire_bytes_per_device"].toDouble());
    QVERIFY(plan["flops_per_device"].toDouble() > 0);
    QVERIFY(plan["seconds_per_step"].toDouble() > 0);
  }
}

void CommandsTest::wire_bytes_follow_the_ring_convention() {
  int seen = 0;
  for (const QString mode : {"fastest", "as_written"}) {
    for (const QJsonValue& value : plan_of({"--set", "sharding.mode=" + mode})["collectives"].toArray()) {
      QJsonObject collective = value.toObject();
      double p = collective["group_size"].toDouble(), n = collective["bytes"].toDouble();
      QString kind = collective["kind"].toString();
      double factor = kind == "all-reduce" ? 2 * (p - 1) / p : kind == "collective-permute" ? 1 : (p - 1) / p;
      QVERIFY2(std::abs(collective["wire_bytes"].toDouble() - factor * n) < 1, qPrintable(kind));
      QVERIFY(!collective["op"].toString().isEmpty() && !collective["cause"].toString().isEmpty());
      QVERIFY(!collective["axes"].toArray().isEmpty());
      QVERIFY((QStringList{"forward", "backward", "update"}.contains(collective["phase"].toString())));
      ++seen;
    }
  }
  QVERIFY(seen > 10);
}

void CommandsTest::equal_files_have_equal_hashes_and_others_do_not() {
  QSet<QString> hashes;
  for (const QString assignment : {"seed=0", "seed=1", "mesh.data=2", "sharding.mode=as_written", "data.seed=5"}) {
    QString hash = plan_of({"--set", assignment})["hash"].toString();
    QCOMPARE(hash, plan_of({"--set", assignment})["hash"].toString());
    hashes.insert(hash);
  }
  QCOMPARE(hashes.size(), 5);
  QVERIFY(hashes.contains(plan_of({})["hash"].toString()));
}

void CommandsTest::the_tables_say_what_the_json_says() {
  QJsonObject plan = plan_of({});
  ProgramResult text = shardrun({"plan", decoder, "--each-layer"});
  QCOMPARE(text.code, 0);
  for (const QJsonValue& bytes : plan["memory"].toObject()) {
    if (bytes == plan["memory"].toObject()["live_lower_bound"]) continue;
    QVERIFY2(text.output.contains(QString::number(bytes.toInteger())), qPrintable(text.output));
  }
  for (const QJsonValue& parameter : plan["parameters"].toArray()) {
    QStringList path;
    for (const QJsonValue& part : parameter["path"].toArray()) path << part.toString();
    QVERIFY(text.output.contains("\n" + path.join('/') + " "));
  }
  QCOMPARE(text.output.count("all-gather  ") > 0, true);
  QVERIFY(text.output.contains(plan["hash"].toString()));
}

void CommandsTest::an_override_may_name_what_another_one_makes() {
  const QString spec = "sharding.parameters.params.SelfAttentionBlock_2.LayerNorm_0.bias=[\"model\"]";
  QCOMPARE(shardrun({"validate", decoder, "--set", spec}).code, 2);
  for (const QStringList& arguments : {QStringList{"--set", "model.num_layers=3", "--set", spec},
                                       QStringList{"--set", spec, "--set", "model.num_layers=3"}}) {
    QCOMPARE(shardrun(QStringList{"validate", decoder} + arguments).code, 0);
    QCOMPARE(plan_of(arguments)["parameters"].toArray().size(), 52);
  }
}

REGISTER_PROGRAM_TEST(CommandsTest)

}  // namespace commands_test

#include "commands_test.moc"
