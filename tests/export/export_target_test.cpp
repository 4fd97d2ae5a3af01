#include "engine/export/export_target.h"

#include <sys/stat.h>

#include <QtTest>
#include <filesystem>

#include "tests/export/exported.h"
#include "tests/test_program.h"

namespace export_target_test {

using namespace shardscope;
using namespace shardscope::test;

namespace fs = std::filesystem;

// All or nothing, and nothing that exists is lost unasked.
class ExportTargetTest : public QObject {
  Q_OBJECT

  using Form = ExportTarget::Form;

  std::unique_ptr<QTemporaryDir> folder_;
  std::string path(const char* name) const { return folder_->filePath(name).toStdString(); }
  QStringList left() const {
    return QDir(folder_->path()).entryList(QDir::AllEntries | QDir::System | QDir::Hidden | QDir::NoDotAndDotDot);
  }
  static void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  // The code of the failure, where it is located at the path or below it.
  static std::string write(const std::string& path, Form form, ExportTarget::Options options = {}) {
    try {
      ExportTarget target(path, form, std::move(options));
      if (form == Form::file) target.write("new");
      else target.add_file("a", "new a"), target.add_file("deep/b", "new b", true);
      target.keep();
    } catch (const Failure& failure) {
      const Error& error = failure.errors().front();
      return error.place.file.starts_with(path) ? error.code : "elsewhere: " + to_string(error);
    }
    return "";
  }

 private slots:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void what_is_kept_has_its_own_name_and_nothing_else_is_left() {
    QCOMPARE(write(path("file"), Form::file), std::string());
    QCOMPARE(write(path("folder/"), Form::folder), std::string());
    QCOMPARE(left(), (QStringList{"file", "folder"}));
    QCOMPARE(text_of(path("file")), std::string("new"));
    QCOMPARE(text_of(path("folder/deep/b")), std::string("new b"));
    QVERIFY(QFileInfo(folder_->filePath("folder/deep/b")).isExecutable());
    QVERIFY(!QFileInfo(folder_->filePath("folder/a")).isExecutable());
  }

  void without_keep_nothing_is_left() {
    for (Form form : {Form::file, Form::folder}) {
      ExportTarget target(path("x"), form, {});
      if (form == Form::file) target.write("text");
      else target.add_file("a", "text");
      QCOMPARE(left(), QStringList{"x.part"});
    }
    QCOMPARE(left(), QStringList());
  }

  void what_exists_is_refused_unless_it_may_be_lost() {
    put(path("file"), "old");
    fs::create_directory(path("folder"));
    put(path("folder/a"), "old");
    put(path("folder/mine"), "old");
    QCOMPARE(write(path("file"), Form::file), std::string("file_exists"));
    QCOMPARE(write(path("folder"), Form::folder), std::string("file_exists"));
    QCOMPARE(text_of(path("file")) + text_of(path("folder/a")), std::string("oldold"));
    ExportTarget::Options force;
    force.existing = Existing::overwrite;
    QCOMPARE(write(path("file"), Form::file, force), std::string());
    QCOMPARE(write(path("folder"), Form::folder, force), std::string());
    QCOMPARE(text_of(path("file")) + text_of(path("folder/a")), std::string("newnew a"));
    QCOMPARE(text_of(path("folder/mine")), std::string("old"));
    QCOMPARE(text_of(path("folder/deep/b")), std::string("new b"));
    QCOMPARE(left(), (QStringList{"file", "folder"}));
  }

  void a_file_is_no_folder_and_a_folder_no_file() {
    put(path("file"), "old");
    fs::create_directory(path("folder"));
    for (Existing existing : {Existing::refuse, Existing::overwrite}) {
      ExportTarget::Options options;
      options.existing = existing;
      QCOMPARE(write(path("file"), Form::folder, options), std::string("file_exists"));
      QCOMPARE(write(path("folder"), Form::file, options), std::string("unwritable_file"));
    }
    QCOMPARE(text_of(path("file")), std::string("old"));
  }

  void an_input_is_never_written_over_under_whatever_name() {
    put(path("input"), "old");
    fs::create_hard_link(path("input"), path("same"));
    fs::create_symlink(path("input"), path("link"));
    fs::create_directory(path("folder"));
    fs::create_hard_link(path("input"), path("folder/a"));
    ExportTarget::Options force;
    force.existing = Existing::overwrite;
    force.inputs = {path("input")};
    for (const char* name : {"input", "same", "link"})
      QCOMPARE(write(path(name), Form::file, force), std::string("output_is_input"));
    QCOMPARE(write(path("folder"), Form::folder, force), std::string("output_is_input"));
    QCOMPARE(text_of(path("input")), std::string("old"));
    QVERIFY(!left().join(' ').contains(".part"));
  }

  void links_in_a_folder_that_is_written_over_are_not_followed() {
    ExportTarget::Options force;
    force.existing = Existing::overwrite;
    fs::create_directory(path("archive"));
    put(path("archive/b"), "kept");
    put(path("target"), "kept");
    fs::create_directory(path("folder"));
    put(path("folder/a"), "old");
    fs::create_directory_symlink(path("archive"), path("folder/deep"));
    QCOMPARE(write(path("folder"), Form::folder, force), std::string("file_exists"));
    QCOMPARE(text_of(path("archive/b")) + text_of(path("folder/a")), std::string("keptold"));
    fs::remove(path("folder/deep"));
    fs::create_directory(path("folder/deep"));
    fs::create_symlink(path("target"), path("folder/deep/b"));
    QCOMPARE(write(path("folder"), Form::folder, force), std::string("file_exists"));
    fs::create_directory_symlink(path("folder"), path("link"));
    QCOMPARE(write(path("link"), Form::folder, force), std::string("file_exists"));
    QCOMPARE(text_of(path("target")) + text_of(path("folder/a")), std::string("keptold"));
    QCOMPARE(left(), (QStringList{"archive", "folder", "link", "target"}));
  }

  void of_a_folder_that_cannot_be_written_over_as_a_whole_all_stays() {
    ExportTarget::Options force;
    force.existing = Existing::overwrite;
    for (const char* in_the_way : {"folder/deep", "folder/deep/b"}) {
      fs::remove_all(path("folder"));
      fs::create_directories(path("folder"));
      put(path("folder/a"), "old");
      if (std::string(in_the_way).ends_with("b")) fs::create_directories(path("folder/deep/b/c"));
      else put(path("folder/deep"), "old");
      QCOMPARE(write(path("folder"), Form::folder, force), std::string("file_exists"));
      QCOMPARE(text_of(path("folder/a")), std::string("old"));
    }
  }

  // The last of its files cannot take its place: what has done so already goes back.
  void what_was_exchanged_comes_back_where_the_rest_cannot_be() {
    ExportTarget::Options force;
    force.existing = Existing::overwrite;
    fs::create_directory(path("folder"));
    put(path("folder/a"), "old");
    ExportTarget target(path("folder"), Form::folder, force);
    for (const char* name : {"new", "a", "z"}) target.add_file(name, "new");
    fs::remove(path("folder.part/z"));
    QCOMPARE(failure_code([&] { target.keep(); }), std::string("unwritable_file"));
    QCOMPARE(text_of(path("folder/a")), std::string("old"));
    QVERIFY(!fs::exists(path("folder/new")));
  }

  void a_place_that_cannot_be_written_is_named_and_nothing_is_left() {
    put(path("file"), "old");
    for (Form form : {Form::file, Form::folder}) {
      QCOMPARE(write(path("none/x"), form), std::string("unwritable_file"));
      QCOMPARE(write(path("file/x"), form), std::string("unwritable_file"));
      QCOMPARE(write("/proc/shardscope", form), std::string("unwritable_file"));
    }
    QCOMPARE(left(), QStringList{"file"});
  }

  void of_two_exports_to_one_place_the_second_is_refused() {
    ExportTarget::Options force;
    force.existing = Existing::overwrite;
    ExportTarget first(path("x"), Form::file, force);
    first.write("first");
    QCOMPARE(write(path("x"), Form::file, force), std::string("file_exists"));
    first.keep();
    QCOMPARE(text_of(path("x")), std::string("first"));
    QCOMPARE(first.bytes(), int64_t{5});
    QCOMPARE(write(path("x"), Form::file, force), std::string());
  }

  void a_full_disk_is_said() { QCOMPARE(write("/dev/full", Form::file), std::string("unwritable_file")); }

  void a_device_takes_the_text_as_it_comes() { QCOMPARE(write("/dev/null", Form::file), std::string()); }

  void a_stop_cancels_and_leaves_nothing() {
    for (Form form : {Form::file, Form::folder}) {
      std::stop_source stop;
      ExportTarget::Options options;
      options.stop = stop.get_token();
      bool cancelled = false;
      try {
        ExportTarget target(path("x"), form, options);
        target.progress(0.5);
        stop.request_stop();
        if (form == Form::file) target.write("text");
        else target.add_file("a", "text");
        target.keep();
      } catch (const Cancelled&) {
        cancelled = true;
      }
      QVERIFY(cancelled);
      QCOMPARE(left(), QStringList());
    }
  }

  void a_copy_is_the_file() {
    const std::string text(200'000, 'x');
    put(path("from"), text);
    ExportTarget target(path("x"), Form::folder, {});
    target.add_copy("data/copy", path("from"));
    target.keep();
    QVERIFY(text_of(path("x/data/copy")) == text);
    QCOMPARE(target.bytes(), 200'000);
    QCOMPARE(failure_code([&] {
               ExportTarget other(path("y"), Form::folder, {});
               other.add_copy("copy", path("nowhere"));
             }),
             std::string("unreadable_file"));
    QCOMPARE(left(), (QStringList{"from", "x"}));
    QCOMPARE(::mkfifo(path("fifo").c_str(), 0600), 0);
    QCOMPARE(failure_code([&] {
               ExportTarget other(path("y"), Form::folder, {});
               other.add_copy("copy", path("fifo"));
             }),
             std::string("unreadable_file"));
  }
};

REGISTER_CORE_TEST(ExportTargetTest)

}  // namespace export_target_test

#include "export_target_test.moc"
