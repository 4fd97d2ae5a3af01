#include <QCoreApplication>
#include <QProcess>
#include <QtTest>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "engine/comm/mpi_communicator.h"
#include "engine/comm/mpi_hosts_communicator.h"
#include "engine/comm/mpi_runtime.h"
#include "engine/comm/mpi_world.h"
#include "engine/comm/peer_communicator.h"
#include "tests/base/errors_of.h"
#include "tests/comm/channel_checks.h"
#include "tests/comm/counted_rows_checks.h"
#include "tests/comm/ticket_checks.h"

// Started by a person or by ctest, this runs itself under mpirun; started by mpirun, it is a rank.

using namespace shardscope;
using namespace shardscope::checks;

namespace {

// Long arrays are cut into messages of 1000 bytes, so that the cutting is tested too.
void check_messages() {
  std::vector<std::byte> arena(arena_bytes);
  const std::unique_ptr<Communicator> cut = make_mpi_communicator(1000), whole = make_mpi_communicator();
  check_all(*cut, arena, 24, Transport::messages());
  check_all(*whole, arena, 24, Transport::messages());
  check_counted_rows(*cut, arena, Transport::messages());
  check_counted_rows(*whole, arena, Transport::messages());
  check_tickets(*cut, arena, 1, 40, Transport::messages());
  check_tickets(*whole, arena, 1, 40, Transport::messages());
  check_channels(*cut, arena, 1, 1, 5, Transport::messages());
  check_channels(*whole, arena, 2, 1, 6, Transport::messages());
}

void check_world() {
  std::unique_ptr<Communicator> mpi = make_mpi_communicator();
  RankWorld world = make_world(*mpi, static_cast<int64_t>(arena_bytes));
  std::ifstream maps("/proc/self/maps");
  int shared = 0;
  for (std::string line; std::getline(maps, line);) shared += line.find("/memfd:shardscope.") != std::string::npos;
  require(mpi->size() == 1 || shared > 1, "ranks of one host share memory");
  const Transport transport = mpi->size() == 1 ? Transport::alone() : Transport();
  check_all(*world.communicator, world.arena, 24, transport);
  check_tickets(*world.communicator, world.arena, 1, 40, transport);
  check_channels(*world.communicator, world.arena, 3, 1, 6, transport);
}

// Ranks that act as if they were on the hosts of `layout`, a digit each. A group on one host sends nothing by MPI, and
// ranks of one host share memory.
void check_hosts(int rank, std::string_view layout) {
  std::vector<int> hosts;
  for (char digit : layout) hosts.push_back(digit - '0');
  ::setenv(host_variable, std::to_string(hosts[static_cast<size_t>(rank)]).c_str(), 1);
  std::unique_ptr<Communicator> mpi = make_mpi_communicator();
  RankWorld world = make_world(*mpi, static_cast<int64_t>(arena_bytes));
  require(dynamic_cast<HostsCommunicator*>(world.communicator.get()) != nullptr, "several hosts");
  check_all(*world.communicator, world.arena, 24, Transport::on(hosts));
  check_counted_rows(*world.communicator, world.arena, Transport::on(hosts));
  std::unique_ptr<Communicator> here = world.communicator->split(hosts[static_cast<size_t>(rank)], rank);
  require(dynamic_cast<PeerCommunicator*>(here.get()) != nullptr, "a group of one host shares memory alone");
  check_random_cases(*here, world.arena, 8, 8);
  check_tickets(*world.communicator, world.arena, 2, 60, Transport::on(hosts));
  check_channels(*world.communicator, world.arena, 4 + hosts.size(), 2, 6, Transport::on(hosts));
}

// Rank 1 aborts while the others wait in several groups, or have yet to call; they say so.
void check_abort(int rank) {
  std::unique_ptr<Communicator> mpi = make_mpi_communicator();
  std::vector<float> values(1000, 1.0f);
  CollectivePart part{values.data(), values.data(), {1000}, DType::f32, -1, -1};
  try {
    std::unique_ptr<Communicator> half = mpi->split(rank / 2, rank);
    half->all_reduce({&part, 1});
    if (rank == 1) half->abort();
    for (;;) (rank == 2 ? mpi : half)->all_reduce({&part, 1});
  } catch (const Failure& failure) {
    require(failure.errors().front().code == "comm_aborted", failure.what());
    require(std::string(failure.what()).find("rank 1 ended the run") != std::string::npos, failure.what());
  }
}

void check_abort_on_hosts(int rank) {
  ::setenv(host_variable, std::to_string(rank / 2).c_str(), 1);
  std::unique_ptr<Communicator> mpi = make_mpi_communicator();
  RankWorld world = make_world(*mpi, 65536);
  try {
    if (rank == 1) world.communicator->abort();
    for (;;) world.communicator->barrier();
  } catch (const Failure& failure) {
    require(failure.errors().front().code == "comm_aborted", failure.what());
    require(std::string(failure.what()).find("rank 1 ended the run") != std::string::npos, failure.what());
  }
}

// Rank 1 aborts while all ranks have collectives open in two groups, of messages alone and on hosts.
void check_abort_of_tickets(int rank) {
  ::setenv(host_variable, std::to_string(rank % 2).c_str(), 1);
  std::unique_ptr<Communicator> mpi = make_mpi_communicator();
  for (int round : {0, 6, 15}) {
    std::vector<std::byte> arena(1 << 20);
    const std::unique_ptr<Communicator> messages = make_mpi_communicator();
    RankWorld world = make_world(*mpi, 1 << 20);
    mpi->barrier();
    for (const bool on_hosts : {false, true}) {
      const Error error = error_of([&] {
        if (on_hosts) abort_with_open_tickets(*world.communicator, world.arena, round, 1, Transport::on({0, 1, 0, 1}));
        abort_with_open_tickets(*messages, arena, round, 1, Transport::messages());
      });
      require(error.code == "comm_aborted" && error.message.find("rank 1 ended the run") != std::string::npos,
              error.message);
    }
  }
}

// Rank 1 of two hosts leaves with collectives open: its neighbour learns of that, and tells the other host.
void check_leaving_tickets(int rank) {
  ::setenv(host_variable, std::to_string(rank / 2).c_str(), 1);
  std::unique_ptr<Communicator> mpi = make_mpi_communicator();
  for (int open : {1, 7, 16}) {
    RankWorld world = make_world(*mpi, 1 << 22);
    mpi->barrier();
    const Error error = error_of([&] {
      std::deque<RunningCase> running =
          started_cases(*world.communicator, world.arena, 1, open, Transport::on({0, 0, 1, 1}));
      if (rank == 1) return world.communicator.reset();
      finish_all(running);
      for (;;) world.communicator->barrier();
    });
    if (rank == 1) {
      require(error.code.empty(), error.message);
    } else {
      world.communicator->abort();
      require(error.code == "comm_aborted", error.message);
    }
    require(rank != 0 || error.message == "rank 1 has left the group in the middle of the run", error.message);
    mpi->barrier();
  }
}

// Four ranks on two hosts. Ranks 0 and 3 wait for each other's hosts, rank 2 for a rank of its own; rank 1 aborts.
void check_abort_of_channels(int rank) {
  ::setenv(host_variable, std::to_string(rank / 2).c_str(), 1);
  std::unique_ptr<Communicator> mpi = make_mpi_communicator();
  RankWorld world = make_world(*mpi, 1 << 20);
  const std::vector<ChannelEnds> ends{{0, 2}, {1, 3}, {3, 2}};
  const std::span<std::byte> room = world.arena.first(100'000);
  const std::span<const std::byte> source = room;
  const Error error = error_of([&] {
    auto channels = world.communicator->open_channels(ends);
    if (rank == 1) world.communicator->abort();
    for (; rank == 0;) channels[0]->start_send({&source, 1});
    if (rank == 2) channels[2]->receive({&room, 1});
    if (rank == 3) channels[1]->receive({&room, 1});
    for (;;) world.communicator->progress();
  });
  require(error.code == "comm_aborted" && error.message.find("rank 1 ended the run") != std::string::npos,
          error.message);
}

// The receiver names both ends, and its abort ends the sender's wait.
void check_mismatch_of_channels(int rank) {
  ::setenv(host_variable, std::to_string(rank).c_str(), 1);
  std::unique_ptr<Communicator> mpi = make_mpi_communicator();
  RankWorld world = make_world(*mpi, 1 << 20);
  auto channels = world.communicator->open_channels(std::vector<ChannelEnds>{{0, 1}});
  std::vector<std::byte> elsewhere(20'000);
  const std::span<const std::byte> source = world.arena.first(100'000), unreadable = elsewhere;
  const std::span<std::byte> destination = world.arena.first(90'000);
  const Error error = error_of([&] {
    if (rank == 1) return channels[0]->receive({&destination, 1});
    require(error_of([&] { channels[0]->start_send({&unreadable, 1}); }).code == "comm_argument", "not in the arena");
    for (;;) channels[0]->start_send({&source, 1});
  });
  if (rank == 1) world.communicator->abort();
  require(error.code == (rank == 1 ? "comm_argument" : "comm_aborted"), error.message);
  require(rank == 0 || error.message.find("rank 0 sent 1 array (100000 bytes) where rank 1 expected 1 array "
                                          "(90000 bytes)") != std::string::npos,
          error.message);
}

void check_mismatch(int rank) {
  std::unique_ptr<Communicator> mpi = make_mpi_communicator();
  std::vector<float> from(2000, 1.0f), to(8000);
  CollectivePart part{from.data(), to.data(), {rank == 0 ? 10 : 20}, DType::f32, -1, 0};
  std::string code;
  try {
    mpi->all_gather({&part, 1});
  } catch (const Failure& failure) {
    code = failure.errors().front().code;
  }
  require(code == "comm_argument" || code == "comm_mpi", "a message of another length is an error");
}

int run_rank(int argc, char** argv) {
  MpiRuntime runtime(argc, argv);
  std::string_view what = argc > 1 ? argv[1] : "";
  try {
    if (what == "messages") check_messages();
    if (what == "world") check_world();
    if (what == "abort") check_abort(runtime.rank());
    if (what == "hosts") check_hosts(runtime.rank(), argv[2]);
    if (what == "abort on hosts") check_abort_on_hosts(runtime.rank());
    if (what == "abort of channels") check_abort_of_channels(runtime.rank());
    if (what == "abort of tickets") check_abort_of_tickets(runtime.rank());
    if (what == "leaving tickets") check_leaving_tickets(runtime.rank());
    if (what == "mismatch") check_mismatch(runtime.rank());
    if (what == "mismatch of channels") check_mismatch_of_channels(runtime.rank());
    if (what == "fail" && runtime.rank() == 1) throw Failure(Error{"test", "rank 1 cannot go on", {}, {}});
    if (what == "fail") make_mpi_communicator()->barrier();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", runtime.rank(), error.what());
    runtime.abort(3);
  }
  std::printf("rank %d passed\n", runtime.rank());
  return 0;
}

}  // namespace

class CommunicatorTest : public QObject {
  Q_OBJECT

 private slots:
  void real_ranks_keep_the_laws_data() {
    QTest::addColumn<QString>("what");
    QTest::addColumn<int>("ranks");
    QTest::newRow("messages, 1 rank") << "messages" << 1;
    QTest::newRow("messages, 3 ranks") << "messages" << 3;
    QTest::newRow("messages, 4 ranks") << "messages" << 4;
    QTest::newRow("world, 1 rank") << "world" << 1;
    QTest::newRow("world, 4 ranks") << "world" << 4;
    QTest::newRow("world, 8 ranks") << "world" << 8;
    QTest::newRow("abort, 4 ranks") << "abort" << 4;
    QTest::newRow("abort on hosts, 4 ranks") << "abort on hosts" << 4;
    QTest::newRow("abort of channels, 4 ranks") << "abort of channels" << 4;
    QTest::newRow("abort of tickets, 4 ranks") << "abort of tickets" << 4;
    QTest::newRow("leaving tickets, 4 ranks") << "leaving tickets" << 4;
    QTest::newRow("mismatch, 2 ranks") << "mismatch" << 2;
    QTest::newRow("mismatch of channels, 2 ranks") << "mismatch of channels" << 2;
  }

  void real_ranks_keep_the_laws() {
    QFETCH(QString, what);
    QFETCH(int, ranks);
    auto [code, output] = mpirun(ranks, what);
    QVERIFY2(code == 0, output.constData());
    QCOMPARE(output.count(" passed\n"), ranks);
  }

  void ranks_of_several_hosts_keep_the_laws_data() {
    QTest::addColumn<QString>("layout");
    for (const char* layout : {"01", "0011", "0101", "0001", "0112", "00001111", "01201201"})
      QTest::newRow(layout) << layout;
  }

  void ranks_of_several_hosts_keep_the_laws() {
    QFETCH(QString, layout);
    auto [code, output] = mpirun(layout.size(), "hosts", {layout});
    QVERIFY2(code == 0, output.constData());
    QCOMPARE(output.count(" passed\n"), layout.size());
  }

  void a_rank_that_gives_up_ends_all_with_its_exit_code() {
    auto [code, output] = mpirun(3, "fail");
    QCOMPARE(code, 3);
    QVERIFY2(output.contains("rank 1 cannot go on"), output.constData());
    QVERIFY2(!output.contains(" passed"), output.constData());
  }

 private:
  struct Result {
    int code = -1;
    QByteArray output;
  };

  static Result mpirun(qsizetype ranks, const QString& what, const QStringList& more = {}) {
    QProcess process;
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start("mpirun", QStringList{"--oversubscribe", "--bind-to", "none", "--allow-run-as-root", "--mca",
                                        "mpi_yield_when_idle", "1", "--mca", "btl", "self,tcp", "-n",
                                        QString::number(ranks), QCoreApplication::applicationFilePath(), what} +
                                more);
    if (!process.waitForFinished(120'000)) return {-1, "mpirun does not end: " + process.readAll()};
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1, process.readAll()};
  }
};

int main(int argc, char** argv) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE")) return run_rank(argc, argv);
  QCoreApplication application(argc, argv);
  CommunicatorTest test;
  return QTest::qExec(&test, argc, argv);
}

#include "communicator_test.moc"
