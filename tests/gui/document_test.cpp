#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <random>

#include "engine/base/error.h"
#include "engine/config/parse.h"
#include "engine/config/write.h"
#include "gui/document/config_difference.h"
#include "tests/gui/made_plan.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace document_test {

using namespace shardscope;

class DocumentTest : public QObject {
  Q_OBJECT

  static void random_edit(Document& document, std::mt19937& random) {
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    switch (pick(6)) {
      case 0: return set_axis_size(document, pick(2), 1 << pick(4));
      case 1:
        return set_spec_dim(document, ParameterRef{{"params", "Embed_0", "embedding"}}, 2, pick(2),
                            pick(2) ? std::vector<std::string>{"data"} : std::vector<std::string>{});
      case 2: return set_spec_dim(document, ParameterRef{{"params", "Dense_0", "bias"}}, 1, 0, {"model"});
      case 3: return set_mode(document, static_cast<LayoutMode>(pick(2)));
      case 4: return set_option(document, OptionGroup::optimizer, "learning_rate", 1e-3 * pick(9));
      default: return set_steps(document, pick(100));
    }
  }

 private slots:
  void what_differs_is_listed_by_the_settings_of_the_file() {
    const RunConfig before = made::config();
    QVERIFY(differences(before, before).empty());
    RunConfig after = before;
    after.steps += 2;
    after.mesh_axes[1].size = 4;
    after.sharding.parameters.pop_back();
    after.mesh_axes.push_back({"pipeline", 2});
    const std::vector<SettingDifference> list = differences(before, after);
    const auto has = [&](const char* setting, const QString& old, const QString& now) {
      return std::ranges::count(list, SettingDifference{setting, old, now}) == 1;
    };
    QVERIFY(has("steps", QString::number(before.steps), QString::number(after.steps)));
    QVERIFY(has("mesh.axes[1].size", "2", "4"));
    QVERIFY(has("mesh.axes[2].name", "", "\"pipeline\""));
    QVERIFY(std::ranges::any_of(list, [](const SettingDifference& each) {
      return each.setting.endsWith("Attention_0.query.kernel") && each.after.isEmpty();
    }));
    QCOMPARE(list.size(), size_t{5});
    RunConfig parts = before;
    parts.schedule.microbatches = 2;
    const SettingDifference cut{"schedule.microbatches", "1", "2"}, joined{"schedule.microbatches", "2", "1"};
    QCOMPARE(differences(before, parts), std::vector{cut});
    QCOMPARE(differences(parts, before), std::vector{joined});
    QCOMPARE(line_differences("a\nb\nc", "a\nx\nc").size(), size_t{1});
    QCOMPARE(line_differences("a\nb", "a\nb").size(), size_t{0});
  }

  void a_reload_is_one_edit_and_the_file_counts_as_saved() {
    const QTemporaryDir folder;
    const QString path = folder.filePath("run.json");
    Document document;
    document.reset(made::config(), {});
    document.save(path);
    QCOMPARE(document.stored_file().state, FileState::same);
    set_steps(document, 5);
    const RunConfig mine = document.config();
    Document other;
    other.load(path);
    set_steps(other, 6);
    other.save(path);
    QCOMPARE(document.stored_file().state, FileState::changed);
    QCOMPARE(document.stored_file().config.steps, int64_t{6});
    document.reload();
    QVERIFY(document.config() == other.config() && !document.is_modified());
    QCOMPARE(document.stored_file().state, FileState::same);
    document.undo_stack().undo();
    QVERIFY(document.config() == mine && document.is_modified());
    QVERIFY(QFile::remove(path));
    QCOMPARE(document.stored_file().state, FileState::missing);
    QVERIFY_THROWS_EXCEPTION(Failure, document.reload());
    QVERIFY(document.config() == mine);
  }

  void undo_of_everything_gives_the_first_config_and_redo_the_last() {
    std::mt19937 random(7);
    for (int round = 0; round < 20; ++round) {
      Document document;
      document.reset(made::config(), {});
      std::vector<RunConfig> states{document.config()};
      for (int i = 0; i < 30; ++i) {
        const int before = document.undo_stack().index();
        random_edit(document, random);
        if (document.undo_stack().index() > before) {
          states.push_back(document.config());
        } else if (document.undo_stack().index() == before) {
          states.back() = document.config();
        } else {
          states.pop_back();
        }
      }
      QCOMPARE(static_cast<int>(states.size()), document.undo_stack().count() + 1);
      for (size_t i = states.size(); i-- > 0;) {
        QVERIFY(document.config() == states[i]);
        document.undo_stack().undo();
      }
      QVERIFY(!document.is_modified());
      for (const RunConfig& state : states) {
        QVERIFY(document.config() == state);
        document.undo_stack().redo();
      }
    }
  }

  void successive_steps_of_one_field_are_one_edit_and_other_fields_end_it() {
    Document document;
    document.reset(made::config(), {});
    for (int size : {5, 6, 7, 8}) set_axis_size(document, 0, size);
    QCOMPARE(document.undo_stack().count(), 1);
    set_axis_size(document, 1, 4);
    set_axis_size(document, 0, 2);
    QCOMPARE(document.undo_stack().count(), 3);
    QCOMPARE(document.undo_stack().undoText(), QString("mesh axis data = 2"));
    for (int i = 0; i < 3; ++i) document.undo_stack().undo();
    QVERIFY(document.config() == made::config());
  }

  void an_edit_after_a_pause_or_after_an_undo_is_one_of_its_own() {
    Document document(std::chrono::milliseconds(1));
    document.reset(made::config(), {});
    set_axis_size(document, 0, 8);
    QTRY_VERIFY_WITH_TIMEOUT(!document.is_edit_open(), patience);
    set_axis_size(document, 0, 2);
    QCOMPARE(document.undo_stack().count(), 2);
    document.undo_stack().undo();
    set_axis_size(document, 0, 1);
    QCOMPARE(document.undo_stack().count(), 2);
    document.undo_stack().undo();
    QCOMPARE(document.config().mesh_axes[0].size, int64_t{8});
  }

  void an_edit_that_was_closed_takes_no_more_steps() {
    Document document;
    document.reset(made::config(), {});
    set_axis_size(document, 0, 8);
    document.close_edit();
    set_axis_size(document, 0, 2);
    QCOMPARE(document.undo_stack().count(), 2);
  }

  void stepping_back_to_the_start_leaves_no_edit() {
    Document document;
    document.reset(made::config(), {});
    set_axis_size(document, 0, 5);
    set_axis_size(document, 0, 4);
    QCOMPARE(document.undo_stack().count(), 0);
    QVERIFY(!document.is_modified());
  }

  void an_edit_without_a_difference_is_none() {
    Document document;
    document.reset(made::config(), {});
    set_axis_size(document, 0, 4);
    set_spec_dim(document, ParameterRef{{"params", "Dense_0", "bias"}}, 1, 0, {});
    set_mode(document, LayoutMode::fastest);
    QCOMPARE(document.undo_stack().count(), 0);
  }

  void a_file_stays_the_same_where_the_program_goes_to_another_folder() {
    const QTemporaryDir folder;
    const QString here = QDir::currentPath(), path = QFileInfo(folder.filePath("run.json")).absoluteFilePath();
    Document document;
    document.reset(made::config(), {});
    document.save(path);
    QVERIFY(QDir::setCurrent(folder.path()));
    Document other;
    other.load("run.json");
    const QString loaded = other.path();
    other.save("copy.json");
    const QString saved = other.path();
    QVERIFY(QDir::setCurrent(here));
    QCOMPARE(QFileInfo(loaded).canonicalFilePath(), QFileInfo(path).canonicalFilePath());
    QCOMPARE(QFileInfo(saved).canonicalFilePath(), QFileInfo(folder.filePath("copy.json")).canonicalFilePath());
  }

  void a_path_from_the_folder_of_the_file_is_saved_as_it_was_written() {
    const QTemporaryDir folder;
    QVERIFY(QDir(folder.path()).mkpath("runs"));
    const QString path = folder.filePath("runs/run.json");
    RunConfig config = made::config();
    config.machine = R"("../machines/mine.json")";
    save_run_config(config, path.toStdString());
    Document document;
    document.load(path);
    RunConfig other = made::config();
    other.machine = document.config().machine;
    other.steps = 77;
    document.edit(other, "all of it, as a search or lint gives it");
    document.save(path);
    const RunConfig saved = load_run_config(path.toStdString());
    QCOMPARE(saved.machine, config.machine);
    QCOMPARE(saved.steps, int64_t{77});
  }

  void what_is_saved_is_what_is_loaded() {
    QTemporaryDir folder;
    Document document;
    document.reset(made::config(), {});
    set_spec_dim(document, ParameterRef{{"params", "Dense_0", "bias"}}, 1, 0, {"data", "model"});
    QVERIFY(document.is_modified());
    const QString path = folder.filePath("run.json");
    document.save(path);
    QVERIFY(!document.is_modified());
    Document other;
    other.load(path);
    QVERIFY(other.config() == document.config());
    QCOMPARE(other.title(), QString("run.json"));
  }

  void a_file_that_cannot_be_read_changes_nothing() {
    Document document;
    document.reset(made::config(), {});
    set_steps(document, 77);
    QVERIFY_EXCEPTION_THROWN(document.load("/nowhere/run.json"), Failure);
    QCOMPARE(document.config().steps, int64_t{77});
    QVERIFY(document.undo_stack().canUndo());
  }
};

REGISTER_WINDOW_TEST(DocumentTest)

}  // namespace document_test

#include "document_test.moc"
