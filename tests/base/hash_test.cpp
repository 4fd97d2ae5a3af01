#include <QCryptographicHash>
#include <QTest>
#include <random>
#include <set>

#include "engine/base/hash.h"
#include "engine/base/sha1.h"
#include "tests/test_program.h"

namespace hash_test {

using namespace shardscope;

class HashTest : public QObject {
  Q_OBJECT

 private slots:
  void sha1_agrees_with_another_implementation_at_every_length() {
    std::mt19937 random(1);
    for (int length = 0; length < 300; ++length) {
      std::string text(length, '\0');
      for (char& c : text) c = static_cast<char>(random());
      const Sha1Digest digest = sha1(text);
      const QByteArray expected = QCryptographicHash::hash(QByteArray::fromStdString(text), QCryptographicHash::Sha1);
      QCOMPARE(QByteArray(reinterpret_cast<const char*>(digest.data()), 20), expected);
    }
  }

  void bytes_hash_as_xxh3_does() {
    QCOMPARE(hash_bytes(std::string_view()), uint64_t{0x2D06800538D394C2});
    std::string text(1000, 'x');
    for (int repeat = 0; repeat < 1000; ++repeat) {
      std::string changed = text;
      changed[repeat] = 'y';
      QVERIFY(hash_bytes(changed) != hash_bytes(text));
    }
  }

  void adding_in_pieces_is_adding_at_once() {
    std::mt19937 random(2);
    for (int repeat = 0; repeat < 100; ++repeat) {
      std::vector<std::byte> bytes(random() % 5000);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      Hasher hasher;
      for (size_t at = 0; at < bytes.size();) {
        const size_t piece = std::min(bytes.size() - at, size_t{1} + random() % 700);
        hasher.add_bytes(std::span(bytes).subspan(at, piece));
        at += piece;
      }
      QCOMPARE(hasher.digest(), hash_bytes(bytes));
    }
  }

  void where_a_text_ends_counts() {
    const auto digest = [](auto... parts) {
      Hasher hasher;
      (hasher.add(parts), ...);
      return hasher.digest();
    };
    using View = std::string_view;
    const std::set<uint64_t> digests = {digest(View("ab"), View("c")), digest(View("a"), View("bc")),
                                        digest(View("abc")), digest(View("abc"), View())};
    QCOMPARE(digests.size(), size_t{4});
  }
};

REGISTER_TEST(HashTest)

}  // namespace hash_test

#include "hash_test.moc"
