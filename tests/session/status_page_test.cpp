#include "engine/session/status_page.h"

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/session/rank_registration.h"
#include "engine/session/run_clock.h"
#include "tests/test_program.h"

namespace status_page_test {

using namespace shardscope;

class StatusPageTest : public QObject {
  Q_OBJECT

 private slots:
  void what_a_rank_says_is_read_by_the_launcher();
  void the_first_error_stays_and_is_cut();
  void a_rank_beyond_the_page_says_nothing();
  void what_is_no_page_is_a_failure();
  void a_registration_without_a_page_is_not_watched();
  void errors_of_the_communicator_are_taken_for_a_peers_fault();
  void a_rank_does_not_name_itself();
  void a_cleared_page_is_as_new();
  void the_runs_clock_stands_still_while_nobody_looks();
};

void StatusPageTest::what_a_rank_says_is_read_by_the_launcher() {
  QTemporaryDir folder;
  const std::string directory = folder.path().toStdString();
  const StatusPage page = StatusPage::create(directory, 3);
  QCOMPARE(page.ranks(), 3);
  QVERIFY(page.launcher() == this_process());
  for (int rank = 0; rank < 3; ++rank) QVERIFY(page.read(rank).phase == RankPhase::launching);
  auto own = StatusPage::open(directory);
  QVERIFY(own);
  own->sign(1, {77, 5});
  QVERIFY((page.read(1).process == ProcessId{77, 5}));
  QVERIFY(page.read(1).phase == RankPhase::starting);
  own->enter(1, RankPhase::allocating);
  QVERIFY(page.read(1).phase == RankPhase::allocating);
  QVERIFY(page.read(0).phase == RankPhase::launching && page.read(0).process.pid == 0);
}

void StatusPageTest::the_first_error_stays_and_is_cut() {
  QTemporaryDir folder;
  StatusPage page = StatusPage::create(folder.path().toStdString(), 2);
  page.fail(1, std::string(5000, 'x') + "y", true);
  page.fail(1, "later", false);
  const RankEntry entry = page.read(1);
  QCOMPARE(entry.error, std::string(1000, 'x'));
  QVERIFY(entry.by_peer && entry.failed_ns > 0);
}

void StatusPageTest::a_rank_beyond_the_page_says_nothing() {
  QTemporaryDir folder;
  StatusPage page = StatusPage::create(folder.path().toStdString(), 2);
  for (int rank : {-1, 2, 1 << 30}) {
    page.sign(rank, {1, 1});
    page.enter(rank, RankPhase::training);
    page.fail(rank, "text", false);
    QVERIFY(page.read(rank).process.pid == 0);
  }
}

void StatusPageTest::what_is_no_page_is_a_failure() {
  QTemporaryDir folder;
  const std::string directory = folder.path().toStdString();
  QVERIFY(!StatusPage::open(directory));
  for (const std::string& text : {std::string("x"), std::string(100, 'x'), std::string(4096, '\0')}) {
    std::ofstream(directory + "/ranks") << text;
    QVERIFY_THROWS_EXCEPTION(Failure, StatusPage::open(directory));
  }
}

void StatusPageTest::a_registration_without_a_page_is_not_watched() {
  RankRegistration registration("", 0);
  QVERIFY(!registration.is_watched());
  registration.enter(RankPhase::training);
  registration.fail(std::runtime_error("text"));
}

void StatusPageTest::errors_of_the_communicator_are_taken_for_a_peers_fault() {
  for (const auto& [code, by_peer] : {std::pair("comm_aborted", true), {"comm_mpi", true}, {"comm_memory", false}}) {
    QTemporaryDir folder;
    const StatusPage page = StatusPage::create(folder.path().toStdString(), 1);
    RankRegistration registration(folder.path().toStdString(), 0);
    QVERIFY(registration.is_watched());
    registration.fail(Failure(Error{code, "text", {}, {}}));
    QCOMPARE(page.read(0).by_peer, by_peer);
    QCOMPARE(page.read(0).error, std::string("text"));
  }
}

void StatusPageTest::a_rank_does_not_name_itself() {
  Place step = on_rank(3);
  step.step = "all_gather part 1";
  for (const auto& [place, reported] : {std::pair(on_rank(3), "no memory"),
                                        {step, "all_gather part 1: no memory"},
                                        {on_rank(30), "rank 30: no memory"},
                                        {at_name("op"), "op: no memory"}}) {
    QTemporaryDir folder;
    const StatusPage page = StatusPage::create(folder.path().toStdString(), 4);
    RankRegistration registration(folder.path().toStdString(), 3);
    registration.fail(Failure(Error{"comm_memory", "no memory", place, ""}));
    QCOMPARE(page.read(3).error, std::string(reported));
  }
}

void StatusPageTest::a_cleared_page_is_as_new() {
  QTemporaryDir folder;
  StatusPage page = StatusPage::create(folder.path().toStdString(), 1);
  page.sign(0, {7, 7});
  page.fail(0, "text", true);
  page.clear();
  const RankEntry entry = page.read(0);
  QVERIFY(entry.process.pid == 0 && entry.phase == RankPhase::launching && entry.failed_ns == 0);
}

void StatusPageTest::the_runs_clock_stands_still_while_nobody_looks() {
  constexpr int64_t second = 1'000'000'000;
  RunClock clock;
  QCOMPARE(clock.tick(100 * second), int64_t{0});
  QCOMPARE(clock.tick(100 * second + second / 10), second / 10);
  QCOMPARE(clock.tick(1000 * second), second / 10 + second / 2);
}

REGISTER_TEST(StatusPageTest)

}  // namespace status_page_test

#include "status_page_test.moc"
