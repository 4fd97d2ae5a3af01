#include <QtTest>

#include "engine/base/error.h"
#include "engine/config/host_list.h"
#include "tests/test_program.h"

namespace host_list_test {

using namespace shardscope;

namespace {

using Hosts = std::vector<HostSlots>;
using Laid = std::vector<HostRanks>;

template <class Call>
QString refusal(const Call& call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.errors().front().code == "bad_hosts" ? failure.what() : "another code";
  }
  return {};
}

}  // namespace

class HostListTest : public QObject {
  Q_OBJECT

 private slots:
  void a_list_names_hosts_and_their_ranks() {
    QVERIFY((parse_host_list("h0:4,h1:2") == Hosts{{"h0", 4}, {"h1", 2}}));
    QVERIFY((parse_host_list("me@h0,h-1.lan") == Hosts{{"me@h0", {}}, {"h-1.lan", {}}}));
    QVERIFY((parse_host_list("h0:1,h1:1,h0:2") == Hosts{{"h0", 3}, {"h1", 1}}));
  }

  void a_file_is_open_mpis() {
    QVERIFY((parse_host_file("# two\nh0 slots=4 max_slots=8\n\n  h1\tslots=2 # here\r\nh2\n", "f") ==
             Hosts{{"h0", 4}, {"h1", 2}, {"h2", {}}}));
  }

  void slurms_nodes_are_written_out() {
    QVERIFY((parse_slurm_hosts("n[01-03,7],login", "4(x2),3,1(x2)") ==
             Hosts{{"n01", 4}, {"n02", 4}, {"n03", 3}, {"n7", 1}, {"login", 1}}));
    QVERIFY((parse_slurm_hosts("r[1-2]n[8-9]", "") == Hosts{{"r1n8", {}}, {"r1n9", {}}, {"r2n8", {}}, {"r2n9", {}}}));
  }

  void slurms_nodes_of_any_length_are_listed_or_refused_data() {
    QTest::addColumn<QString>("nodes");
    QString brackets;
    for (int i = 0; i < 100'000; ++i) brackets += "[1-1]";
    QTest::newRow("a hundred thousand brackets") << brackets;
    QTest::newRow("a wide number") << "n[" + QString(100'000, '0') + "1-65000]";
    QTest::newRow("a long name") << QString(100'000, 'n') + "[1-65000]";
    QTest::newRow("no number") << "n[1x-3]";
    QTest::newRow("a sign") << "n[+1-3]";
    QTest::newRow("too large a number") << "n[99999999999-5]";
    QTest::newRow("nothing") << "n[]";
    QTest::newRow("a range without an end") << "n[1-]";
    QTest::newRow("a bracket too many") << "n[1-2]]";
  }

  void slurms_nodes_of_any_length_are_listed_or_refused() {
    QFETCH(QString, nodes);
    const QString said = refusal([&] { parse_slurm_hosts(nodes.toStdString(), ""); });
    QVERIFY(said.startsWith("SLURM_JOB_NODELIST: "));
    QVERIFY(said.size() < 1000);
  }

  void as_many_hosts_as_there_may_be_are_reported_apart() {
    std::string list;
    for (int i = 0; i < 65'536; ++i) list += "host" + std::to_string(i) + ":1,";
    list += "host65535:2";
    const Hosts hosts = parse_host_list(list);
    QCOMPARE(hosts.size(), size_t{65'536});
    QVERIFY((hosts.back() == HostSlots{"host65535", 3}));
    QVERIFY(refusal([&] { parse_host_list(list + ",another"); }).contains("more than 65536 hosts"));
  }

  void ranks_are_laid_over_hosts_in_order() {
    QVERIFY((lay_over_hosts({{"a", 4}, {"b", 4}}, 8) == Laid{{"a", 0, 4}, {"b", 4, 4}}));
    QVERIFY((lay_over_hosts({{"a", 4}, {"b", 4}}, 6) == Laid{{"a", 0, 4}, {"b", 4, 2}}));
    QVERIFY((lay_over_hosts({{"a", 4}, {"b", 4}}, 3) == Laid{{"a", 0, 3}}));
    QVERIFY((lay_over_hosts({{"a", {}}, {"b", {}}}, 5) == Laid{{"a", 0, 3}, {"b", 3, 2}}));
    QVERIFY((lay_over_hosts({{"a", {}}, {"b", 1}, {"c", {}}}, 8) == Laid{{"a", 0, 4}, {"b", 4, 1}, {"c", 5, 3}}));
  }

  void what_is_no_list_is_refused_with_its_place_data() {
    QTest::addColumn<QString>("text");
    for (const char* text :
         {"", "h0,", "h0:0", "h0:x", "h0:-1", "h0:99999999999", "-oProxyCommand=x", "h0;rm", "a b", "h0,h0", "$(x)"}) {
      QTest::newRow(text) << text;
    }
  }

  void what_is_no_list_is_refused_with_its_place() {
    QFETCH(QString, text);
    QVERIFY(refusal([&] { parse_host_list(text.toStdString()); }).startsWith("--hosts: "));
  }

  void errors_of_files_and_of_slurm_have_a_place() {
    QVERIFY(refusal([] { parse_host_file("h0\nh1 slots=0\n", "my_hosts"); }).startsWith("my_hosts:2: "));
    QVERIFY(refusal([] { parse_host_file("h0 cpus=2\n", "my_hosts"); }).startsWith("my_hosts:1: "));
    QVERIFY(refusal([] { parse_host_file("# none\n", "my_hosts"); }).startsWith("my_hosts: "));
    QVERIFY(refusal([] { parse_slurm_hosts("n[1-", ""); }).startsWith("SLURM_JOB_NODELIST: "));
    QVERIFY(refusal([] { parse_slurm_hosts("n[1-99999999]", ""); }).startsWith("SLURM_JOB_NODELIST: "));
    QVERIFY(refusal([] { parse_slurm_hosts("n[1-2]", "4"); }).startsWith("SLURM_TASKS_PER_NODE: "));
    QVERIFY(refusal([] { lay_over_hosts({{"a", 4}, {"b", 2}}, 8); }).contains("6 ranks, the mesh has 8 devices"));
  }
};

REGISTER_TEST(HostListTest)

}  // namespace host_list_test

#include "host_list_test.moc"
