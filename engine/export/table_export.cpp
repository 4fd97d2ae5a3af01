#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/plural.h"
#include "engine/export/kinds.h"
#include "engine/export/table_pages.h"

namespace shardscope {

namespace {

std::vector<std::string> page_names() {
  std::vector<std::string> names;
  for (const TablePage& page : table_pages()) names.push_back(page.name);
  return names;
}

ExportKind table(const char* name, const char* what, TableWriter::Format format) {
  const auto write = [format](const ExportSource& source, const ExportChoice& choice, ExportTarget& target) {
    TableWriter table(target, format);
    std::ranges::find(table_pages(), choice.page, &TablePage::name)->write(source, choice, table);
    target.note(counted(table.rows(), "row"));
  };
  ExportKind kind{name, what, name, page_names(), false, write};
  for (const TablePage& page : table_pages()) {
    if (page.shows_step) kind.step_pages.push_back(page.name);
  }
  return kind;
}

}  // namespace

const std::vector<TablePage>& table_pages() {
  static const std::vector<TablePage> pages = [] {
    std::vector<TablePage> all = registered_tables();
    std::ranges::stable_partition(all, [](const TablePage& page) { return page.name == "collectives"; });
    return all;
  }();
  return pages;
}

ExportKind csv_export() { return table("csv", "a table, comma-separated", TableWriter::Format::csv); }
ExportKind tsv_export() { return table("tsv", "a table, separated by tabs", TableWriter::Format::tsv); }

}  // namespace shardscope
