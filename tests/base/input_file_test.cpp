#include "engine/base/input_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/base/errors_of.h"
#include "tests/test_program.h"

namespace input_file_test {

using namespace shardscope;

class InputFileTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) { return folder_.filePath(name).toStdString(); }

 private slots:
  void a_regular_file_is_read_whole_and_in_parts() {
    const std::string text = "0123456789", name = path("regular");
    std::ofstream(name) << text;
    std::filesystem::create_symlink(name, path("link"));
    for (const std::string& at : {name, path("link")}) {
      QCOMPARE(read_text(at, 10), text);
      const InputFile file(at);
      QCOMPARE(file.bytes(), int64_t{10});
      std::string part(3, ' ');
      file.read(4, std::as_writable_bytes(std::span(part)));
      QCOMPARE(part, std::string("456"));
      const int descriptor = open_regular(at);
      QCOMPARE(::lseek(descriptor, 0, SEEK_END), off_t{10});
      ::close(descriptor);
    }
    const std::string large(size_t{3} << 20, 'x');
    std::ofstream(path("large")) << large;
    QVERIFY(read_text(path("large"), int64_t{3} << 20) == large);
    std::ofstream(path("empty")).close();
    QCOMPARE(read_text(path("empty"), 0), std::string());
    QVERIFY(!read_text("/proc/self/status", 1 << 20).empty());  // the system says 0 bytes of it
  }

  void what_is_no_regular_file_is_refused_as_what_it_is_without_waiting() {
    QVERIFY(::mkfifo(path("fifo").c_str(), 0600) == 0);
    std::filesystem::create_symlink(path("fifo"), path("link to a fifo"));
    std::filesystem::create_directory(path("folder"));
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{AF_UNIX, {}};
    path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
    QVERIFY(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const std::pair<std::string, std::string> cases[] = {{path("fifo"), "FIFO"},
                                                         {path("link to a fifo"), "FIFO"},
                                                         {path("folder"), "folder"},
                                                         {path("socket"), "socket"},
                                                         {"/dev/zero", "device"},
                                                         {path("nothing"), "no such file"},
                                                         {path("nothing") + "/at/all", "no such file"}};
    for (const auto& [at, what] : cases) {
      const std::function<void()> ways[] = {[&] { InputFile file(at, "wrong"); },
                                            [&] { ::close(open_regular(at, "wrong")); },
                                            [&] { read_text(at, 100, "wrong"); }};
      for (const auto& way : ways) {
        const Error error = error_of(way);
        QCOMPARE(error.code, std::string("wrong"));
        QCOMPARE(error.place.file, at);
        QVERIFY2(error.message.find(what) != std::string::npos, error.message.c_str());
      }
    }
    ::close(socket);
    QVERIFY(!InputFile::find(path("nothing")));
    QCOMPARE(error_of([&] { InputFile::find(path("fifo")); }).code, std::string("unreadable_file"));
  }

  void a_file_larger_than_its_limit_or_shorter_than_it_was_is_named() {
    std::ofstream(path("eleven")) << "01234567890";
    const Error large = error_of([&] { read_text(path("eleven"), 10); });
    QCOMPARE(large.place.file, path("eleven"));
    QVERIFY2(large.message.find("11 bytes") != std::string::npos, large.message.c_str());
    QVERIFY2(large.hint.find("10 bytes") != std::string::npos, large.hint.c_str());
    const InputFile file(path("eleven"));
    std::filesystem::resize_file(path("eleven"), 5);
    std::string part(8, ' ');
    const Error cut = error_of([&] { file.read(0, std::as_writable_bytes(std::span(part))); });
    QVERIFY2(cut.message.find("shorter") != std::string::npos, cut.message.c_str());
  }
};

REGISTER_TEST(InputFileTest)

}  // namespace input_file_test

#include "input_file_test.moc"
