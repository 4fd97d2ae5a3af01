#include "engine/session/preflight.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>
#include <functional>

#include "engine/base/error.h"
#include "tests/test_program.h"

namespace preflight_test {

using namespace shardscope;

namespace {

constexpr rlim_t kib = 1 << 10;

// What `say` says in a process with this limit of its stack.
std::string with_stack(rlim_t soft, rlim_t hard, const std::function<std::string()>& say) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{soft, hard};
    const std::string text = ::setrlimit(RLIMIT_STACK, &limit) == 0 ? say() : "no limit";
    ::_exit(::write(ends[1], text.data(), text.size()) == std::ssize(text) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

std::string refusal() {
  const QTemporaryDir folder;
  try {
    check_host_limits({folder.path().toStdString(), 2, 0});
  } catch (const Failure& failure) {
    return failure.what();
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  return "fine, " + std::to_string(limit.rlim_cur / kib) + " KiB";
}

}  // namespace

class PreflightTest : public QObject {
  Q_OBJECT

 private slots:
  void a_stack_that_is_too_small_is_refused_with_both_numbers() {
    const std::string said = with_stack(64 * kib, 64 * kib, refusal);
    QVERIFY2(said.find("the stack limit is 64 KiB, a rank needs 512 KiB") != std::string::npos, said.c_str());
    QVERIFY2(said.find("ulimit -s 8192") != std::string::npos, said.c_str());
  }

  void a_stack_that_may_be_larger_is_made_so() {
    QCOMPARE(with_stack(64 * kib, 1024 * kib, refusal), std::string("fine, 1024 KiB"));
    QCOMPARE(with_stack(64 * kib, 65536 * kib, refusal), std::string("fine, 4096 KiB"));
    QCOMPARE(with_stack(8192 * kib, 65536 * kib, refusal), std::string("fine, 8192 KiB"));
  }

  void a_failure_under_a_small_stack_says_so() {
    QCOMPARE(with_stack(1024 * kib, 1024 * kib, stack_note),
             std::string("; the stack of a process is limited to 1024 KiB (ulimit -s)"));
    QCOMPARE(with_stack(8192 * kib, 65536 * kib, stack_note), std::string());
  }
};

REGISTER_CORE_TEST(PreflightTest)

}  // namespace preflight_test

#include "preflight_test.moc"
