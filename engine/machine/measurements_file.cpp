#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "engine/base/enum_count.h"
#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/base/number_text.h"
#include "engine/machine/measured_rows.h"
#include "engine/machine/nccl_tests.h"
#include "engine/mesh/mesh.h"

namespace shardscope {

namespace {

namespace fs = std::filesystem;

constexpr int64_t most_bytes_of_text = 1 << 24;
constexpr int64_t most_elements = int64_t{1} << 40, most_payload = int64_t{1} << 60;
constexpr double most_seconds = 1e9;
constexpr const char* byte_order_mark = "\xEF\xBB\xBF";  // which spreadsheets write

struct CsvCell {
  std::string text;
  int column = 1;
};

// Without the blanks around them. Between double quotes a comma is text, and "" is a quote.
std::vector<CsvCell> cells_of(const std::string& line) {
  std::vector<CsvCell> cells(1);
  bool is_quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      if (is_quoted && i + 1 < line.size() && line[i + 1] == '"') cells.back().text += line[i++];
      else is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      cells.push_back({"", static_cast<int>(i) + 2});
    } else {
      cells.back().text += c;
    }
  }
  for (CsvCell& cell : cells) {
    const size_t first = cell.text.find_first_not_of(" \t\r"), last = cell.text.find_last_not_of(" \t\r");
    cell.text = first == std::string::npos ? "" : cell.text.substr(first, last - first + 1);
    if (first != std::string::npos) cell.column += static_cast<int>(first);
  }
  return cells;
}

struct CsvKind {
  std::string name;
  std::vector<std::string> columns, optional_columns;
};
const std::vector<CsvKind>& csv_kinds() {
  static const std::vector<CsvKind> kinds = {{"product", {"dtype", "m", "k", "n", "seconds"}, {"batch"}},
                                             {"collective", {"collective", "bytes", "ranks", "seconds"}, {"stride"}},
                                             {"step", {"run_file", "seconds"}, {}}};
  return kinds;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

class CsvReader {
 public:
  explicit CsvReader(std::string name) : name_(std::move(name)), folder_(fs::path(name_).parent_path()) {}

  void read(const std::string& line) {
    ++number_;
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') return;
    const std::vector<CsvCell> cells = cells_of(line);
    if (columns_.empty()) read_head(cells);
    else if (is_readable_) read_row(cells);
  }

  std::vector<MeasuredRow> rows() {
    if (errors_.empty() && rows_.empty())
      fail(1, "no row is here", columns_.empty() ? "a first line such as 'kind,collective,bytes,ranks,seconds'" : "");
    if (!errors_.empty()) throw Failure(std::move(errors_));
    return std::move(rows_);
  }

 private:
  void fail(int column, std::string message, std::string hint) {
    errors_.push_back(
        {"bad_measurements", std::move(message), in_file(name_, std::max(number_, 1), column), std::move(hint)});
  }

  void read_head(const std::vector<CsvCell>& cells) {
    std::vector<std::string> known = {"kind"};
    for (const CsvKind& kind : csv_kinds()) {
      for (const auto* list : {&kind.columns, &kind.optional_columns}) {
        for (const std::string& column : *list)
          if (!has(known, column)) known.push_back(column);
      }
    }
    for (const auto& [text, column] : cells) {
      if (!has(known, text)) fail(column, fmt::format("unknown column '{}'", text), name_hint(text, known));
      if (has(columns_, text))
        fail(column, fmt::format("the column '{}' is there twice", text), "leave one of them out");
      columns_.push_back(text);
    }
    if (!has(columns_, "kind")) fail(1, "the column 'kind' is missing", "product, collective or step in each row");
    is_readable_ = errors_.empty();
  }

  void read_row(const std::vector<CsvCell>& cells) {
    if (cells.size() != columns_.size()) {
      const bool is_more = cells.size() > columns_.size();
      fail(is_more ? cells[columns_.size()].column : cells.back().column,
           fmt::format("the row has {} cells, the first line {} columns", cells.size(), columns_.size()),
           is_more ? "quote a cell that has commas" : "empty cells have their commas, too");
      return;
    }
    cells_.clear();
    for (size_t i = 0; i < cells.size(); ++i) cells_[columns_[i]] = cells[i];
    const size_t faults = errors_.size();
    const CsvKind* kind = find_kind();
    if (!kind) return;
    for (const std::string& column : kind->columns) require(column, kind->name);
    for (const auto& [column, cell] : cells_) {
      if (column == "kind" || cell.text.empty() || has(kind->columns, column) || has(kind->optional_columns, column))
        continue;
      fail(cell.column, fmt::format("a {} has no {}", kind->name, column), "leave the cell empty");
    }
    if (errors_.size() > faults) return;
    MeasuredRow row{read_work(kind->name), read_seconds(), in_file(name_, number_)};
    if (errors_.size() == faults) rows_.push_back(std::move(row));
  }

  const CsvKind* find_kind() {
    const CsvCell& cell = cells_["kind"];
    std::vector<std::string> names;
    for (const CsvKind& kind : csv_kinds()) {
      if (kind.name == cell.text) return &kind;
      names.push_back(kind.name);
    }
    fail(cell.column, fmt::format("'{}' is no kind of row", cell.text), name_hint(cell.text, names));
    return nullptr;
  }

  void require(const std::string& column, const std::string& kind) {
    const auto cell = cells_.find(column);
    if (cell == cells_.end())
      fail(1, fmt::format("a {} needs a column '{}'", kind, column), "name it in the first line");
    else if (cell->second.text.empty()) fail(cell->second.column, fmt::format("a {} needs its {}", kind, column), "");
  }

  decltype(MeasuredRow::work) read_work(const std::string& kind) {
    if (kind == "step") {
      const CsvCell& cell = cells_["run_file"];
      return MeasuredStepTime{(folder_ / cell.text).lexically_normal().string(), cell.text, cell.column};
    }
    if (kind == "collective") {
      MeasuredCollective work;
      const CsvCell& cell = cells_["collective"];
      try {
        work.collective = collective_of(cell.text, in_file(name_, number_, cell.column));
      } catch (const Failure& failure) {
        append(errors_, failure.errors());
      }
      work.bytes = read_integer("bytes", 1, most_payload);
      work.ranks = static_cast<int>(read_integer("ranks", 2, Mesh::max_devices));
      work.stride = static_cast<int>(read_optional("stride", Mesh::max_devices / work.ranks));
      return work;
    }
    PricedProduct product;
    product.precision = read_precision();
    product.m = read_integer("m", 1, most_elements);
    product.k = read_integer("k", 1, most_elements);
    product.n = read_integer("n", 1, most_elements);
    product.batch = read_optional("batch", most_elements);
    return product;
  }

  Precision read_precision() {
    const CsvCell& cell = cells_["dtype"];
    std::vector<std::string> names;
    for (size_t i = 0; i < enum_count<Precision>; ++i) {
      names.emplace_back(name(static_cast<Precision>(i)));
      if (names.back() == cell.text) return static_cast<Precision>(i);
    }
    fail(cell.column, fmt::format("unknown dtype '{}'", cell.text), name_hint(cell.text, names));
    return Precision::f32;
  }

  int64_t read_integer(const std::string& column, int64_t least, int64_t most) {
    const std::optional<int64_t> value = number_of<int64_t>(cells_[column].text);
    if (value && *value >= least && *value <= most) return *value;
    fail(cells_[column].column, fmt::format("'{}' is no {}", cells_[column].text, column),
         fmt::format("a whole number from {} to {}", least, most));
    return least;
  }

  // 1 where it is not given.
  int64_t read_optional(const std::string& column, int64_t most) {
    const auto cell = cells_.find(column);
    return cell == cells_.end() || cell->second.text.empty() ? 1 : read_integer(column, 1, most);
  }

  double read_seconds() {
    const std::optional<double> value = number_of<double>(cells_["seconds"].text);
    if (value && std::isfinite(*value) && *value > 0 && *value <= most_seconds) return *value;
    fail(cells_["seconds"].column, fmt::format("'{}' is no time", cells_["seconds"].text),
         "seconds, a number above 0 such as 1.25e-3");
    return 1;
  }

  std::string name_;
  fs::path folder_;
  int number_ = 0;
  bool is_readable_ = false;
  std::vector<std::string> columns_;
  std::map<std::string, CsvCell> cells_;  // of the row at hand, by column
  std::vector<MeasuredRow> rows_;
  std::vector<Error> errors_;
};

}  // namespace

std::vector<MeasuredRow> parse_measurements(const std::string& text, const std::string& name) {
  if (is_nccl_tests(text)) return parse_nccl_tests(text, name);
  CsvReader reader(name);
  std::istringstream lines(text.starts_with(byte_order_mark) ? text.substr(3) : text);
  for (std::string line; std::getline(lines, line);) reader.read(line);
  return reader.rows();
}

std::vector<MeasuredRow> load_measurements(const std::string& path) {
  return parse_measurements(read_text(path, most_bytes_of_text), path);
}

}  // namespace shardscope
