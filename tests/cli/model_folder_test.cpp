#include <QDir>
#include <QFile>
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

  void overrides_are_set_by_their_path() {
    const ProgramResult plan =
        shardrun({"plan", preset("llama_tiny"), "--set", "model.overrides.num_hidden_layers=1", "--set",
                  "model.overrides.rope_scaling.rope_type=linear", "--set", "model.overrides.rope_scaling.factor=2"});
    QVERIFY2(plan.code == 0, qPrintable(plan.errors));
    const ProgramResult wrong = shardrun({"validate", preset("llama_tiny"), "--set", "model.overrides.hidden_size=-1"});
    QCOMPARE(wrong.code, 2);
    QVERIFY2(wrong.errors.contains("overrides.hidden_size"), qPrintable(wrong.errors));
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
