#include <QTest>
#include <filesystem>

#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/plan/utilisation.h"
#include "tests/test_program.h"

namespace published_presets_test {

using namespace shardscope;
namespace fs = std::filesystem;

namespace {

const fs::path presets = SHARDSCOPE_SOURCE_DIR "/presets";

std::vector<std::string> published_models() {
  std::vector<std::string> names;
  for (const fs::directory_entry& folder : fs::directory_iterator(presets / "models")) {
    const std::string name = folder.path().filename().string();
    if (!name.ends_with("_tiny")) names.push_back(name);
  }
  return names;
}

}  // namespace

class PublishedPresetsTest : public QObject {
  Q_OBJECT

 private slots:
  // Each published configuration has a run file, whose plan fits its machine and uses it.
  void published_models_fit_their_clusters_data() {
    QTest::addColumn<QString>("name");
    for (const std::string& name : published_models()) QTest::newRow(name.c_str()) << QString::fromStdString(name);
  }
  void published_models_fit_their_clusters() {
    QFETCH(QString, name);
    const fs::path file = presets / "published" / (name.toStdString() + ".json");
    const RunConfig config = load_run_file(file);
    const Plan plan = compile(plan_request(config));
    QVERIFY(plan.machine.name != "host");
    int64_t held = plan.totals.allocator_bytes;
    for (int64_t bytes : plan.totals.device_memory) held += bytes;
    QVERIFY2(plan.memory_limit_bytes > 0 && held <= plan.memory_limit_bytes,
             qPrintable(QString("%1 of %2").arg(held).arg(plan.memory_limit_bytes)));
    const double mfu = utilisation(plan).mfu();
    QVERIFY2(mfu > 0.01 && mfu < 1, qPrintable(QString::number(mfu)));
  }
};

REGISTER_TEST(PublishedPresetsTest)

}  // namespace published_presets_test

#include "published_presets_test.moc"
