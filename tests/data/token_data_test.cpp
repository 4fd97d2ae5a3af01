#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <QDir>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>

#include "engine/base/random.h"
#include "engine/data/data_files.h"
#include "engine/data/token_windows.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/sharding.h"
#include "tests/base/errors_of.h"
#include "tests/data/made_source.h"
#include "tests/test_program.h"

namespace token_data_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

using Rows = std::vector<std::vector<int32_t>>;

constexpr int64_t batch = 8, columns = 6;

DataInput input(const std::string& name, int64_t limit = 256) { return {name, {{batch, columns}, DType::i32}, limit}; }
DataRequest request(int64_t limit = 256) { return {{input("labels", limit), input("tokens", limit)}}; }

Rows rows(const DataSource& source, const std::string& name, int64_t step, Box box = {{0, 0}, {batch, columns}}) {
  std::vector<int32_t> values(static_cast<size_t>(element_count(box.size)));
  source.fill(name, box, step, std::as_writable_bytes(std::span(values)));
  Rows rows;
  for (auto at = values.begin(); at != values.end(); at += box.size[1]) rows.emplace_back(at, at + box.size[1]);
  return rows;
}

// Token i is i; keeps which were read.
class Counting : public TokenStore {
 public:
  explicit Counting(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  void read(int64_t first, std::span<int64_t> out) const override {
    std::iota(out.begin(), out.end(), first);
    for (int64_t token : out) touched_.insert(token);
  }
  std::string place_of(int64_t token) const override { return "token " + std::to_string(token); }
  std::set<int64_t> take() const { return std::exchange(touched_, {}); }

 private:
  int64_t size_;
  mutable std::set<int64_t> touched_;
};

struct Counted {
  const Counting* store;
  std::unique_ptr<DataSource> source;
};

Counted counted(int64_t size, TokenRange range, std::optional<int64_t> seed, int64_t limit = int64_t{1} << 31) {
  auto store = std::make_unique<Counting>(size);
  const Counting* seen = store.get();
  return {seen, make_token_windows(std::move(store), range, input("tokens", limit), seed)};
}

}  // namespace

class TokenDataTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_.filePath(QString::fromStdString(name)).toStdString();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string letters(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += static_cast<char>('a' + i % 26);
    return text;
  }
  static NamedOptions data(const std::string& kind, const std::string& path, OptionList more = {}) {
    NamedOptions data{kind, {{"batch_size", batch}, {"path", path}}};
    for (auto& option : more) data.options.push_back(std::move(option));
    return data;
  }
  static Error fault(const NamedOptions& data, const DataRequest& asked = request()) {
    const std::vector<Error> errors = errors_of([&] { made_source(data, asked); });
    return errors.empty() ? Error{"none", "", "", ""} : errors[0];
  }
  static std::string place(const Error& error) { return error.code + " at " + to_string(error.place); }

 private slots:
  void labels_are_the_tokens_behind_and_all_lie_in_the_range() {
    const auto [store, source] = counted(1000, {100, 200}, 7);
    std::set<int32_t> beginnings;
    for (int64_t step = 0; step < 200; ++step) {
      const Rows tokens = rows(*source, "tokens", step), labels = rows(*source, "labels", step);
      for (size_t row = 0; row < batch; ++row) {
        beginnings.insert(tokens[row][0]);
        QVERIFY(tokens[row][0] >= 100 && labels[row].back() < 200);
        for (size_t i = 0; i < columns; ++i) {
          QCOMPARE(tokens[row][i], tokens[row][0] + static_cast<int32_t>(i));
          QCOMPARE(labels[row][i], tokens[row][i] + 1);
        }
      }
    }
    QCOMPARE(beginnings.size(), size_t{100 - columns});  // every one of them
  }

  void a_window_begins_where_the_64_bits_of_its_step_and_row_say() {
    const auto [store, source] = counted(int64_t{1} << 30, {0, int64_t{1} << 30}, 42);
    for (int64_t step : {0, 1, 999}) {
      const Key key = fold_in(key_from_seed(42), static_cast<uint32_t>(step));
      const Rows tokens = rows(*source, "tokens", step);
      for (size_t row = 0; row < batch; ++row) {
        const double share = (random_bits(key, 2 * row) + random_bits(key, 2 * row + 1) / 4294967296.0) / 4294967296.0;
        QVERIFY(std::abs(tokens[row][0] - share * double((int64_t{1} << 30) - columns)) <= 1);
      }
    }
  }

  void examples_follow_from_the_seed_alone() {
    const auto all = [](int64_t seed) {
      const auto [store, source] = counted(5000, {0, 5000}, seed);
      Rows of_steps;
      for (int64_t step : {3, 0, 1}) {
        for (std::vector<int32_t>& row : rows(*source, "tokens", step)) of_steps.push_back(std::move(row));
      }
      return of_steps;
    };
    QCOMPARE(all(1), all(1));
    QVERIFY(all(1) != all(2));
  }

  void a_device_reads_the_tokens_of_its_part_and_no_others() {
    for (const auto& [data, model] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {4, 1}, {8, 1}, {2, 3}, {1, 2}}) {
      const Mesh mesh({{"data", data}, {"model", model}});
      Sharding split = Sharding::replicated(2);
      split.dims[0].push_back(0);
      split.dims[1].push_back(1);
      const auto [store, source] = counted(100000, {0, 100000}, 5);
      const Rows whole = rows(*source, "tokens", 9);
      for (int device = 0; device < mesh.device_count(); ++device) {
        store->take();
        const Box box = shard_box(split, mesh, {batch, columns}, device);
        const Rows own = rows(*source, "tokens", 9, box);
        std::set<int64_t> expected;
        for (int64_t row = 0; row < box.size[0]; ++row) {
          const auto first = whole[static_cast<size_t>(box.start[0] + row)].begin() + box.start[1];
          QVERIFY(own[static_cast<size_t>(row)] == std::vector<int32_t>(first, first + box.size[1]));
          expected.insert(first, first + box.size[1]);
        }
        QVERIFY(store->take() == expected);
      }
    }
  }

  void what_is_kept_back_follows_in_order_and_comes_again() {
    const auto [store, source] = counted(1000, {500, 500 + 20 * columns + 1}, std::nullopt);
    for (int64_t step = 0; step < 10; ++step) {
      const Rows tokens = rows(*source, "tokens", step);
      for (int64_t row = 0; row < batch; ++row) {
        QCOMPARE(int64_t{tokens[static_cast<size_t>(row)][0]}, 500 + columns * ((step * batch + row) % 20));
      }
    }
  }

  void text_is_its_bytes_of_one_file_or_of_all_in_a_folder_by_name() {
    const std::string text = letters(300);
    QDir(folder_.path()).mkpath("book/b");
    write("book/a.txt", text.substr(0, 100));
    write("book/b/1.txt", "");
    write("book/b/2.txt", text.substr(100, 1));
    write("book/c.txt", text.substr(101));
    write("book/.hidden", "#####");
    const NamedOptions one = data("text", write("one.txt", text)),
                       many = data("text", folder_.filePath("book").toStdString());
    const auto file = made_source(one, request()), book = made_source(many, request());
    for (int64_t step = 0; step < 30; ++step) {
      for (const char* name : {"tokens", "labels"}) {
        QVERIFY(rows(*file, name, step) == rows(*book, name, step));
        for (const std::vector<int32_t>& row : rows(*file, name, step)) {
          QVERIFY(text.find(std::string(row.begin(), row.end())) != std::string::npos);
        }
      }
    }
  }

  void numbers_of_two_and_four_bytes_are_tokens() {
    std::string two, four;
    for (int i = 0; i < 400; ++i) {
      const uint32_t token = 60000 + static_cast<uint32_t>(i);
      two.append({static_cast<char>(token), static_cast<char>(token >> 8)});
      four.append({static_cast<char>(token), static_cast<char>(token >> 8), 1, 0});
    }
    const auto narrow = made_source(data("tokens", write("two.bin", two)), request(65536));
    const auto wide =
        made_source(data("tokens", write("four.bin", four), {{"dtype", std::string("uint32")}}), request(1 << 20));
    for (int64_t step = 0; step < 5; ++step) {
      const Rows a = rows(*narrow, "tokens", step), b = rows(*wide, "tokens", step);
      for (size_t row = 0; row < batch; ++row) {
        QVERIFY(a[row][0] >= 60000 && a[row].back() == a[row][0] + columns - 1);
        QCOMPARE(b[row][0], a[row][0] + 65536);
      }
    }
  }

  void the_last_share_or_a_file_of_its_own_is_kept_back() {
    const std::string path = write("all.txt", std::string(900, 'a') + std::string(100, 'b'));
    const std::string other = write("other.txt", std::string(100, 'c'));
    const auto kept = made_validation(data("text", path), request());
    const auto own = made_validation(data("text", path, {{"validation_path", other}}), request());
    const auto trained = made_source(data("text", path), request());
    const auto whole = made_source(data("text", path, {{"validation_path", other}}), request());
    std::set<int32_t> seen;
    for (int64_t step = 0; step < 50; ++step) {
      for (const char* name : {"tokens", "labels"}) {
        QCOMPARE(rows(*kept, name, step), Rows(batch, std::vector<int32_t>(columns, 'b')));
        QCOMPARE(rows(*own, name, step), Rows(batch, std::vector<int32_t>(columns, 'c')));
        QCOMPARE(rows(*trained, name, step), Rows(batch, std::vector<int32_t>(columns, 'a')));
      }
      for (const std::vector<int32_t>& row : rows(*whole, "tokens", step)) seen.insert(row.begin(), row.end());
    }
    QCOMPARE(seen, (std::set<int32_t>{'a', 'b'}));
  }

  void a_section_says_when_it_evaluates() {
    QCOMPARE(unchecked(data("text", "x")).evaluation.every, int64_t{0});
    const Evaluation asked =
        unchecked(data("text", "x", {{"evaluate_every", int64_t{5}}, {"evaluate_batches", int64_t{3}}})).evaluation;
    QVERIFY(asked.every == 5 && asked.batches == 3);
    QCOMPARE(unchecked({"zeros", {{"batch_size", batch}}}).evaluation.every, int64_t{0});
  }

  void files_that_do_not_serve_are_located_errors() {
    write("novel.txt", letters(300));
    Error error = fault(data("text", folder_.filePath("novell.txt").toStdString()));
    QCOMPARE(place(error), std::string("missing_file at data.path"));
    QVERIFY(error.hint.find("'novel.txt'") != std::string::npos);
    QCOMPARE(place(fault(data("text", "/nowhere/at/all"))), std::string("missing_file at data.path"));
    QDir(folder_.path()).mkpath("empty");
    QCOMPARE(place(fault(data("text", folder_.filePath("empty").toStdString()))),
             std::string("missing_file at data.path"));
    QCOMPARE(place(fault(data("text", ""))), std::string("empty_path at data.path"));

    error = fault(data("tokens", write("odd.bin", letters(301))));
    QCOMPARE(place(error), std::string("file_size at data.path"));
    QVERIFY(error.message.find("301 bytes") != std::string::npos);

    // 8 x 6 tokens and one more, behind which a tenth is kept.
    error = fault(data("text", write("short.txt", letters(53))));
    QCOMPARE(place(error), std::string("too_short at data.path"));
    QCOMPARE(error.hint, std::string("at least 49 tokens"));
    QCOMPARE(fault(data("text", write("enough.txt", letters(54)))).code, std::string("none"));

    const OptionList every{{"evaluate_every", int64_t{1}}};
    QCOMPARE(place(fault(data("text", write("little.txt", letters(60)), every))),
             std::string("too_short at data.path"));
    OptionList none_kept = every, other = every;
    none_kept.emplace_back("validation", 0.0);
    QCOMPARE(place(fault(data("text", write("text.txt", letters(300)), none_kept))),
             std::string("no_validation at data.validation"));
    other.emplace_back("validation_path", folder_.filePath("gone.txt").toStdString());
    QCOMPARE(place(fault(data("text", write("text.txt", letters(300)), other))),
             std::string("missing_file at data.validation_path"));
    QCOMPARE(place(fault(data("tokens", "x", {{"dtype", std::string("int8")}}))),
             std::string("unknown_choice at data.dtype"));
  }

  void only_a_file_or_a_folder_is_read_and_nothing_is_waited_for() {
    const std::string fifo = folder_.filePath("fifo").toStdString(), socket = folder_.filePath("socket").toStdString();
    QCOMPARE(::mkfifo(fifo.c_str(), 0600), 0);
    sockaddr_un address{AF_UNIX, {}};
    socket.copy(address.sun_path, sizeof address.sun_path - 1);
    const int bound = ::socket(AF_UNIX, SOCK_STREAM, 0);
    QCOMPARE(::bind(bound, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    for (const std::string& path : {fifo, socket, std::string("/dev/zero")}) {
      for (const char* kind : {"text", "tokens"}) {
        const Error error = fault(data(kind, path));
        QCOMPARE(place(error), std::string("unreadable_file at data.path"));
        QVERIFY2(error.message.find("neither a regular file nor a folder") != std::string::npos, error.message.c_str());
      }
    }
    ::close(bound);
  }

  void a_file_that_is_cut_short_while_it_is_read_is_named_with_its_sizes() {
    for (const bool in_a_folder : {false, true}) {
      QDir(folder_.path()).mkpath("cut");
      const std::string path = write("cut/b.txt", letters(100'000));
      write("cut/a.txt", letters(100));
      const auto source =
          made_source(data("text", in_a_folder ? folder_.filePath("cut").toStdString() : path), request());
      rows(*source, "tokens", 0);
      QCOMPARE(::truncate(path.c_str(), 3000), 0);
      const Error error = errors_of([&] {
                            for (int64_t step = 1; step < 100; ++step) rows(*source, "tokens", step);
                          }).at(0);
      QCOMPARE(error.code, std::string("changed_data"));
      QCOMPARE(error.place.file, path);
      QCOMPARE(error.message, std::string("it had 100000 bytes when the run began and has 3000"));
      QCOMPARE(::truncate(path.c_str(), 0), 0);
      QCOMPARE(errors_of([&] { rows(*source, "labels", 7); }).at(0).code, std::string("changed_data"));
    }
  }

  void a_file_that_grows_gives_the_same_until_the_run_ends() {
    const std::string path = write("growing.txt", letters(1000));
    const auto source = made_source(data("text", path), request());
    const Rows before = rows(*source, "tokens", 5);
    std::ofstream(path, std::ios::app) << letters(5000);
    QVERIFY(rows(*source, "tokens", 5) == before);
  }

  void of_many_files_few_are_open_and_one_that_was_replaced_is_noticed() {
    QDir(folder_.path()).mkpath("many");
    const int count = 3 * static_cast<int>(DataFiles::most_open);
    std::string all;
    for (int i = 0; i < count; ++i) {
      const std::string part = letters(7 + i % 3);
      write("many/" + std::to_string(1000 + i), part);
      all += part;
    }
    const std::string many = folder_.filePath("many").toStdString();
    const auto open_files = [] { return QDir("/proc/self/fd").entryList(QDir::Files | QDir::System).size(); };
    const auto before = open_files();
    const auto folder = made_source(data("text", many), request());
    QVERIFY(open_files() <= before + static_cast<qsizetype>(DataFiles::most_open));
    const auto one = made_source(data("text", write("one_of_many.txt", all)), request());
    for (int64_t step = 0; step < 100; ++step) QVERIFY(rows(*folder, "tokens", step) == rows(*one, "tokens", step));
    QVERIFY(open_files() <= before + static_cast<qsizetype>(DataFiles::most_open) + 1);
    for (int i = 0; i < count; ++i) {
      const std::string name = "many/" + std::to_string(1000 + i), kept = write("kept", letters(7 + i % 3));
      QCOMPARE(::rename(kept.c_str(), folder_.filePath(QString::fromStdString(name)).toUtf8().constData()), 0);
    }
    const Error error = errors_of([&] {
                          for (int64_t step = 0; step < 100; ++step) rows(*folder, "tokens", step);
                        }).at(0);
    QCOMPARE(error.code, std::string("changed_data"));
    QVERIFY(error.place.file.starts_with(many + "/1") && error.message.find("another file") != std::string::npos);
  }

  void the_identity_of_data_is_that_of_the_files_that_a_run_reads() {
    QDir(folder_.path()).mkpath("known/deep");
    write("known/b.txt", letters(100));
    write("known/deep/c.txt", letters(50));
    const std::string known = folder_.filePath("known").toStdString(), other = write("kept.txt", letters(60));
    DataIdentity identity = identify_data(unchecked(data("text", known, {{"validation_path", other}})));
    QCOMPARE(identity.kind, std::string("text"));
    QCOMPARE(identity.parts.size(), size_t{1});  // it does not evaluate
    QCOMPARE(identity.parts[0].files.size(), size_t{2});
    QCOMPARE(identity.parts[0].files[1].name, std::string("deep/c.txt"));
    QCOMPARE(identity.parts[0].files[1].bytes, int64_t{50});
    const OptionList evaluates{{"validation_path", other}, {"evaluate_every", int64_t{1}}};
    identity = identify_data(unchecked(data("text", known, evaluates)));
    QCOMPARE(identity.parts.size(), size_t{2});
    QCOMPARE(identity.parts[1].option, std::string("validation_path"));
    QCOMPARE(identity.parts[1].files[0].name, std::string("kept.txt"));
    write("kept.txt", letters(59) + "#");
    QCOMPARE(differences(identity, identify_data(unchecked(data("text", known, evaluates)))),
             std::vector<std::string>{"data.validation_path: 'kept.txt' has other content, of 60 bytes as before"});
    QVERIFY(!identify_data(unchecked({"zeros", {{"batch_size", batch}}})).has_files());
    QCOMPARE(errors_of([&] { identify_data(unchecked(data("text", known + "/gone"))); }).at(0).code,
             std::string("missing_file"));
  }

  void a_token_beyond_the_vocabulary_is_reported_with_its_place_in_the_file() {
    const std::string path = write("late.txt", std::string(500, 'a') + "z");
    const auto source = made_source(data("text", path, {{"validation", 0.0}}), request('b'));
    for (int64_t step = 0; step < 1000; ++step) {
      const std::vector<Error> errors = errors_of([&] { rows(*source, "labels", step); });
      if (errors.empty()) continue;
      QCOMPARE(to_string(errors[0]),
               "data.path: token 500 (byte 500) of '" + path +
                   "' is 122, beyond the model's vocabulary of 98 (a vocabulary of at least 123, or other data)");
      return;
    }
    QFAIL("never read");
  }
};

REGISTER_TEST(TokenDataTest)

}  // namespace token_data_test

#include "token_data_test.moc"
