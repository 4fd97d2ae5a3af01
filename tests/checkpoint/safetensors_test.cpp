#include "engine/checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>

#include "engine/base/error.h"
#include "engine/checkpoint/array_file.h"
#include "engine/checkpoint/safetensors_reader.h"
#include "tests/base/errors_of.h"
#include "tests/test_program.h"

namespace safetensors_test {

using namespace shardscope;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file of this header, with ' for ", and so many bytes of 'e' behind it.
void write_file(const std::string& path, std::string header, int bytes) {
  std::ranges::replace(header, '\'', '"');
  const uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header << std::string(static_cast<size_t>(bytes), 'e');
}

SafetensorsLayout two_arrays() {
  return SafetensorsLayout({{"params/b", {{3}, DType::bf16}}, {"params/a", {{2, 2}, DType::i32}}});
}

}  // namespace

class SafetensorsTest : public QObject {
  Q_OBJECT

 private slots:
  void the_header_is_the_formats() {
    const SafetensorsLayout layout = two_arrays();
    std::string json =
        "{'params/b':{'dtype':'BF16','shape':[3],'data_offsets':[0,6]},"
        "'params/a':{'dtype':'I32','shape':[2,2],'data_offsets':[6,22]}}";
    std::ranges::replace(json, '\'', '"');
    QCOMPARE(layout.header().substr(8, json.size()), json);
    QCOMPARE(layout.header().find_first_not_of(' ', 8 + json.size()), std::string::npos);
    QCOMPARE(layout.header().size() % 8, size_t{0});
    QCOMPARE(static_cast<size_t>(static_cast<unsigned char>(layout.header()[0])), layout.header().size() - 8);
    QCOMPARE(layout.header().substr(1, 7), std::string(7, '\0'));
    QCOMPARE(layout.offset(1) - layout.offset(0), int64_t{6});
    QCOMPARE(layout.bytes(), static_cast<int64_t>(layout.header().size()) + 22);
  }

  void a_scalar_has_an_empty_shape_and_no_arrays_make_an_empty_object() {
    QVERIFY(SafetensorsLayout({{"loss", {{}, DType::f32}}}).header().find("\"shape\":[],") != std::string::npos);
    QCOMPARE(SafetensorsLayout({}).header().substr(8), std::string("{}      "));
  }

  void parts_in_any_order_make_the_whole_and_the_header_makes_it_a_file() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("arrays").toStdString();
    std::ofstream(path).close();
    const SafetensorsLayout layout = two_arrays();
    const ArrayFile right(path, layout), left(path, layout);
    const auto column = [](const ArrayFile& file, int64_t index, std::string_view elements) {
      file.write(1, {{0, index}, {2, 1}}, std::as_bytes(std::span(elements)));
    };
    column(right, 1, "BBBBDDDD");
    left.write(0, {{0}, {3}}, std::as_bytes(std::span(std::string_view("112233"))));
    column(left, 0, "AAAACCCC");
    QVERIFY(!is_whole_array_file(path));
    left.write_header();
    QVERIFY(is_whole_array_file(path));
    QCOMPARE(text_of(path), layout.header() + "112233" + "AAAABBBBCCCCDDDD");
  }

  void a_header_that_promises_what_is_not_there_is_refused_data() {
    QTest::addColumn<QString>("array");
    QTest::newRow("negative sizes") << R"("shape":[-1,-4],"data_offsets":[0,16])";
    QTest::newRow("sizes beyond all bounds") << R"("shape":[4294967296,4294967297],"data_offsets":[0,16])";
    QTest::newRow("large and empty") << R"("shape":[9223372036854775807,2,0],"data_offsets":[0,0])";
    QTest::newRow("no list") << R"("shape":4,"data_offsets":[0,16])";
    QTest::newRow("a text") << R"("shape":["4"],"data_offsets":[0,16])";
    QTest::newRow("seven dimensions of too many elements") << R"("shape":[1,1,1,1,1,1,5],"data_offsets":[0,16])";
    QTest::newRow("behind the end") << R"("shape":[4],"data_offsets":[9223372036854775800,9223372036854775816])";
    QTest::newRow("before the beginning") << R"("shape":[4],"data_offsets":[-8,8])";
    QTest::newRow("one offset") << R"("shape":[4],"data_offsets":[0])";
    QTest::newRow("a fraction") << R"("shape":[4.5],"data_offsets":[0,16])";
  }

  void a_header_that_promises_what_is_not_there_is_refused() {
    QFETCH(QString, array);
    QTemporaryDir folder;
    const std::string path = folder.filePath("arrays").toStdString();
    const std::string header = R"({"x":{"dtype":"F32",)" + array.toStdString() + "}}";
    std::ofstream(path) << static_cast<char>(header.size()) << std::string(7, '\0') << header << std::string(16, 'e');
    try {
      const SafetensorsReader reader(path);
      QFAIL("read");
    } catch (const Failure& failure) {
      QCOMPARE(failure.errors().front().code, std::string("unreadable_file"));
      QCOMPARE(failure.errors().front().place.file, path);
    }
  }

  // Of types and dimensions that are not read.
  void an_array_that_cannot_be_read_says_why_and_leaves_the_others_readable_data() {
    QTest::addColumn<QString>("array");
    QTest::addColumn<QString>("why");
    for (const char* type : {"BOOL", "I8", "F8_E8M0"})
      QTest::newRow(type) << QString("'dtype':'%1','shape':[8]").arg(type) << QString("is of type %1").arg(type);
    for (const char* type : {"I64", "U64", "C64"})
      QTest::newRow(type) << QString("'dtype':'%1','shape':[]").arg(type) << QString("is of type %1").arg(type);
    QTest::newRow("half a byte") << "'dtype':'F4','shape':[4,4]"
                                 << "is of type F4";
    QTest::newRow("a type of tomorrow") << "'dtype':'F3','shape':[4,4]"
                                        << "is of type F3";
    QTest::newRow("seven dimensions") << "'dtype':'F32','shape':[1,1,1,2,1,1,1]"
                                      << "has 7 dimensions";
  }
  void an_array_that_cannot_be_read_says_why_and_leaves_the_others_readable() {
    QFETCH(QString, array);
    QFETCH(QString, why);
    QTemporaryDir folder;
    const std::string path = folder.filePath("arrays").toStdString();
    write_file(path,
               "{'odd':{" + array.toStdString() +
                   ",'data_offsets':[4,12]},'x':{'dtype':'I32','shape':[1],'data_offsets':[0,4]}}",
               12);
    const SafetensorsReader reader(path);
    QCOMPARE(reader.arrays().at("odd").unreadable, why.toStdString());
    QVERIFY(reader.arrays().at("x").unreadable.empty());
    int32_t value = 0;
    reader.read(reader.arrays().at("x"), std::as_writable_bytes(std::span(&value, 1)));
    QCOMPARE(value, 0x65656565);
  }

  // As the format's library has it.
  void a_header_that_contradicts_itself_is_refused_data() {
    QTest::addColumn<QString>("header");
    QTest::addColumn<int>("bytes");
    QTest::addColumn<QString>("named");
    const QString a = "'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]}";
    const QString b = "'b':{'dtype':'F32','shape':[2],'data_offsets':[%1,%2]}";
    QTest::newRow("a name twice") << "{" + a + "," + a + "}" << 8 << "\"a\" is given twice";
    QTest::newRow("a key of an array twice")
        << "{'a':{'dtype':'F32','dtype':'I32','shape':[2],'data_offsets':[0,8]}}" << 8 << "\"dtype\" is given twice";
    QTest::newRow("the same bytes") << "{" + a + "," + b.arg(0).arg(8) + "}" << 8 << "'b' overlaps another array";
    QTest::newRow("some of the same") << "{" + a + "," + b.arg(4).arg(12) + "}" << 12 << "'b' overlaps another array";
    QTest::newRow("a gap") << "{" + a + "," + b.arg(12).arg(20) + "}" << 20 << "no array has the bytes before 'b'";
    QTest::newRow("a gap at the front") << "{" + b.arg(4).arg(12) + "}" << 12 << "no array has the bytes before 'b'";
    QTest::newRow("bytes at the end") << "{" + a + "}" << 11 << "no array has the file's last 3 bytes";
  }
  void a_header_that_contradicts_itself_is_refused() {
    QFETCH(QString, header);
    QFETCH(int, bytes);
    QFETCH(QString, named);
    QTemporaryDir folder;
    const std::string path = folder.filePath("arrays").toStdString();
    write_file(path, header.toStdString(), bytes);
    const Error error = error_of([&] { SafetensorsReader reader(path); });
    QCOMPARE(error.code, std::string("unreadable_file"));
    QCOMPARE(error.place.file, path);
    QVERIFY2(error.message.find(named.toStdString()) != std::string::npos, error.message.c_str());
  }

  void a_fifo_is_refused_without_waiting() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("fifo").toStdString();
    QVERIFY(::mkfifo(path.c_str(), 0600) == 0);
    QCOMPARE(error_of([&] { SafetensorsReader reader(path); }).code, std::string("unreadable_file"));
    QCOMPARE(error_of([&] { ArrayFile file(path, two_arrays()); }).code, std::string("unwritable_file"));
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);  // then it could be opened
    QCOMPARE(error_of([&] { ArrayFile file(path, two_arrays()); }).code, std::string("unwritable_file"));
    ::close(reader);
    QVERIFY(!is_whole_array_file(path));
  }

  // Where each entry costs a look at all before it this takes many minutes.
  void a_header_of_many_arrays_is_read_and_written_entry_by_entry() {
    constexpr size_t count = 400'000;
    std::vector<NamedArray> arrays;
    for (size_t i = 0; i < count; ++i) arrays.push_back({"params/" + std::to_string(i), {{0}, DType::f32}});
    const SafetensorsLayout layout(std::move(arrays));
    QTemporaryDir folder;
    const std::string path = folder.filePath("many").toStdString();
    std::ofstream(path) << layout.header();
    const SafetensorsReader reader(path);
    QCOMPARE(reader.arrays().size(), count);
    QCOMPARE(reader.arrays().at("params/399999").type.shape, Shape{0});
  }

  void a_file_that_cannot_be_written_is_named() {
    try {
      const ArrayFile file("/nowhere/at/all", two_arrays());
      QFAIL("opened");
    } catch (const Failure& failure) {
      QCOMPARE(failure.errors().front().code, std::string("unwritable_file"));
      QCOMPARE(to_string(failure.errors().front().place), std::string("/nowhere/at/all"));
    }
  }
};

REGISTER_TEST(SafetensorsTest)

}  // namespace safetensors_test

#include "safetensors_test.moc"
