#include "engine/base/data_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>

#include "tests/base/errors_of.h"
#include "tests/test_program.h"

namespace data_identity_test {

using namespace shardscope;

class DataIdentityTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }

  static void put(const std::string& path, int64_t at, const std::string& bytes) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(at);
    file << bytes;
  }

  static FileIdentity file(const std::string& name, int64_t bytes, uint64_t hash) { return {name, bytes, hash}; }
  static DataIdentity text(std::vector<FileIdentity> files) { return {"text", {{"path", std::move(files)}}}; }

 private slots:
  void a_small_file_is_seen_whole_and_its_time_does_not_count() {
    const std::string name = path("small");
    std::ofstream(name) << std::string(300'000, 'a');
    const FileIdentity before = identify(InputFile(name), "small");
    QCOMPARE(before.bytes, int64_t{300'000});
    const timespec times[2] = {{1000, 0}, {1000, 0}};
    QCOMPARE(::utimensat(AT_FDCWD, name.c_str(), times, 0), 0);
    QVERIFY(identify(InputFile(name), "small") == before);
    for (const int64_t at : {0, 65'535, 65'536, 150'000, 299'999}) {
      put(name, at, "b");
      QVERIFY(identify(InputFile(name), "small").hash != before.hash);
      put(name, at, "a");
      QVERIFY(identify(InputFile(name), "small") == before);
    }
    std::ofstream(path("empty")).flush();
    QCOMPARE(identify(InputFile(path("empty")), "empty").bytes, int64_t{0});
  }

  void a_large_file_is_seen_at_64_blocks_from_its_first_byte_to_its_last() {
    const std::string name = path("large");
    const int64_t bytes = 100'000'007;
    std::ofstream(name).flush();
    QCOMPARE(::truncate(name.c_str(), bytes), 0);
    const FileIdentity before = identify(InputFile(name), "large");
    for (int64_t k = 0; k < 64; ++k) {
      const int64_t begin = k * (bytes - 65'536) / 63;
      for (const int64_t at : {begin, begin + 65'535}) {
        put(name, at, "x");
        QVERIFY2(identify(InputFile(name), "large").hash != before.hash, qPrintable(QString::number(k)));
        put(name, at, std::string(1, '\0'));
      }
    }
    QVERIFY(identify(InputFile(name), "large") == before);
    QCOMPARE(text({before, file("small", 100, 1)}).sampled_bytes(), int64_t{64 * 65'536 + 100});
    put(name, 65'536, "x");  // between the first two
    QVERIFY(identify(InputFile(name), "large") == before);
    QCOMPARE(::truncate(name.c_str(), bytes + 1), 0);
    QCOMPARE(identify(InputFile(name), "large").bytes, bytes + 1);
  }

  void a_name_that_no_text_can_hold_is_made_printable() {
    const std::string name = path("a\xff\n");
    std::ofstream(name) << "text";
    QCOMPARE(identify(InputFile(name), "a\xff\n").name, std::string("a\\xff\\n"));
  }

  void differences_name_files_sizes_and_contents() {
    const DataIdentity before = text({file("a", 10, 1), file("b", 20, 2), file("c", 30, 3)});
    QVERIFY(differences(before, before).empty());
    QCOMPARE(differences(before, text({file("a", 10, 1), file("b", 25, 9), file("d", 40, 4)})),
             (std::vector<std::string>{"data.path: 'b' had 20 bytes and has 25", "data.path: 'c' (30 bytes) is gone",
                                       "data.path: 'd' (40 bytes) is new"}));
    QCOMPARE(differences(before, text({file("a", 10, 7), file("b", 20, 2), file("c", 30, 3)})),
             std::vector<std::string>{"data.path: 'a' has other content, of 10 bytes as before"});
    QCOMPARE(differences(before, {"tokens", before.parts}),
             std::vector<std::string>{"data.kind was 'text' and is 'tokens'"});
    QCOMPARE(summary({"1", "2", "3", "4", "5"}), std::string("1; 2; 3; and 2 more"));
  }

  void names_decide_nothing_and_the_order_of_contents_does() {
    QVERIFY(
        differences(text({file("a", 10, 1), file("b", 20, 2)}), text({file("x", 10, 1), file("y", 20, 2)})).empty());
    QCOMPARE(differences(text({file("a", 10, 1)}), text({file("x", 12, 2)})),
             std::vector<std::string>{"data.path: 'x' had 10 bytes and has 12"});
    QCOMPARE(differences(text({file("a", 10, 1), file("b", 10, 2)}), text({file("a", 10, 2), file("b", 10, 1)})).size(),
             size_t{2});
  }

  void what_only_one_of_two_runs_reads_is_not_compared() {
    DataIdentity evaluates = text({file("a", 10, 1)});
    evaluates.parts.push_back({"validation_path", {file("v", 5, 5)}});
    QVERIFY(differences(text({file("a", 10, 1)}), evaluates).empty());
    QVERIFY(differences(evaluates, text({file("a", 10, 1)})).empty());
    DataIdentity other = evaluates;
    other.parts.back().files.front().hash = 6;
    QCOMPARE(differences(evaluates, other),
             std::vector<std::string>{"data.validation_path: 'v' has other content, of 5 bytes as before"});
  }
};

REGISTER_TEST(DataIdentityTest)

}  // namespace data_identity_test

#include "data_identity_test.moc"
