#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "engine/export/export_target.h"

namespace shardscope {

// Writes rows of cells, each row on a line, to an export. Numbers are written such that reading them gives the same
// number; one that is not finite is an empty cell.
class TableWriter {
 public:
  enum class Format : uint8_t { csv, tsv };

  TableWriter(ExportTarget& target, Format format) : target_(target), format_(format) {}
  ~TableWriter() = default;
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  // First of all.
  void headings(const std::vector<std::string>& names);

  template <class... Cells>
  void row(const Cells&... cells) {
    (add(cells), ...);
    end_row();
  }
  // Cell by cell, for rows of any length.
  void add(std::string_view text);
  void add(const char* text) { add(std::string_view(text)); }
  void add(const std::string& text) { add(std::string_view(text)); }
  void add(double number);
  template <std::integral Integer>
  void add(Integer number) {
    add(std::string_view(std::to_string(number)));
  }
  void end_row();

  // How far the table is; call it often.
  void progress(double done, double all) { target_.progress(done / all); }

  int64_t rows() const { return rows_; }  // without headings

 private:
  ExportTarget& target_;
  Format format_;
  std::string line_;
  bool begun_ = false;  // a cell of the line
  int64_t rows_ = -1;
};

}  // namespace shardscope
