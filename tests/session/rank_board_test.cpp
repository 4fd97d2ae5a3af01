#include "engine/session/rank_board.h"

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/session/rank_seat.h"
#include "engine/session/run_clock.h"
#include "tests/test_program.h"

namespace rank_board_test {

using namespace shardscope;

class RankBoardTest : public QObject {
  Q_OBJECT

 private slots:
  void what_a_rank_says_is_read_by_the_launcher();
  void the_first_error_stays_and_is_cut();
  void a_rank_beyond_the_board_says_nothing();
  void what_is_no_board_is_a_failure();
  void a_seat_without_a_board_is_not_watched();
  void errors_of_the_communicator_are_taken_for_a_peers_fault();
  void a_rank_does_not_name_itself();
  void a_cleared_board_is_as_new();
  void the_runs_clock_stands_still_while_nobody_looks();
};

void RankBoardTest::what_a_rank_says_is_read_by_the_launcher() {
  QTemporaryDir folder;
  const std::string directory = folder.path().toStdString();
  const RankBoard board = RankBoard::create(directory, 3);
  QCOMPARE(board.ranks(), 3);
  QVERIFY(board.launcher() == this_process());
  for (int rank = 0; rank < 3; ++rank) QVERIFY(board.read(rank).phase == RankPhase::launching);
  auto own = RankBoard::open(directory);
  QVERIFY(own);
  own->sign(1, {77, 5});
  QVERIFY((board.read(1).process == ProcessId{77, 5}));
  QVERIFY(board.read(1).phase == RankPhase::starting);
  own->enter(1, RankPhase::allocating);
  QVERIFY(board.read(1).phase == RankPhase::allocating);
  QVERIFY(board.read(0).phase == RankPhase::launching && board.read(0).process.pid == 0);
}

void RankBoardTest::the_first_error_stays_and_is_cut() {
  QTemporaryDir folder;
  RankBoard board = RankBoard::create(folder.path().toStdString(), 2);
  board.fail(1, std::string(5000, 'x') + "y", true);
  board.fail(1, "later", false);
  const RankEntry entry = board.read(1);
  QCOMPARE(entry.error, std::string(1000, 'x'));
  QVERIFY(entry.by_peer && entry.failed_ns > 0);
}

void RankBoardTest::a_rank_beyond_the_board_says_nothing() {
  QTemporaryDir folder;
  RankBoard board = RankBoard::create(folder.path().toStdString(), 2);
  for (int rank : {-1, 2, 1 << 30}) {
    board.sign(rank, {1, 1});
    board.enter(rank, RankPhase::training);
    board.fail(rank, "text", false);
    QVERIFY(board.read(rank).process.pid == 0);
  }
}

void RankBoardTest::what_is_no_board_is_a_failure() {
  QTemporaryDir folder;
  const std::string directory = folder.path().toStdString();
  QVERIFY(!RankBoard::open(directory));
  for (const std::string& text : {std::string("x"), std::string(100, 'x'), std::string(4096, '\0')}) {
    std::ofstream(directory + "/ranks") << text;
    QVERIFY_THROWS_EXCEPTION(Failure, RankBoard::open(directory));
  }
}

void RankBoardTest::a_seat_without_a_board_is_not_watched() {
  RankSeat seat("", 0);
  QVERIFY(!seat.is_watched());
  seat.enter(RankPhase::training);
  seat.fail(std::runtime_error("text"));
}

void RankBoardTest::errors_of_the_communicator_are_taken_for_a_peers_fault() {
  for (const auto& [code, by_peer] : {std::pair("comm_aborted", true), {"comm_mpi", true}, {"comm_memory", false}}) {
    QTemporaryDir folder;
    const RankBoard board = RankBoard::create(folder.path().toStdString(), 1);
    RankSeat seat(folder.path().toStdString(), 0);
    QVERIFY(seat.is_watched());
    seat.fail(Failure(Error{code, "text", {}, {}}));
    QCOMPARE(board.read(0).by_peer, by_peer);
    QCOMPARE(board.read(0).error, std::string("text"));
  }
}

void RankBoardTest::a_rank_does_not_name_itself() {
  Place step = on_rank(3);
  step.step = "all_gather part 1";
  for (const auto& [place, reported] : {std::pair(on_rank(3), "no memory"),
                                        {step, "all_gather part 1: no memory"},
                                        {on_rank(30), "rank 30: no memory"},
                                        {at_name("op"), "op: no memory"}}) {
    QTemporaryDir folder;
    const RankBoard board = RankBoard::create(folder.path().toStdString(), 4);
    RankSeat seat(folder.path().toStdString(), 3);
    seat.fail(Failure(Error{"comm_memory", "no memory", place, ""}));
    QCOMPARE(board.read(3).error, std::string(reported));
  }
}

void RankBoardTest::a_cleared_board_is_as_new() {
  QTemporaryDir folder;
  RankBoard board = RankBoard::create(folder.path().toStdString(), 1);
  board.sign(0, {7, 7});
  board.fail(0, "text", true);
  board.clear();
  const RankEntry entry = board.read(0);
  QVERIFY(entry.process.pid == 0 && entry.phase == RankPhase::launching && entry.failed_ns == 0);
}

void RankBoardTest::the_runs_clock_stands_still_while_nobody_looks() {
  constexpr int64_t second = 1'000'000'000;
  RunClock clock;
  QCOMPARE(clock.tick(100 * second), int64_t{0});
  QCOMPARE(clock.tick(100 * second + second / 10), second / 10);
  QCOMPARE(clock.tick(1000 * second), second / 10 + second / 2);
}

REGISTER_TEST(RankBoardTest)

}  // namespace rank_board_test

#include "rank_board_test.moc"
