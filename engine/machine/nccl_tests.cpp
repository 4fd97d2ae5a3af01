#include "engine/machine/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/number_text.h"

namespace shardscope {

namespace {

constexpr const char *first_line = "# nThread ", *bad_table = "bad_nccl_tests";

std::vector<std::string> tokens_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> tokens;
  for (std::string token; stream >> token;) tokens.push_back(token);
  return tokens;
}

// The tables of a text, line by line.
class NcclReader {
 public:
  explicit NcclReader(std::string name) : name_(std::move(name)) {}

  void read(std::string line) {
    ++number_;
    if (const size_t tag = line.find("<stdout>:"); tag != std::string::npos) line.erase(0, tag + 9);
    if (line.starts_with(first_line)) {
      ranks_ = 0;
      has_groups_ = false;
      columns_.clear();
    }
    find_test(line);
    const std::vector<std::string> tokens = tokens_of(line);
    if (tokens.size() > 2 && tokens[0] == "#" && tokens[1] == "Rank") read_rank(tokens);
    if (tokens.size() > 2 && tokens[0] == "#" && tokens[1] == "size") read_head({tokens.begin() + 1, tokens.end()});
    if (tokens.size() > 2 && tokens[0] == "#" && tokens[1] == "Out") columns_.clear();
    if (!columns_.empty() && !tokens.empty() &&
        std::ranges::all_of(tokens[0], [](char c) { return c >= '0' && c <= '9'; }))
      read_row(tokens);
  }

  std::vector<MeasuredRow> rows() const {
    if (rows_.empty()) fail("no row of a table is here", "what nccl-tests print, with the table");
    return rows_;
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const {
    throw Failure(Error{bad_table, message, in_file(name_, number_), hint});
  }

  // The word before "_perf".
  void find_test(const std::string& line) {
    const size_t end = line.find("_perf");
    if (end == std::string::npos) return;
    const auto is_other = [](char c) { return !(c >= 'a' && c <= 'z') && c != '_'; };
    const auto begin = std::find_if(line.rend() - static_cast<std::ptrdiff_t>(end), line.rend(), is_other);
    test_.assign(begin.base(), line.begin() + static_cast<std::ptrdiff_t>(end));
    test_line_ = number_;
  }

  void read_rank(const std::vector<std::string>& tokens) {
    ++ranks_;
    has_groups_ |= tokens.size() > 4 && tokens[3] == "Group" && tokens[4] != "0";
  }

  void read_head(std::vector<std::string> columns) {
    columns_ = std::move(columns);
    const auto time = std::ranges::find(columns_, "time");
    if (time == columns_.end())
      fail("the table has no column 'time'", "run the test without -C, which reports the CPU's");
    time_ = static_cast<size_t>(time - columns_.begin());
    optional_ = static_cast<size_t>(std::count_if(
        columns_.begin(), time, [](const auto& column) { return column == "redop" || column == "root"; }));
    if (test_.empty())
      fail("which collective the table is of is not said", "put a line such as '# all_reduce_perf' above it");
    if (ranks_ < 2)
      fail("the ranks are not listed", "keep the lines '#  Rank  0 ...' above the table, of two ranks at least");
    if (has_groups_) fail("several groups of ranks were measured at once", "run the test without NCCL_TESTS_SPLIT");
    collective_ = collective_of(test_, in_file(name_, test_line_));
  }

  // Columns that a version leaves blank are those of redop and root.
  void read_row(const std::vector<std::string>& tokens) {
    const size_t blank = columns_.size() - std::min(columns_.size(), tokens.size());
    if (blank > optional_)
      fail(fmt::format("the row has {} of the table's {} columns", tokens.size(), columns_.size()),
           "the line as the test printed it");
    const std::string& time = tokens[time_ - blank];
    const auto bytes = number_of<int64_t>(tokens[0]);
    const auto microseconds = number_of<double>(time);
    if (!bytes) fail(fmt::format("'{}' is no size in bytes", tokens[0]), "a whole number");
    if (!microseconds || !std::isfinite(*microseconds) || *microseconds <= 0)
      fail(fmt::format("'{}' is no time", time), "microseconds, above 0");
    if (*bytes > 0)
      rows_.push_back({MeasuredCollective{collective_, *bytes, ranks_}, *microseconds / 1e6, in_file(name_, number_)});
  }

  std::string name_;
  int number_ = 0, ranks_ = 0, test_line_ = 0;
  bool has_groups_ = false;
  std::string test_;
  InstructionKind collective_ = InstructionKind::all_reduce;
  std::vector<std::string> columns_;  // of the table at hand
  size_t time_ = 0, optional_ = 0;
  std::vector<MeasuredRow> rows_;
};

}  // namespace

bool is_nccl_tests(const std::string& text) { return text.find(first_line) != std::string::npos; }

std::vector<MeasuredRow> parse_nccl_tests(const std::string& text, const std::string& name) {
  NcclReader reader(name);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) reader.read(line);
  return reader.rows();
}

}  // namespace shardscope
