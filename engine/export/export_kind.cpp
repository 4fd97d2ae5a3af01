#include "engine/export/export_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/output_file.h"
#include "engine/export/kinds.h"

namespace shardscope {

std::vector<std::string> ExportKind::pages_of_a_plan() const {
  std::vector<std::string> result = pages;
  std::erase_if(result, [&](const std::string& page) { return std::ranges::count(window_pages, page) > 0; });
  return result;
}

bool ExportKind::shows_step(const std::string& page) const {
  return std::ranges::find(step_pages, page) != step_pages.end();
}

std::optional<PictureSize> picture_size(const std::string& text) {
  PictureSize size;
  const char* end = text.data() + text.size();
  const auto read = [&](const char* from, int& side) {
    const auto [rest, fault] = std::from_chars(from, end, side);
    return fault == std::errc() && side >= 1 && side <= largest_picture_side ? rest : nullptr;
  };
  const char* cross = read(text.data(), size.width);
  if (!cross || cross == end || *cross != 'x' || read(cross + 1, size.height) != end) return std::nullopt;
  return size;
}

std::string picture_size_rule() {
  return fmt::format("a size is WIDTHxHEIGHT in pixels, such as 1280x800, each 1 to {}", largest_picture_side);
}

const std::vector<ExportKind>& export_kinds() {
  static const std::vector<ExportKind> kinds = {
      svg_export(),         png_export(),   pdf_export(),      html_export(),  jax_export(),
      csv_export(),         tsv_export(),   layout_export(),   specs_export(), perfetto_export(),
      tensorboard_export(), jsonl_export(), headless_export(), slurm_export()};
  return kinds;
}

const std::vector<ExportKind>& strategy_kinds() {
  static const std::vector<ExportKind> kinds = [] {
    std::vector<ExportKind> made;
    for (const StrategyFormat& format : strategy_formats()) made.push_back(strategy_export(format));
    return made;
  }();
  return kinds;
}

const ExportKind& find_export_kind(const std::string& name) {
  std::vector<std::string> names;
  for (const auto* kinds : {&export_kinds(), &strategy_kinds()}) {
    for (const ExportKind& kind : *kinds) {
      if (kind.name == name) return kind;
      names.push_back(kind.name);
    }
  }
  throw Failure(Error{"unknown_export_kind", fmt::format("'{}' is nothing that can be exported", name),
                      at_argument("--to " + name), name_hint(name, names)});
}

namespace {

void require_part_of_name(const ExportKind& kind, const std::string& path) {
  const auto& [part, reader] = kind.part_of_name;
  const std::filesystem::path file(path);
  if (is_stream(path) || file.filename().string().find(part) != std::string::npos) return;
  throw Failure(Error{"wrong_name", fmt::format("{} finds only files whose names have '{}' in them", reader, part),
                      in_file(path),
                      fmt::format("'{}.{}', or a folder that exists, in which the file gets such a name",
                                  (file.parent_path() / file.stem()).string(), part)});
}

}  // namespace

Exported export_source(const ExportKind& kind, const ExportSource& source, ExportChoice choice, std::string path,
                       ExportTarget::Options options) {
  if (kind.needs_run) run_of(source, kind.name);
  if (choice.page.empty() && !kind.pages.empty()) choice.page = kind.pages.front();
  if (!choice.page.empty() && std::ranges::find(kind.pages, choice.page) == kind.pages.end()) {
    throw Failure(Error{"unknown_page",
                        kind.pages.empty() ? fmt::format("{} has no pages to choose from", kind.name)
                                           : fmt::format("{} has no page '{}'", kind.name, choice.page),
                        at_argument("--page " + choice.page),
                        kind.pages.empty() ? "" : name_hint(choice.page, kind.pages)});
  }
  if (choice.trace && !kind.shows_step(choice.page)) {
    const std::string what = choice.page.empty() ? kind.name : fmt::format("{} of {}", kind.name, choice.page);
    throw Failure(Error{"no_step", fmt::format("{} shows no measured step", what),
                        at_argument(fmt::format("--trace {}", name(*choice.trace))), "leave it out"});
  }
  if (choice.size && !kind.is_picture) {
    throw Failure(Error{"no_size", fmt::format("{} is no picture", kind.name),
                        at_argument(fmt::format("--size {}x{}", choice.size->width, choice.size->height)),
                        "leave it out"});
  }
  std::error_code fault;
  if (kind.name_in_folder && std::filesystem::is_directory(path, fault)) {
    path = (std::filesystem::path(path) / kind.name_in_folder()).string();
  }
  require_part_of_name(kind, path);
  options.inputs.insert(options.inputs.end(), source.inputs.begin(), source.inputs.end());
  ExportTarget target(path, kind.form(), std::move(options));
  kind.write(source, choice, target);
  target.keep();
  return {std::move(path), target.bytes(), target.notes()};
}

}  // namespace shardscope
