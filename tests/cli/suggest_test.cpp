#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "engine/cli/quantity.h"
#include "tests/base/errors_of.h"
#include "tests/cli/program.h"

namespace suggest_test {

using namespace shardscope;

class SuggestTest : public QObject {
  Q_OBJECT

 private slots:
  void the_documents_example_is_printed_and_corrected() {
    const ProgramResult result = shardrun({"suggest", "--params", "175e9", "--devices", "64", "--memory", "40GB"});
    QCOMPARE(result.code, 0);
    QCOMPARE(result.errors, QString());
    for (const char* line : {"Selected strategy: data_parallel", "Data parallel: 64", "Tensor parallel: 1",
                             "Pipeline parallel: 1", "Mesh shape: (64,)"}) {
      QVERIFY2(result.output_lines().contains(line), line);
    }
    // Billions, ZeRO-3, 5 for 6; 8 bytes a parameter need 35 devices of 40 GB, 16 need 70.
    for (const char* said : {"175 are 1.75e+03 bytes", "27.34 GB", "Only ZeRO-3", "(1750 GB)", "32.81 GB",
                             "1400 GB in all, on 35 devices", "2800 GB in all, on 70 devices"}) {
      QVERIFY2(result.output.contains(said), qPrintable(result.output));
    }
  }

  void another_answer_is_said_only_where_it_is_another() {
    int others = 0;
    for (const char* parameters : {"7B", "7.5B", "70B", "300B", "175B"}) {
      for (const char* memory : {"32GB", "50GB", "80GB"}) {
        for (const char* devices : {"12", "64"}) {
          const QString text =
              shardrun({"suggest", "--params", parameters, "--devices", devices, "--memory", memory}).output;
          const QString selected = text.section("Selected strategy: ", 1).section('\n', 0, 0);
          const QString other = text.section("with which it would say ", 1).section('.', 0, 0);
          QVERIFY2(!selected.isEmpty() && other != selected, qPrintable(text));
          others += !other.isEmpty();
        }
      }
    }
    QVERIFY(others > 0);
  }

  void the_json_says_what_fits_by_its_own_bytes() {
    const ProgramResult result =
        shardrun({"suggest", "--params", "7.5B", "--devices", "64", "--memory", "32GB", "--json"});
    QCOMPARE(result.code, 0);
    const QJsonObject json = QJsonDocument::fromJson(result.output.toUtf8()).object();
    QCOMPARE(json["parameters"].toDouble(), 7.5e9);
    QCOMPARE(json["document"]["strategy"].toString(), QString("data_parallel"));
    QVERIFY(json["document"]["faults"].toArray().size() >= 2);
    int fitting = 0;
    for (const QJsonValue& strategy : json["strategies"].toArray()) {
      for (const QJsonValue& states : strategy["per_device"].toArray()) {
        QCOMPARE(states["fits"].toBool(), states["bytes"].toDouble() <= 32e9);
        fitting += states["fits"].toBool();
      }
    }
    QVERIFY(fitting > 0);
  }

  void units_are_what_people_write() {
    for (const auto& [text, value] : std::vector<std::pair<std::string, double>>{{"175e9", 175e9},
                                                                                 {"175B", 175e9},
                                                                                 {"1.5b", 1.5e9},
                                                                                 {"350 M", 350e6},
                                                                                 {"12k", 12e3},
                                                                                 {"7", 7},
                                                                                 {"1T", 1e12}})
      QCOMPARE(count_argument(text, "--params"), value);
    for (const auto& [text, value] : std::vector<std::pair<std::string, double>>{{"40GB", 40e9},
                                                                                 {"40 gb", 40e9},
                                                                                 {"1GiB", 1073741824.0},
                                                                                 {"0.5TiB", 549755813888.0},
                                                                                 {"512MiB", 536870912.0},
                                                                                 {"4096B", 4096}})
      QCOMPARE(bytes_argument(text, "--memory"), value);
  }

  void what_is_no_quantity_is_reported_with_what_would_be_one() {
    for (const char* text : {"", "many", "-3", "0", "0.5", "nan", "inf", "1e400", "1e30", "175X", "175BB", "1,000"}) {
      const std::vector<Error> errors = errors_of([&] { count_argument(text, "--params"); });
      QCOMPARE(errors.size(), size_t{1});
      QCOMPARE(to_string(errors[0].place), std::string("--params"));
      QVERIFY(errors[0].hint.find("175e9") != std::string::npos);
    }
    for (const char* text : {"", "40", "40e9", "-1GB", "40Gb/s", "0.1B", "GB"}) {
      const std::vector<Error> errors = errors_of([&] { bytes_argument(text, "--memory"); });
      QCOMPARE(errors.size(), size_t{1});
      QVERIFY(errors[0].hint.find("40GB") != std::string::npos);
    }
  }

  void bad_arguments_are_exit_code_2_with_their_place() {
    for (const QStringList& arguments : {QStringList{"--params", "much", "--devices", "64", "--memory", "40GB"},
                                         {"--params", "175e9", "--devices", "0", "--memory", "40GB"},
                                         {"--params", "175e9", "--devices", "9999999999", "--memory", "40GB"},
                                         {"--params", "175e9", "--devices", "64", "--memory", "40"}}) {
      const ProgramResult result = shardrun(QStringList{"suggest"} + arguments);
      QCOMPARE(result.code, 2);
      QVERIFY(result.output.isEmpty());
      QCOMPARE(result.error_lines().size(), 1);
      QVERIFY2(result.errors.startsWith("--"), qPrintable(result.errors));
    }
    QCOMPARE(shardrun({"suggest", "--params", "175e9"}).code, 2);
  }
};

REGISTER_PROGRAM_TEST(SuggestTest)

}  // namespace suggest_test

#include "suggest_test.moc"
