#pragma once

#include <string>
#include <vector>

#include "engine/config/json_document.h"
#include "engine/config/run_config.h"

namespace shardscope {

// The run file as a document, and back: the two directions that parse, write and override share.

// Reads the values of a document. Every fault is appended to `errors`, and reading goes on behind it; the config is
// whole only when there is none. Error::place is the path of the value ("mesh.axes[0].size"), with file and line
// where the file name is not empty.
RunConfig read_run_document(const JsonNode& document, const std::string& file_name, std::vector<Error>& errors);

// The document that says `config`, every key present but for those that say nothing: an empty
// device order, no constraints, rules, memory limit or optimizer, a schedule of one microbatch, no pipeline,
// ZeRO of stage 0, no rule of lint turned off. Throws
// Failure where two parameters have the same path, one is a prefix of another, or a path is empty.
JsonNode to_run_document(const RunConfig& config);

// The same with these keys, too, where a value for them says nothing: of what --set can change.
JsonNode to_whole_run_document(const RunConfig& config);

JsonNode to_node(const PartitionSpec& spec);

// Line of the value at `path`, or of the innermost value around it that the document has.
int line_of(const JsonNode& document, const std::string& path);

}  // namespace shardscope
