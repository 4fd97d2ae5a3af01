#include "gui/search/found_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/plural.h"
#include "engine/config/run_file_keys.h"
#include "engine/export/table_writer.h"
#include "engine/search/search_json.h"

namespace shardscope {
namespace {

struct FoundFile {
  std::vector<Found> found;
  std::vector<bool> on_front;
  SearchResult result;
  std::shared_ptr<const SearchRequest> request;
};

void write_found_table(const FoundFile& file, ExportTarget& target) {
  TableWriter table(target, TableWriter::Format::csv);
  table.headings({"candidate",
                  "on_front",
                  "seconds_per_step",
                  "memory_bytes",
                  "device_hours_per_step",
                  "mfu",
                  "exposed_share",
                  "bubble",
                  "limited_by",
                  "data",
                  "fsdp",
                  "tensor",
                  "context",
                  "expert",
                  "pipeline",
                  "order",
                  "virtual_stages",
                  "pipeline_schedule",
                  "sequence_parallel",
                  "zero",
                  "microbatch_size",
                  "recompute",
                  "mode"});
  const auto devices = static_cast<double>(file.request->devices);
  for (size_t i = 0; i < file.found.size(); ++i) {
    const Found& found = file.found[i];
    const StrategyConfig& s = found.candidate.strategy;
    table.row(found.index, file.on_front[i] ? "yes" : "no", found.seconds, found.memory_bytes,
              found.seconds * devices / 3600, found.mfu, found.exposed_share, found.bubble, found.limit, s.data, s.fsdp,
              s.tensor, s.context, s.expert, s.pipeline, fmt::format("{}", fmt::join(s.order, " ")), s.virtual_stages,
              s.pipeline_schedule, s.sequence_parallel ? "yes" : "no", s.zero, s.microbatch_size, s.recompute,
              run_file::layout_modes()[static_cast<size_t>(found.candidate.mode)]);
  }
  target.note(counted(table.rows(), "row"));
}

}  // namespace

std::vector<ExportKind> found_export_kinds(const StrategySearch& search, std::vector<int> rows) {
  auto file = std::make_shared<FoundFile>();
  std::vector<bool> is_shown(search.found().size());
  for (const int row : rows) is_shown[static_cast<size_t>(row)] = true;
  for (size_t row = 0; row < is_shown.size(); ++row)
    if (!is_shown[row]) rows.push_back(static_cast<int>(row));
  for (const int row : rows) {
    file->found.push_back(search.found()[static_cast<size_t>(row)]);
    file->on_front.push_back(search.is_on_front(row));
  }
  file->result = *search.result();
  file->request = search.request();
  const auto kind = [](const char* name, const char* what, const char* extension,
                       std::function<void(ExportTarget&)> write) {
    return ExportKind{
        name,
        what,
        extension,
        {},
        false,
        [write = std::move(write)](const ExportSource&, const ExportChoice&, ExportTarget& target) { write(target); }};
  };
  return {kind("search-csv", "the candidates of Search, comma-separated", "csv",
               [file](ExportTarget& target) { write_found_table(*file, target); }),
          kind("search-json", "the front and the fastest of Search, as search --json prints them", "json",
               [file](ExportTarget& target) { target.write(search_json(file->result, *file->request)); })};
}

}  // namespace shardscope
