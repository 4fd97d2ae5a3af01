#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <QtTest>

#include "engine/export/strategy_format.h"
#include "tests/export/exported.h"
#include "tests/test_program.h"

namespace full_disk_test {

using namespace shardscope;
using namespace shardscope::test;

namespace fs = std::filesystem;

// Every kind, pictures too, on a disk of two pages that are both taken, and on one that cannot be written. Root alone
// can mount one: in a name space of this process.
class FullDiskTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }
  QStringList left() const { return QDir(folder_.path()).entryList(QDir::AllEntries | QDir::NoDotAndDotDot); }

  void mount(const char* options) const {
    QVERIFY2(::mount("disk", folder_.path().toUtf8().constData(), "tmpfs", 0, options) == 0, std::strerror(errno));
  }

  // Nothing can be written to a new name, nor over what is there.
  void expect_refusals(const char* why) {
    const ExportSource made = made_source("tiny_text");
    ExportSource of_strategy{nullptr, {}, {}, load_run_file(preset_path("tiny_text"))};
    of_strategy.config->strategy.emplace();
    QCOMPARE(failure_of([&] { write_new_file(path("new.json"), "text"); }).code, std::string("unwritable_file"));
    QCOMPARE(failure_of([&] { write_new_file(path("old_file.tfevents"), "text"); }).code, std::string("file_exists"));
    std::vector<ExportKind> kinds = export_kinds();
    std::ranges::copy(strategy_kinds(), std::back_inserter(kinds));
    for (const ExportKind& kind : kinds) {
      const ExportSource& source = find_strategy_format(kind.name) ? of_strategy : made;
      const bool is_folder = kind.extension.empty();
      ExportTarget::Options force;
      force.existing = Existing::overwrite;
      for (const std::string& out : {path("new.tfevents"), path(is_folder ? "old_folder" : "old_file.tfevents")}) {
        const Error error = failure_of([&] { export_source(kind, source, {}, out, force); });
        QCOMPARE(error.code, std::string("unwritable_file"));
        QVERIFY2(error.place.file.starts_with(out), (kind.name + ": " + to_string(error)).c_str());
        QVERIFY2(error.message.ends_with(why), (kind.name + ": " + to_string(error)).c_str());
      }
      QCOMPARE(left(), (QStringList{"old_file.tfevents", "old_folder"}));
      QCOMPARE(text_of(path("old_file.tfevents")), std::string("old"));
      QCOMPARE(text_of(path("old_folder/run.json")), std::string("old"));
    }
  }

 private slots:
  void initTestCase() {
    if (::geteuid() != 0 || ::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      QSKIP("a disk cannot be mounted here");
  }
  void init() {
    mount("size=8k");
    fs::create_directory(path("old_folder"));
    std::ofstream(path("old_file.tfevents")) << "old";
    std::ofstream(path("old_folder/run.json")) << "old";
  }
  void cleanup() { QCOMPARE(::umount(folder_.path().toUtf8().constData()), 0); }

  void a_full_disk_is_said_nothing_is_left_and_what_was_there_stays() { expect_refusals("No space left on device"); }

  void a_disk_that_cannot_be_written_likewise() {
    QCOMPARE(::mount("disk", folder_.path().toUtf8().constData(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
    expect_refusals("Read-only file system");
  }
};

REGISTER_CORE_TEST(FullDiskTest)

}  // namespace full_disk_test

#include "full_disk_test.moc"
