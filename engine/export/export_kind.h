#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/export/export_source.h"
#include "engine/export/export_target.h"

namespace shardscope {

// In pixels of a screen of 96 dpi.
struct PictureSize {
  int width = 0, height = 0;
};
inline constexpr int largest_picture_side = 16000;
// Of "1280x800"; nothing for what is not such a text, or of a side that is not 1 to largest_picture_side.
std::optional<PictureSize> picture_size(const std::string& text);
std::string picture_size_rule();  // what it may be, for people

// What a person chooses besides the kind.
struct ExportChoice {
  std::string page;                       // one of the kind's pages; empty: the first
  std::optional<TraceChoice> trace = {};  // which recorded step, see trace_of()
  std::optional<PictureSize> size = {};   // of a picture, the least: it grows as its content needs
};

// Something that a plan or a run can be handed out as: `shardrun export FILE --to NAME OUT`, and File > Export.
struct ExportKind {
  std::string name;  // "csv"
  std::string what;  // for people, a phrase: "a table, comma-separated"
  // Of the file that it writes, without a dot: "csv". Empty: it writes a folder.
  std::string extension;
  std::vector<std::string> pages;  // what it can be of, the usual one first; empty: there is no choice
  bool needs_run = false;          // of a plan alone there is nothing to write

  // Writes all of it to the target, which is of form(); the page is one of the pages, or empty where there are none.
  // Throws Failure, Cancelled.
  std::function<void(const ExportSource& source, const ExportChoice& choice, ExportTarget& target)> write;
  // Whether a folder that exists may be named instead of the file: the file's name in it then. Else nullptr.
  std::string (*name_in_folder)() = nullptr;
  bool needs_plan = true;  // else a source without one will do
  // What the file's name must have in it, and who else would not find the file: {"tfevents", "TensorBoard"}. Empty:
  // any.
  std::pair<std::string, std::string> part_of_name = {};
  // Pages that show one measured step (ExportChoice::trace); "" where a kind without pages does.
  std::vector<std::string> step_pages = {};
  bool is_picture = false;                     // has ExportChoice::size
  std::vector<std::string> window_pages = {};  // of the pages those that the window alone can write

  std::vector<std::string> pages_of_a_plan() const;  // all others

  bool shows_step(const std::string& page) const;
  ExportTarget::Form form() const { return extension.empty() ? ExportTarget::Form::folder : ExportTarget::Form::file; }
};

// All kinds, in the order in which people see them; one line in export_kind.cpp adds one.
const std::vector<ExportKind>& export_kinds();
// A kind for each of strategy_formats(): the run file's strategy as another program takes it. They need no plan.
const std::vector<ExportKind>& strategy_kinds();
// Of both. Throws Failure (unknown_export_kind) with near names.
const ExportKind& find_export_kind(const std::string& name);

// What was written.
struct Exported {
  std::string path;  // as named, but for a file in a folder
  int64_t bytes = 0;
  std::vector<std::string> notes;  // what else there is to be said, a phrase each
};

// Exports a source: all there or nothing. Throws Failure: unknown_page, wrong_name, no_step (a step is chosen that is
// not shown), no_size (one is chosen, and it is no picture), no_run (code for a plan alone where the kind needs a run),
// what the target and the kind throw; and Cancelled. The source's inputs are added to those of `options`.
Exported export_source(const ExportKind& kind, const ExportSource& source, ExportChoice choice, std::string path,
                       ExportTarget::Options options);

}  // namespace shardscope
