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
  kind.step_pages = {"collectives", "timeline"};
  return kind;
}

}  // namespace

const std::vector<TablePage>& table_pages() {
  static const std::vector<TablePage> pages = {{"collectives", write_collectives_table},
                                               {"layout", write_layout_table},
                                               {"memory", write_memory_table},
                                               {"flow", write_flow_table},
                                               {"timeline", write_timeline_table},
                                               {"pipeline", write_pipeline_table},
                                               {"run", write_run_table}};
  return pages;
}

ExportKind csv_export() { return table("csv", "a table, comma-separated", TableWriter::Format::csv); }
ExportKind tsv_export() { return table("tsv", "a table, separated by tabs", TableWriter::Format::tsv); }

}  // namespace shardscope
