#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/config/run_config.h"

namespace shardscope {

// Reads a run file (resources/run_file.schema.json). Throws Failure with every fault of the file at once; only a text
// that is not JSON gives just one, at "FILE:line:column". The other places are "FILE:line: path", such as
// "presets/x.json:12: mesh.axes[0].size" (the bare path where `file_name` is empty). Codes: empty_file, truncated,
// syntax, nesting, number_range, too_long; unknown_key, missing_key, duplicate_key, wrong_type, out_of_range,
// empty_name, unknown_mode, unknown_kind, two_placements (of a rule), mesh_axes; and those of Mesh. Specs are read, not
// judged: that needs shapes (see check() of PartitionSpec). Which hyperparameters a model, data source or optimizer has
// is not known here either.
//
// Besides the run file's own notation `sharding` may be a Parallax configuration, which has "mesh_axes": these must
// equal the names of the mesh's axes, and are not kept.
RunConfig parse_run_config(std::string_view text, const std::string& file_name);

// The same for a file. A file that is missing, a directory, not readable or above 64 MiB is a Failure
// (missing_file, directory, unreadable_file) whose hint names files of that folder that may have been meant.
RunConfig load_run_config(const std::filesystem::path& path);

// The same without throwing for faults inside the file: what could be read, with defaults for the rest, and every
// fault. For callers that go on to judge the values that were read.
struct ReadRunFile {
  std::string text;
  RunConfig config;
  std::vector<Error> errors;
};
ReadRunFile read_run_file(const std::filesystem::path& path);

// Gives every error whose place is a path alone the file and the line of that path in `text`.
std::vector<Error> locate_errors(std::vector<Error> errors, std::string_view text, const std::string& file_name);

}  // namespace shardscope
