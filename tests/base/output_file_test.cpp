#include "engine/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>
#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "tests/test_program.h"

namespace output_file_test {

using namespace shardscope;

// Nothing that exists is lost unasked.
class OutputFileTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) { return folder_.filePath(name).toStdString(); }
  static std::string text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static void put(const OutputFile& file, const char* text) { std::fputs(text, file.get()); }
  static std::string code(const std::string& path, Existing existing, const std::vector<std::string>& inputs = {}) {
    try {
      open_output(path, existing, inputs);
    } catch (const Failure& failure) {
      return to_string(failure.errors().front().place) == path ? failure.errors().front().code : "elsewhere";
    }
    return "";
  }

 private slots:
  void a_new_file_is_made() {
    put(open_output(path("new"), Existing::refuse, {}), "a\n");
    QCOMPARE(text(path("new")), std::string("a\n"));
  }

  void a_new_file_is_whole_and_takes_the_place_of_none() {
    const auto code_of = [&](const char* name) {
      try {
        write_new_file(path(name), "new\n");
      } catch (const Failure& failure) {
        return failure.errors().front().place.file == path(name) ? failure.errors().front().code : "elsewhere";
      }
      return std::string();
    };
    write(path("once.part"), "of another run\n");
    QCOMPARE(code_of("once"), std::string());
    QCOMPARE(text(path("once")), std::string("new\n"));
    QCOMPARE(text(path("once.part")), std::string("of another run\n"));
    write(path("once_taken"), "old\n");
    std::filesystem::create_symlink(path("once_nowhere"), path("once_dangling"));
    std::filesystem::create_directory(path("once_folder"));
    for (const char* name : {"once_taken", "once_dangling", "once_folder"})
      QCOMPARE(code_of(name), std::string("file_exists"));
    QCOMPARE(text(path("once_taken")), std::string("old\n"));
    QCOMPARE(code_of("none/x"), std::string("unwritable_file"));
    write_new_file("/dev/null", "text");
    for (const char* name :
         {"once.part.2", "once_taken.part", "once_dangling.part", "once_folder.part", "once_nowhere"})
      QVERIFY2(!std::filesystem::exists(std::filesystem::symlink_status(path(name))), name);
  }

  void what_is_written_late_is_refused_early_where_there_is_no_folder_for_it() {
    const auto code_of = [](const std::string& path, Existing existing) {
      try {
        check_late_output(path, existing, {});
      } catch (const Failure& failure) {
        return failure.errors().front().code;
      }
      return std::string();
    };
    write(path("early"), "old\n");
    QCOMPARE(code_of(path("early"), Existing::overwrite), std::string());
    QCOMPARE(code_of(path("early"), Existing::refuse), std::string("file_exists"));
    QCOMPARE(code_of(path("early_other"), Existing::refuse), std::string());
    QCOMPARE(code_of(path("early/x"), Existing::refuse), std::string("unwritable_file"));
    QCOMPARE(code_of(path("no/x"), Existing::refuse), std::string("unwritable_file"));
    for (const char* stream : {"-", "/dev/null", "/dev/stdout"})
      QCOMPARE(code_of(stream, Existing::refuse), std::string());
  }

  void an_existing_file_is_refused_appended_to_or_emptied_as_asked() {
    write(path("old"), "old\n");
    QCOMPARE(code(path("old"), Existing::refuse), std::string("file_exists"));
    QCOMPARE(text(path("old")), std::string("old\n"));
    put(open_output(path("old"), Existing::append, {}), "more\n");
    QCOMPARE(text(path("old")), std::string("old\nmore\n"));
    put(open_output(path("old"), Existing::overwrite, {}), "new\n");
    QCOMPARE(text(path("old")), std::string("new\n"));
  }

  void a_line_that_was_cut_is_ended_before_more_is_added() {
    for (const char* before : {"", "one\n", "one\ntw"}) {
      write(path("cut"), before);
      const bool is_cut = std::string(before).ends_with("tw");
      {
        const OutputFile file = open_output(path("cut"), Existing::append, {});
        QCOMPARE(end_cut_line(file.get(), path("cut")), is_cut);
        put(file, "more\n");
      }
      QCOMPARE(text(path("cut")), before + std::string(is_cut ? "\nmore\n" : "more\n"));
    }
    QVERIFY(!end_cut_line(open_output("/dev/null", Existing::append, {}).get(), "/dev/null"));
  }

  void an_input_is_never_written_to_under_any_name() {
    write(path("run.json"), "{}");
    std::filesystem::create_symlink(path("run.json"), path("link"));
    std::filesystem::create_hard_link(path("run.json"), path("twin"));
    const std::string dotted = folder_.path().toStdString() + "/./run.json";
    for (Existing existing : {Existing::refuse, Existing::append, Existing::overwrite}) {
      for (const std::string& name : {path("run.json"), path("link"), path("twin"), dotted}) {
        QCOMPARE(code(name, existing, {path("run.json")}), std::string("output_is_input"));
      }
    }
    QCOMPARE(text(path("run.json")), std::string("{}"));
  }

  void symbolic_links_to_files_are_not_followed() {
    write(path("target"), "kept");
    std::filesystem::create_symlink(path("target"), path("to_target"));
    std::filesystem::create_symlink(path("nowhere"), path("dangling"));
    for (Existing existing : {Existing::refuse, Existing::append, Existing::overwrite}) {
      QCOMPARE(code(path("to_target"), existing), std::string("file_exists"));
      QCOMPARE(code(path("dangling"), existing), std::string("file_exists"));
    }
    QCOMPARE(text(path("target")), std::string("kept"));
    QVERIFY(!std::filesystem::exists(path("nowhere")));
  }

  void a_file_that_another_run_writes_is_left_to_it() {
    const OutputFile first = open_output(path("shared"), Existing::refuse, {});
    put(first, "first\n");
    std::fflush(first.get());
    for (Existing existing : {Existing::append, Existing::overwrite}) {
      QCOMPARE(code(path("shared"), existing), std::string("file_exists"));
    }
    QCOMPARE(text(path("shared")), std::string("first\n"));
  }

  void pipes_and_devices_are_written_to_as_they_are() {
    QCOMPARE(code("/dev/null", Existing::refuse), std::string());
    QCOMPARE(::mkfifo(path("pipe").c_str(), 0600), 0);
    const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
    QCOMPARE(code(path("pipe"), Existing::refuse), std::string());
    ::close(reader);
  }

  void a_place_that_cannot_be_written_is_named() {
    QCOMPARE(code(path("no/such/folder"), Existing::refuse), std::string("unwritable_file"));
    QCOMPARE(code(folder_.path().toStdString(), Existing::overwrite), std::string("unwritable_file"));
  }

  void a_whole_file_is_there_when_it_is_kept_and_not_before() {
    {
      WholeFile file(path("whole"), Existing::refuse, {}, 16);
      QCOMPARE(text(file.part()).size(), size_t{16});
      QVERIFY(!std::filesystem::exists(path("whole")));
      write(file.part(), "done");
      file.keep();
    }
    QCOMPARE(text(path("whole")), std::string("done"));
    QVERIFY(!std::filesystem::exists(path("whole.part")));
    { const WholeFile file(path("whole"), Existing::overwrite, {}, 16); }  // not kept
    QCOMPARE(text(path("whole")), std::string("done"));
    QVERIFY(!std::filesystem::exists(path("whole.part")));
  }

  void a_file_of_the_user_at_the_name_of_the_part_stays() {
    write(path("mine"), "before");
    write(path("mine.part"), "the user's");
    { const WholeFile refused(path("mine"), Existing::overwrite, {}, 4); }
    QCOMPARE(text(path("mine")) + text(path("mine.part")), std::string("beforethe user's"));
    QVERIFY_EXCEPTION_THROWN(WholeFile(path("mine"), Existing::overwrite, {}, int64_t{1} << 60), Failure);
    QCOMPARE(text(path("mine.part")), std::string("the user's"));
    {
      WholeFile file(path("mine"), Existing::overwrite, {}, 4);
      QVERIFY_EXCEPTION_THROWN(WholeFile(path("mine"), Existing::overwrite, {}, 4), Failure);
      write(file.part(), "kept");
      file.keep();
    }
    QCOMPARE(text(path("mine")) + text(path("mine.part")), std::string("keptthe user's"));
    QVERIFY(!std::filesystem::exists(path("mine.part.2")));
  }

  void whatever_stands_at_the_name_of_the_part_is_put_aside_and_not_waited_for() {
    write(path("it"), "before");
    QCOMPARE(::mkfifo(path("it.part").c_str(), 0600), 0);
    {
      WholeFile file(path("it"), Existing::overwrite, {}, 4);
      QVERIFY(std::filesystem::is_fifo(path("it.part.2")));
      write(file.part(), "kept");
      file.keep();
    }
    QCOMPARE(text(path("it")), std::string("kept"));
    QVERIFY(std::filesystem::is_fifo(path("it.part")));
  }

  void what_somebody_has_put_at_the_name_of_the_part_is_neither_kept_nor_removed() {
    for (bool keeps : {false, true}) {
      WholeFile file(path("replaced"), Existing::overwrite, {}, 4);
      std::filesystem::rename(file.part(), path("aside"));
      write(file.part(), "the user's");
      if (keeps) QVERIFY_EXCEPTION_THROWN(file.keep(), Failure);
    }
    QVERIFY(!std::filesystem::exists(path("replaced")));
    QCOMPARE(text(path("replaced.part")), std::string("the user's"));
  }

  void a_file_that_came_to_be_meanwhile_is_kept_beside_what_was_written() {
    WholeFile file(path("late"), Existing::refuse, {}, 1);
    write(file.part(), "trained");
    write(path("late"), "other");
    QVERIFY_EXCEPTION_THROWN(file.keep(), Failure);
    QCOMPARE(text(path("late")) + text(path("late.part")), std::string("othertrained"));
  }

  void a_whole_file_takes_the_place_of_nothing_unasked() {
    const auto refused = [](const std::string& path, Existing existing, int64_t bytes = 1) {
      try {
        const WholeFile file(path, existing, {}, bytes);
      } catch (const Failure& failure) {
        return failure.errors().front().code;
      }
      return std::string();
    };
    write(path("kept"), "kept");
    write(path("other.part"), "kept");
    QCOMPARE(refused(path("kept"), Existing::refuse), std::string("file_exists"));
    QCOMPARE(refused(path("other"), Existing::refuse), std::string("file_exists"));
    QCOMPARE(refused("/dev/null", Existing::overwrite), std::string("unwritable_file"));
    QCOMPARE(refused(folder_.path().toStdString(), Existing::overwrite), std::string("unwritable_file"));
    QCOMPARE(refused(path("no/such/folder"), Existing::refuse), std::string("unwritable_file"));
    QCOMPARE(refused(path("vast"), Existing::refuse, int64_t{1} << 60), std::string("unwritable_file"));
    QCOMPARE(text(path("kept")) + text(path("other.part")), std::string("keptkept"));
    QVERIFY(!std::filesystem::exists(path("vast.part")));
  }

  void the_file_never_takes_the_place_of_a_closed_standard_stream() {
    const int kept = ::dup(STDIN_FILENO);
    ::close(STDIN_FILENO);
    const OutputFile file = open_output(path("apart"), Existing::refuse, {});
    const int descriptor = ::fileno(file.get());
    ::dup2(kept, STDIN_FILENO);
    ::close(kept);
    QVERIFY(descriptor > STDERR_FILENO);
  }
};

REGISTER_TEST(OutputFileTest)

}  // namespace output_file_test

#include "output_file_test.moc"
