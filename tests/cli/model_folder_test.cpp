#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/cli/program.h"

namespace model_folder_test {

using namespace shardscope;

namespace {

const QString models = SHARDSCOPE_SOURCE_DIR "/presets/models/";

QStringList losses(const ProgramResult& result) {
  return result.output_lines().filter(QRegularExpression("^Step \\d+: Loss"));
}

QByteArray text_of(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void write(const QString& path, const QByteArray& text) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(text);
}

}  // namespace

class ModelFolderTest : public QObject {
  Q_OBJECT

 private slots:
  void new_writes_a_run_file_that_is_legal() {
    QTemporaryDir folder;
    for (const char* model : {"llama_tiny", "mixtral_tiny", "llama-3.1-405b", "gpt-oss-120b"}) {
      const QString out = folder.filePath(QString(model) + ".json");
      const ProgramResult made = shardrun({"new", models + model, out, "--devices", "8"});
      QVERIFY2(made.code == 0, qPrintable(made.errors));
      const ProgramResult checked = shardrun({"validate", out});
      QVERIFY2(checked.code == 0 && checked.errors.isEmpty(), qPrintable(checked.errors));
    }
    QCOMPARE(shardrun({"new", models + "llama_tiny", folder.filePath("llama_tiny.json")}).code, 2);  // it exists
    QCOMPARE(shardrun({"new", folder.path(), folder.filePath("none.json")}).code, 2);
  }

  void new_writes_fields_that_are_ignored_into_the_run_file() {
    QTemporaryDir folder;
    const QString out = folder.filePath("run.json");
    QJsonObject config = QJsonDocument::fromJson(text_of(models + "llama_tiny/config.json")).object();
    config["mine"] = 1;
    config["rope_scaling"] = QJsonObject{{"rope_type", "linear"}, {"factor", 2}, {"yours", 2}};
    config.remove("rope_parameters");
    write(folder.filePath("config.json"), QJsonDocument(config).toJson());
    const ProgramResult refused = shardrun({"new", folder.path(), out});
    QCOMPARE(refused.code, 2);
    for (const char* hint : {"--ignore mine", "--ignore rope_scaling.yours"})
      QVERIFY2(refused.errors.contains(hint), qPrintable(refused.errors));
    const ProgramResult made =
        shardrun({"new", folder.path(), out, "--ignore", "mine", "--ignore", "rope_scaling.yours"});
    QVERIFY2(made.code == 0, qPrintable(made.errors));
    const QJsonObject model = QJsonDocument::fromJson(text_of(out)).object()["model"].toObject();
    QCOMPARE(model["ignore"].toArray(), (QJsonArray{"mine", "rope_scaling.yours"}));
    const ProgramResult checked = shardrun({"validate", out});
    QVERIFY2(checked.code == 0 && checked.errors.isEmpty(), qPrintable(checked.errors));
  }

  // Written as in config.json.
  void overrides_may_be_null_and_lists_of_numbers() {
    QTemporaryDir folder;
    QJsonObject run = QJsonDocument::fromJson(text_of(preset("llama_tiny"))).object();
    QJsonObject model = run["model"].toObject();
    const QString file = folder.filePath("run.json"), again = folder.filePath("again.json");
    const auto write_run = [&] {
      run["model"] = model;
      write(file, QJsonDocument(run).toJson());
    };
    const QJsonArray factors{1, 1.5, 2, 2};
    model["path"] = models + "llama_tiny";
    const QJsonObject overrides{
        {"rope_scaling", QJsonObject{{"rope_type", "longrope"}, {"short_factor", factors}, {"long_factor", factors}}},
        {"head_dim", QJsonValue()}};
    model["overrides"] = overrides;
    write_run();
    const ProgramResult checked = shardrun({"validate", file});
    QVERIFY2(checked.code == 0, qPrintable(checked.errors));
    const ProgramResult expanded = shardrun({"expand", file, again});
    QVERIFY2(expanded.code == 0, qPrintable(expanded.errors));
    const QJsonObject written = QJsonDocument::fromJson(text_of(again)).object()["model"].toObject();
    QCOMPARE(written["overrides"].toObject(), overrides);
    model["overrides"] = QJsonObject{{"layer_types", QJsonArray{1, "full_attention"}}};
    write_run();
    QCOMPARE(shardrun({"validate", file}).code, 2);
    model.remove("overrides");
    model["ignore"] = QJsonValue();
    write_run();
    QCOMPARE(shardrun({"validate", file}).code, 2);
  }

  void overrides_are_set_by_their_path() {
    const ProgramResult plan =
        shardrun({"plan", preset("llama_tiny"), "--set", "model.overrides.num_hidden_layers=1", "--set",
                  "model.overrides.rope_scaling.rope_type=linear", "--set", "model.overrides.rope_scaling.factor=2"});
    QVERIFY2(plan.code == 0, qPrintable(plan.errors));
    const ProgramResult wrong = shardrun({"validate", preset("llama_tiny"), "--set", "model.overrides.hidden_size=-1"});
    QCOMPARE(wrong.code, 2);
    QVERIFY2(wrong.errors.contains("overrides.hidden_size"), qPrintable(wrong.errors));
    const ProgramResult whole = shardrun({"validate", preset("llama_tiny"), "--set", "model.overrides={}"});
    QCOMPARE(whole.code, 2);
    QVERIFY2(whole.errors.contains("such as model.overrides.NAME=VALUE"), qPrintable(whole.errors));
  }

  // What was trained, exported and begun with again goes on as if it had not been.
  void an_exported_model_begins_where_the_run_ended_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QStringList>("settings");
    for (const char* name : {"llama_tiny", "deepseek_v3_tiny", "gpt_oss_tiny"})
      QTest::newRow(name) << name << QStringList();
    for (const QString family : {"gpt2", "mpt", "phi3"}) {
      const QString config = SHARDSCOPE_SOURCE_DIR "/tests/fuzz/corpus/model_configs/" + family + ".json";
      QTest::newRow(qPrintable(family)) << "llama_tiny"
                                        << QStringList{"--set", "model.path=" + config, "--set",
                                                       "data.sequence_length=12"};
    }
  }
  void an_exported_model_begins_where_the_run_ended() {
    QFETCH(QString, name);
    QFETCH(QStringList, settings);
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved"), exported = folder.filePath("exported");
    // Plain gradient descent keeps no state that the second run would lack.
    const QStringList run = QStringList{"train", preset(name),        "--set", "optimizer.name=sgd",
                                        "--set", "optimizer.decay=0", "--set", "data.batch_size=4"} +
                            settings;
    const ProgramResult whole = shardrun(run + QStringList{"--steps", "4"});
    QVERIFY2(whole.code == 0, qPrintable(whole.errors));
    QCOMPARE(shardrun(run + QStringList{"--steps", "2", "--checkpoint", saved}).code, 0);
    const ProgramResult made = shardrun({"checkpoint", "export", saved, exported, "--huggingface"});
    QVERIFY2(made.code == 0, qPrintable(made.errors));
    QCOMPARE(QDir(exported).entryList(QDir::Files), (QStringList{"config.json", "model.safetensors"}));
    const QJsonObject config = QJsonDocument::fromJson(text_of(exported + "/config.json")).object();
    QCOMPARE(config["dtype"].toString(), QString("float32"));
    const ProgramResult again = shardrun(run + QStringList{"--steps", "2", "--set", "model.path=" + exported});
    QVERIFY2(again.code == 0, qPrintable(again.errors));
    const QStringList all = losses(whole), rest = losses(again);
    QCOMPARE(rest.size(), qsizetype{2});
    for (int i = 0; i < 2; ++i) QCOMPARE(rest[i].section(": ", 1), all[i + 2].section(": ", 1));
    QVERIFY(shardrun({"checkpoint", "export", saved, exported, "--huggingface"}).code != 0);  // it exists
  }

  void an_export_by_the_config_of_another_model_is_refused_and_writes_nothing_data() {
    QTest::addColumn<QString>("field");
    QTest::addColumn<int>("value");
    QTest::addColumn<QStringList>("named");
    const auto add = [](const char* field, int value, const QStringList& named) {
      QTest::newRow(field) << field << value << named;
    };
    add("intermediate_size", 96, {"model.layers.0.mlp.up_proj.weight", "(96, 64)", "(160, 64)"});
    add("num_hidden_layers", 3, {"model.layers.2.mlp.up_proj.weight", "missing in the checkpoint"});
    add("num_hidden_layers ", 1, {"model.layers.1.mlp.up_proj.weight", "missing by the config"});
  }
  void an_export_by_the_config_of_another_model_is_refused_and_writes_nothing() {
    QFETCH(QString, field);
    QFETCH(int, value);
    QFETCH(QStringList, named);
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved"), config = folder.filePath("config.json");
    QVERIFY(QFile::copy(models + "llama_tiny/config.json", config));
    QCOMPARE(shardrun({"train", preset("llama_tiny"), "--steps", "1", "--checkpoint", saved, "--set",
                       "model.path=" + folder.path()})
                 .code,
             0);
    QJsonObject changed = QJsonDocument::fromJson(text_of(config)).object();
    changed[field.trimmed()] = value;
    QVERIFY(QFile::remove(config));
    write(config, QJsonDocument(changed).toJson());
    const QStringList before = QDir(folder.path()).entryList(QDir::AllEntries | QDir::Hidden);
    const ProgramResult result =
        shardrun({"checkpoint", "export", saved, folder.filePath("exported"), "--huggingface"});
    QVERIFY(result.code != 0);
    for (const QString& text : named + QStringList{config})
      QVERIFY2(result.errors.contains(text), qPrintable(result.errors));
    QCOMPARE(QDir(folder.path()).entryList(QDir::AllEntries | QDir::Hidden), before);
  }

  void an_exported_folder_has_the_tokenizers_files_and_no_others() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved"), model = folder.filePath("model");
    QVERIFY(QDir().mkpath(model) && QFile::copy(models + "llama_tiny/config.json", model + "/config.json"));
    const QStringList kept{"chat_template.jinja", "chat_template.json", "merges.txt", "tokenizer.json", "vocab.txt"};
    for (const QString& name : kept + QStringList{"README.md", "optimizer.pt"}) write(model + "/" + name, "x");
    QCOMPARE(
        shardrun({"train", preset("llama_tiny"), "--steps", "1", "--checkpoint", saved, "--set", "model.path=" + model})
            .code,
        0);
    const QString out = folder.filePath("exported");
    const ProgramResult made = shardrun({"checkpoint", "export", saved, out + "/", "--huggingface"});  // OUT/ is OUT
    QVERIFY2(made.code == 0, qPrintable(made.errors));
    QStringList expected = kept + QStringList{"config.json", "model.safetensors"};
    expected.sort();
    QCOMPARE(QDir(out).entryList(QDir::Files, QDir::Name), expected);
    QVERIFY(!QFileInfo(out + ".part").exists());

    const ProgramResult stream = shardrun({"checkpoint", "export", saved, "-", "--huggingface"});
    QVERIFY2(stream.code != 0 && stream.errors.contains("a new folder"), qPrintable(stream.errors));
  }

  void an_export_removes_nothing_that_it_did_not_make() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved"), out = folder.filePath("exported"), part = out + ".part";
    QCOMPARE(shardrun({"train", preset("llama_tiny"), "--steps", "1", "--checkpoint", saved}).code, 0);
    const auto is_refused = [&](const QString& named) {
      const ProgramResult result = shardrun({"checkpoint", "export", saved, out + "/", "--huggingface"});
      return result.code != 0 && result.errors.contains(named + ":");
    };
    for (const QString& at : {out, part}) {
      QVERIFY(QFile::link(folder.filePath("nothing"), at));
      QVERIFY(is_refused(at) && QFileInfo(at).isSymLink());
      QVERIFY(QFile::remove(at));
      write(at, "x");
      QVERIFY(is_refused(at) && QFileInfo(at).isFile());
      QVERIFY(QFile::remove(at));
      QVERIFY(QDir().mkpath(at + "/deep"));
      QVERIFY(is_refused(at) && QFileInfo(at + "/deep").isDir());
      QVERIFY(QDir(at).removeRecursively());
    }
  }

  void weights_of_another_model_are_named() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved"), exported = folder.filePath("exported");
    QCOMPARE(shardrun({"train", preset("llama_tiny"), "--steps", "1", "--checkpoint", saved}).code, 0);
    QCOMPARE(shardrun({"checkpoint", "export", saved, exported, "--huggingface"}).code, 0);
    const QStringList run{"train", preset("llama_tiny"), "--steps", "1", "--set", "model.path=" + exported};
    const ProgramResult layers = shardrun(run + QStringList{"--set", "model.overrides.num_hidden_layers=3"});
    QVERIFY(layers.code != 0);
    QVERIFY2(layers.errors.contains("model.layers.2.self_attn.q_proj.weight"), qPrintable(layers.errors));
    const ProgramResult fewer = shardrun(run + QStringList{"--set", "model.overrides.num_hidden_layers=1"});
    QVERIFY2(fewer.code != 0 && fewer.errors.contains("model.layers.1."), qPrintable(fewer.errors));
    const ProgramResult wider = shardrun(run + QStringList{"--set", "model.overrides.intermediate_size=96"});
    QVERIFY2(wider.code != 0 && wider.errors.contains("expected (96, 64)"), qPrintable(wider.errors));
    const ProgramResult random = shardrun(
        run + QStringList{"--set", "model.overrides.intermediate_size=96", "--set", "model.initialise=random"});
    QVERIFY2(random.code == 0, qPrintable(random.errors));
  }
};

REGISTER_PROGRAM_TEST(ModelFolderTest)

}  // namespace model_folder_test

#include "model_folder_test.moc"
