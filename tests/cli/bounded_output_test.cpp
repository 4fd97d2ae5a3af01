#include "engine/cli/bounded_output.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>
#include <cerrno>
#include <fstream>

#include "tests/patience.h"
#include "tests/test_program.h"

namespace bounded_output_test {

using namespace shardscope;
using namespace std::chrono_literals;

namespace {

struct Pipe {
  int ends[2];
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  }
  ~Pipe() {
    close_reader();
    ::close(ends[1]);
  }
  int writer() const { return ends[1]; }
  void close_reader() {
    if (ends[0] >= 0) ::close(std::exchange(ends[0], -1));
  }
  std::string read_all_there_is() const {
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    std::string text(1 << 20, '\0');
    const ssize_t count = ::read(ends[0], text.data(), text.size());
    text.resize(count < 0 ? 0 : static_cast<size_t>(count));
    return text;
  }
};

std::string line(int number) { return "line " + std::to_string(number) + "\n"; }

}  // namespace

class BoundedOutputTest : public QObject {
  Q_OBJECT

 private slots:
  void all_comes_out_in_order() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("out").toStdString();
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    std::string expected;
    {
      BoundedOutput output(file, 1 << 24);
      for (int i = 0; i < 100000; ++i) {
        output.put(line(i));
        expected += line(i);
      }
      const OutputLoss loss = output.finish();
      QVERIFY(loss.bytes == 0 && loss.lines == 0 && loss.error == 0);
    }
    ::close(file);
    std::ifstream read(path);
    QVERIFY(std::string(std::istreambuf_iterator<char>(read), {}) == expected);
  }

  void a_reader_that_takes_nothing_stops_no_writer_and_what_it_missed_is_counted() {
    Pipe pipe;
    BoundedOutput output(pipe.writer(), 1000);
    int64_t put = 0, lines = 0;
    for (; lines < 100000; ++lines) {
      output.put(line(static_cast<int>(lines)));
      put += static_cast<int64_t>(line(static_cast<int>(lines)).size());
    }
    QVERIFY(output.loss().bytes > 0);
    const OutputLoss loss = output.finish(0ms);
    const std::string got = pipe.read_all_there_is();
    QCOMPARE(static_cast<int64_t>(got.size()) + loss.bytes, put);
    QCOMPARE(std::count(got.begin(), got.end(), '\n') + loss.lines, lines);
    QVERIFY(got.starts_with(line(0) + line(1)));
    QCOMPARE(loss.error, 0);
    QVERIFY(loss_text("standard output", loss).ends_with("were not written: its reader was too slow"));
  }

  void a_slow_reader_gets_all_that_fits_the_buffer() {
    Pipe pipe;
    const std::string text(300000, 'x');
    std::string got;
    {
      BoundedOutput output(pipe.writer());
      output.put(text);
      while (got.size() < text.size()) got += pipe.read_all_there_is();
      QCOMPARE(output.finish().bytes, int64_t{0});
    }
    QVERIFY(got == text);
  }

  void a_pipe_that_nobody_reads_is_an_error_and_no_signal() {
    Pipe pipe;
    pipe.close_reader();
    BoundedOutput output(pipe.writer());
    output.put("a\nb\n");
    QTRY_COMPARE_WITH_TIMEOUT(output.error(), EPIPE, patience);
    output.put("c\n");
    const OutputLoss loss = output.finish();
    QCOMPARE(loss.lines, int64_t{3});
    QCOMPARE(loss_text("out", loss), std::string("out: 3 lines (6 bytes) were not written: Broken pipe"));
  }

  void a_full_disk_and_a_closed_descriptor_are_errors() {
    const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    BoundedOutput output(full);
    output.put("a\n");
    QTRY_COMPARE_WITH_TIMEOUT(output.error(), ENOSPC, patience);
    ::close(full);
    BoundedOutput closed(full);
    closed.put("a\n");
    QTRY_COMPARE_WITH_TIMEOUT(closed.error(), EBADF, patience);
  }

  // What the reader has not taken when nobody waits for it any more is lost, but the end comes.
  void patience_ends() {
    Pipe pipe;
    BoundedOutput output(pipe.writer());
    const std::string text(1000000, '\n');
    output.put(text);
    const OutputLoss loss = output.finish(1ms);
    QCOMPARE(loss.bytes + static_cast<int64_t>(pipe.read_all_there_is().size()), int64_t{1000000});
    QVERIFY(loss.lines > 900000);
    output.put("more\n");
    QCOMPARE(output.loss().lines, loss.lines + 1);
  }
};

REGISTER_TEST(BoundedOutputTest)

}  // namespace bounded_output_test

#include "bounded_output_test.moc"
