#include "engine/base/printable.h"

#include <QTest>

#include "engine/base/error.h"
#include "tests/test_program.h"

namespace printable_test {

using namespace shardscope;

class PrintableTest : public QObject {
  Q_OBJECT

 private slots:
  void what_a_terminal_would_obey_is_written_out() {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", ""},
        {"params/Dense_0/kernel -> 'data'", "params/Dense_0/kernel -> 'data'"},
        {"größe 重み 😀", "größe 重み 😀"},
        {"\x1b[31mred", "\\u001b[31mred"},
        {"a\nb\r\tc\b", "a\\nb\\r\\tc\\u0008"},
        {"\x7f", "\\u007f"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m"},  // the one-byte form of ESC [
        {"\xe2\x80\xae"
         "txt.exe",
         "\\u202etxt.exe"},  // turns what follows around
        {"\xe2\x80\xa8", "\\u2028"},
        {"\xff\xfe", "\\xff\\xfe"},
        {"\xc0\x80", "\\xc0\\x80"},           // a zero in more bytes than it needs
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // half of a pair
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xe2\x80", "\\xe2\\x80"},
        {std::string("\0", 1), "\\u0000"},
    };
    for (const auto& [text, shown] : cases) QCOMPARE(printable(text), shown);
    QCOMPARE(printable_lines("a\nb\x1b\n"), std::string("a\nb\\u001b\n"));
  }

  void every_byte_comes_out_as_text_that_any_terminal_shows() {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    for (char c : printable(all)) QVERIFY(c >= ' ' && c <= '~');
  }

  void the_first_characters_are_whole() {
    const std::string text =
        "aé重😀\xff"
        "b";
    const std::vector<std::string> firsts = {"", "a", "aé", "aé重", "aé重😀", "aé重😀\xff", text, text};
    for (size_t count = 0; count < firsts.size(); ++count)
      QCOMPARE(std::string(first_characters(text, count)), firsts[count]);
    for (size_t shift = 0; shift < 4; ++shift) {
      std::string message(shift, 'x');
      for (int i = 0; i < 5000; ++i) message += "重";
      QVERIFY(to_string(Error{"long", message, "", ""}).find("\\x") == std::string::npos);
    }
  }

  void an_error_is_one_line_whatever_it_speaks_of() {
    QVERIFY(to_string(Error{"long", std::string(100000, 'x'), "", ""}).size() < 5000);
    const Error error{"unknown_key", "unknown key 'a\nb\x1b[2J'", "mesh[\"\\n\"]", "did you mean 'x\ry'?"};
    QCOMPARE(to_string(error), std::string("mesh[\"\\n\"]: unknown key 'a\\nb\\u001b[2J' (did you mean 'x\\ry'?)"));
  }
};

REGISTER_TEST(PrintableTest)

}  // namespace printable_test

#include "printable_test.moc"
