#include "engine/export/table_writer.h"

#include <fmt/format.h>

#include <cmath>

namespace shardscope {

namespace {

std::string quoted(std::string_view text) {
  std::string cell = "\"";
  for (char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

}  // namespace

void TableWriter::headings(const std::vector<std::string>& names) {
  for (const std::string& name : names) add(name);
  end_row();
}

void TableWriter::add(std::string_view text) {
  if (begun_) line_ += format_ == Format::csv ? ',' : '\t';
  begun_ = true;
  if (format_ == Format::csv) {
    line_ += text.find_first_of(",\"\r\n") == std::string_view::npos ? std::string(text) : quoted(text);
    return;
  }
  for (char c : text) line_ += c == '\t' || c == '\n' || c == '\r' ? ' ' : c;
}

void TableWriter::add(double number) {
  add(std::string_view(std::isfinite(number) ? fmt::format("{}", number) : std::string()));
}

void TableWriter::end_row() {
  line_ += '\n';
  target_.write(line_);
  line_.clear();
  begun_ = false;
  ++rows_;
}

}  // namespace shardscope
