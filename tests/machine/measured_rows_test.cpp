#include "engine/machine/measured_rows.h"

#include <QTest>

#include "tests/base/errors_of.h"
#include "tests/test_program.h"

namespace measured_rows_test {

using namespace shardscope;

namespace {

// "line:column message (hint)" of the first fault, and how many there are.
std::string fault_of(const std::string& text) {
  const std::vector<Error> errors = errors_of([&] { parse_measurements(text, "m.csv"); });
  return errors.empty() ? "" : to_string(errors.front());
}

void verify_fault(const std::string& text, const std::string& place, const std::string& message,
                  const std::string& hint) {
  const std::string fault = fault_of(text);
  QVERIFY2(fault.starts_with(place + ": " + message), fault.c_str());
  QVERIFY2(fault.ends_with("(" + hint + ")"), fault.c_str());
}

const std::string products = "kind,dtype,m,k,n,seconds\n";
const std::string collectives = "kind,collective,bytes,ranks,seconds\n";

// Of nccl-tests 2.17, shortened.
const std::string nccl = R"(+ mpirun -np 4 ./build/all_gather_perf -b 1M -e 2M -f 2 -g 1
# nccl-tests version 2.17.1 nccl-headers=22807 nccl-library=22807
# Collective test starting: all_gather_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid 729728 on host device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid 729730 on host device  1 [0000:15:00] NVIDIA A100-SXM4-40GB
#  Rank  2 Group  0 Pid 729727 on host device  2 [0000:51:00] NVIDIA A100-SXM4-40GB
#  Rank  3 Group  0 Pid 729726 on host device  3 [0000:54:00] NVIDIA A100-SXM4-40GB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           0             0     float    none      -1    11.20    0.00    0.00       0    10.90    0.00    0.00       0
[host:02705] 14 more processes have sent help message help-mca-var.txt
     1048576         65536     float    none      -1    35.39   29.63   22.22       0    34.44   30.45   22.84       0
     2097152        131072     float    none      -1  1.4e+05   49.63   37.22       0    42.44   49.41   37.06     N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 29.5
)";

}  // namespace

class MeasuredRowsTest : public QObject {
  Q_OBJECT

 private slots:
  void rows_of_all_kinds_are_read_with_their_places() {
    const std::vector<MeasuredRow> rows = parse_measurements(
        "\xEF\xBB\xBF# of the first half of May\r\n"
        "\r\n"
        "kind, seconds, dtype,m,k,n,batch, collective,bytes,ranks,stride, run_file\r\n"
        "product, 2.5e-4, bf16,4096,1024,512,3, ,,,, \r\n"
        "collective,1,,,,,,all_reduce,67108864,8,4,\r\n"
        "step, 1.5,,,,,,,,,,\"a, \"\"b\"\".json\"",
        "folder/m.csv");
    QCOMPARE(rows.size(), size_t{3});
    const auto& product = std::get<PricedProduct>(rows[0].work);
    QVERIFY(product.precision == Precision::bf16 && product.m == 4096 && product.k == 1024 && product.n == 512);
    QVERIFY(product.batch == 3 && rows[0].seconds == 2.5e-4 && rows[0].place == in_file("folder/m.csv", 4));
    const auto& collective = std::get<MeasuredCollective>(rows[1].work);
    QVERIFY(collective.collective == InstructionKind::all_reduce && collective.bytes == 67108864);
    QVERIFY(collective.ranks == 8 && collective.stride == 4 && rows[1].seconds == 1);
    QCOMPARE(std::get<MeasuredStepTime>(rows[2].work).run_file, std::string("folder/a, \"b\".json"));
    QVERIFY(rows[2].place == in_file("folder/m.csv", 6) && rows[2].is_step());
    QCOMPARE(to_string(rows[0]), std::string("3 x bf16 4096 x 1024 x 512"));
    QCOMPARE(to_string(rows[1]), std::string("all-reduce of 64.0 MiB among 8, 4 apart"));
  }

  void collectives_have_their_names_here_and_in_nccl() {
    for (const auto& [name, kind] : {std::pair("all-gather", InstructionKind::all_gather),
                                     {"reduce_scatter", InstructionKind::reduce_scatter},
                                     {"all-to-all", InstructionKind::all_to_all},
                                     {"alltoall", InstructionKind::all_to_all},
                                     {"sendrecv", InstructionKind::collective_permute},
                                     {"collective-permute", InstructionKind::collective_permute}})
      QVERIFY(collective_of(name, {}) == kind);
  }

  void a_wrong_table_says_its_place_and_what_would_be_right() {
    verify_fault("", "m.csv:1:1", "no row is here", "a first line such as 'kind,collective,bytes,ranks,seconds'");
    verify_fault("kind,collectiv,bytes\n", "m.csv:1:6", "unknown column 'collectiv'", "did you mean 'collective'?");
    verify_fault("kind,m,kind\n", "m.csv:1:8", "the column 'kind' is there twice", "leave one of them out");
    verify_fault("dtype,m\nbf16,5\n", "m.csv:1:1", "the column 'kind' is missing",
                 "product, collective or step in each row");
    verify_fault("kind,m,k,n,seconds\nproduct,1,1,1,1\n", "m.csv:2:1", "a product needs a column 'dtype'",
                 "name it in the first line");
    verify_fault(products + "prodct,bf16,1,1,1,1\n", "m.csv:2:1", "'prodct' is no kind of row",
                 "did you mean 'product'?");
    verify_fault(products + "product,bf16,1,1,1,1,1\n", "m.csv:2:22", "the row has 7 cells, the first line 6 columns",
                 "quote a cell that has commas");
    verify_fault(products + "product,bf16,1,1\n", "m.csv:2:16", "the row has 4 cells, the first line 6 columns",
                 "empty cells have their commas, too");
  }

  void a_wrong_cell_says_its_place_and_what_would_be_right() {
    verify_fault(products + "product,float16,1,1,1,1\n", "m.csv:2:9", "unknown dtype 'float16'",
                 "known: f32, tf32, f16, bf16, fp8, fp4");
    for (const std::string m : {"0", "-4", "4.5", "nan", "4k", "1e3", "9000000000000000000000"})
      verify_fault(products + "product,bf16, " + m + ",1,1,1\n", "m.csv:2:15", "'" + m + "' is no m",
                   "a whole number from 1 to 1099511627776");
    for (const std::string seconds : {"0", "-1", "nan", "inf", "1 ms", "1e400"})
      verify_fault(products + "product,bf16,1,1,1," + seconds + "\n", "m.csv:2:20", "'" + seconds + "' is no time",
                   "seconds, a number above 0 such as 1.25e-3");
    const std::string empty = fault_of(products + "product,bf16,1,,1,1\n");
    QCOMPARE(empty, std::string("m.csv:2:16: a product needs its k"));
    verify_fault("kind,collective,bytes,ranks,seconds,m\ncollective,all-reduce,8,2,1,7\n", "m.csv:2:29",
                 "a collective has no m", "leave the cell empty");
    verify_fault(collectives + "collective,all_reduc,8,2,1\n", "m.csv:2:12", "plans have no collective 'all_reduc'",
                 "did you mean 'all-reduce'?");
    verify_fault(collectives + "collective,all-reduce,8,1,1\n", "m.csv:2:25", "'1' is no ranks",
                 "a whole number from 2 to 65536");
  }

  void all_faults_of_a_file_come_together() {
    const std::vector<Error> errors = errors_of(
        [&] { parse_measurements(products + "product,bf17,0,1,1,-1\n\nproduct,bf16,1,1,1,1\nstep,,,,,5\n", "m.csv"); });
    QCOMPARE(errors.size(), size_t{4});
    QVERIFY(errors[2].place == in_file("m.csv", 2, 20) && errors[3].place == in_file("m.csv", 5, 1));
  }

  void output_of_nccl_tests_is_read() {
    const std::vector<MeasuredRow> rows = parse_measurements(nccl, "nccl.txt");
    QCOMPARE(rows.size(), size_t{2});
    const auto& work = std::get<MeasuredCollective>(rows[0].work);
    QVERIFY(work.collective == InstructionKind::all_gather && work.bytes == 1048576 && work.ranks == 4);
    QVERIFY(std::abs(rows[0].seconds - 35.39e-6) < 1e-15 && rows[0].place == in_file("nccl.txt", 17));
    QVERIFY(std::abs(rows[1].seconds - 0.14) < 1e-12);
  }

  // Columns of redop and root are blank, or absent, in former versions; a launcher may put words before each line.
  void output_of_other_versions_is_read_alike() {
    QString text = QString::fromStdString(nccl);
    const QString blank = QString(text).replace("float    none      -1 ", "float                 ");
    const QString absent = QString(blank).replace("type   redop    root ", "type ");
    const QString tagged = QString(text).replace("\n", "\n[1,0]<stdout>:").replace("# Collective test starting: ", "#");
    for (const QString& other : {blank, absent, tagged, text + QString(text).replace("all_gather", "alltoall")}) {
      const std::vector<MeasuredRow> rows = parse_measurements(other.toStdString(), "nccl.txt");
      const auto& work = std::get<MeasuredCollective>(rows[1].work);
      QVERIFY(work.bytes == 2097152 && work.ranks == 4 && std::abs(rows[1].seconds - 0.14) < 1e-12);
      QVERIFY(work.collective == InstructionKind::all_gather);
      QCOMPARE(rows.size(), other.size() > 1.5 * text.size() ? size_t{4} : size_t{2});
    }
  }

  void wrong_output_of_nccl_tests_says_its_line() {
    const auto changed = [](const char* what, const char* by) {
      return QString::fromStdString(nccl).replace(what, by).toStdString();
    };
    verify_fault(changed("all_gather_perf", "test"), "m.csv:13", "which collective the table is of is not said",
                 "put a line such as '# all_reduce_perf' above it");
    verify_fault(changed("all_gather", "broadcast"), "m.csv:3", "plans have no collective 'broadcast'",
                 "known: all-gather, all-reduce, reduce-scatter, all-to-all, collective-permute");
    verify_fault(changed("#  Rank", "#"), "m.csv:13", "the ranks are not listed",
                 "keep the lines '#  Rank  0 ...' above the table, of two ranks at least");
    verify_fault(changed("3 Group  0", "3 Group  1"), "m.csv:13", "several groups of ranks were measured at once",
                 "run the test without NCCL_TESTS_SPLIT");
    verify_fault(changed(" time ", " cputime "), "m.csv:13", "the table has no column 'time'",
                 "run the test without -C, which reports the CPU's");
    verify_fault(changed("1.4e+05", "-5"), "m.csv:18", "'-5' is no time", "microseconds, above 0");
    verify_fault(changed("   29.63   22.22       0    34.44", ""), "m.csv:17",
                 "the row has 9 of the table's 13 columns", "the line as the test printed it");
    verify_fault(nccl.substr(0, nccl.find("   1048576  ")), "m.csv:17", "no row of a table is here",
                 "what nccl-tests print, with the table");
  }
};

REGISTER_TEST(MeasuredRowsTest)

}  // namespace measured_rows_test

#include "measured_rows_test.moc"
