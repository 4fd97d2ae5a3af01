#include "engine/base/live_file.h"

#include <QTemporaryDir>
#include <QtTest>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

#include "engine/base/error.h"
#include "tests/test_program.h"

namespace live_file_test {

using namespace shardscope;

namespace fs = std::filesystem;

// Nothing that exists is lost by a call that is refused, or by a run that fails.
class LiveFileTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::string path(const char* name) const { return folder_->filePath(name).toStdString(); }
  static std::string text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_->path().toStdString()))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  static std::string code(const std::string& path, Existing existing) {
    try {
      const LiveFile file(path, existing, {});
    } catch (const Failure& failure) {
      return failure.errors().front().code;
    }
    return "";
  }

 private slots:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void a_file_that_does_not_begin_changes_nothing() {
    write(path("old"), "old\n");
    write(path("cut"), "one\ntw");
    {
      LiveFile replaced(path("old"), Existing::overwrite, {}), made(path("new"), Existing::refuse, {}),
          added(path("cut"), Existing::append, {});
      for (LiveFile* file : {&replaced, &made}) QCOMPARE(file->put("new\n"), 0);
      QVERIFY(replaced.replaces() && !made.replaces() && !added.replaces());
      QCOMPARE(text(path("old")), std::string("old\n"));
    }
    QCOMPARE(left(), (std::vector<std::string>{"cut", "old"}));
    QCOMPARE(text(path("old")) + text(path("cut")), std::string("old\none\ntw"));
  }

  void from_its_begin_on_it_is_read_at_its_path_and_the_one_of_before_beside_it() {
    write(path("x"), "old\n");
    LiveFile file(path("x"), Existing::overwrite, {});
    QCOMPARE(file.put("one\n"), 0);
    file.begin();
    QCOMPARE(text(path("x")), std::string("one\n"));
    QCOMPARE(file.kept(), path("x.old"));
    QCOMPARE(text(path("x.old")), std::string("old\n"));
    QCOMPARE(file.put("two\n"), 0);
    QCOMPARE(text(path("x")), std::string("one\ntwo\n"));
    file.complete();
    QCOMPARE(left(), std::vector<std::string>{"x"});
    QVERIFY(file.kept().empty() && !file.loss());
  }

  void a_run_that_fails_leaves_both() {
    write(path("x"), "old\n");
    {
      LiveFile file(path("x"), Existing::overwrite, {});
      file.begin();
      file.put("new\n");
    }
    QCOMPARE(left(), (std::vector<std::string>{"x", "x.old"}));
    QCOMPARE(text(path("x")) + text(path("x.old")), std::string("new\nold\n"));
  }

  void names_that_are_taken_are_left_alone() {
    for (const char* name : {"x", "x.part", "x.old"}) write(path(name), name);
    fs::create_symlink(path("nowhere"), path("x.old.2"));
    LiveFile file(path("x"), Existing::overwrite, {});
    file.put("new");
    QVERIFY(fs::exists(path("x.part.2")));
    file.begin();
    QCOMPARE(file.kept(), path("x.old.3"));
    QCOMPARE(text(path("x")) + text(path("x.part")) + text(path("x.old")) + text(path("x.old.3")),
             std::string("newx.partx.oldx"));
    file.complete();
    QCOMPARE(left(), (std::vector<std::string>{"x", "x.old", "x.old.2", "x.part"}));
  }

  void what_took_the_place_of_the_kept_file_is_not_removed() {
    write(path("x"), "old");
    LiveFile file(path("x"), Existing::overwrite, {});
    file.begin();
    fs::remove(path("x.old"));
    write(path("x.old"), "mine");
    file.complete();
    QCOMPARE(text(path("x.old")), std::string("mine"));
  }

  void of_two_at_one_path_the_second_is_refused_at_every_stage() {
    write(path("x"), "old");
    {
      LiveFile first(path("x"), Existing::overwrite, {}), made(path("new"), Existing::overwrite, {});
      for (int stage = 0; stage < 3; ++stage) {
        for (Existing existing : {Existing::append, Existing::overwrite}) {
          QCOMPARE(code(path("x"), existing), std::string("file_exists"));
          QCOMPARE(code(path("new"), existing), std::string("file_exists"));
        }
        if (stage == 0) first.begin(), made.begin();
        if (stage == 1) first.complete(), made.complete();
      }
      QCOMPARE(left(), (std::vector<std::string>{"new", "x"}));
    }
    QCOMPARE(code(path("x"), Existing::overwrite), std::string());
  }

  void a_file_that_is_added_to_keeps_all_and_a_cut_line_is_ended() {
    write(path("x"), "one\ntw");
    LiveFile file(path("x"), Existing::append, {});
    file.begin();
    QVERIFY(file.has_ended_cut_line());
    QCOMPARE(file.put("three\n"), 0);
    file.complete();
    QCOMPARE(text(path("x")), std::string("one\ntw\nthree\n"));
    QVERIFY(!file.loss());
  }

  // As logrotate's copytruncate does.
  void a_file_that_was_truncated_or_removed_while_it_was_written_is_said() {
    for (Existing existing : {Existing::append, Existing::overwrite}) {
      write(path("x"), "before\n");
      LiveFile file(path("x"), existing, {});
      file.begin();
      for (int line = 0; line < 3; ++line) QCOMPARE(file.put("12345\n"), 0);
      QVERIFY(!file.loss());
      fs::copy_file(path("x"), path("x.1"), fs::copy_options::overwrite_existing);
      fs::resize_file(path("x"), 0);
      for (int line = 0; line < 9; ++line) QCOMPARE(file.put("12345\n"), 0);
      QCOMPARE(text(path("x")).size(), size_t{9 * 6});  // and no hole
      const auto lost = file.loss();
      QVERIFY(lost && lost->code == "unwritable_file" && lost->message.find("truncated") != std::string::npos);
      QVERIFY(lost->message.find(existing == Existing::append ? " 25 bytes" : " 18 bytes") != std::string::npos);
      fs::rename(path("x"), path("x.2"));
      QVERIFY(file.loss()->message.find("truncated") != std::string::npos);
      fs::remove(path("x.2"));
      QVERIFY(file.loss()->message.find("removed") != std::string::npos);
      file.complete();
    }
  }

  void a_file_that_was_renamed_is_whole() {
    LiveFile file(path("x"), Existing::refuse, {});
    file.begin();
    file.put("one\n");
    fs::rename(path("x"), path("x.1"));
    file.put("two\n");
    QVERIFY(!file.loss());
    QCOMPARE(text(path("x.1")), std::string("one\ntwo\n"));
  }

  void links_pipes_and_devices_are_as_for_any_output() {
    write(path("target"), "kept");
    fs::create_symlink(path("target"), path("link"));
    for (Existing existing : {Existing::refuse, Existing::append, Existing::overwrite}) {
      QCOMPARE(code(path("link"), existing), std::string("file_exists"));
      QCOMPARE(code("/dev/null", existing), std::string());
    }
    QCOMPARE(text(path("target")), std::string("kept"));
    LiveFile full("/dev/full", Existing::refuse, {});
    full.begin();
    QCOMPARE(full.put("x"), ENOSPC);
    QVERIFY(!full.loss());
  }
};

REGISTER_TEST(LiveFileTest)

}  // namespace live_file_test

#include "live_file_test.moc"
