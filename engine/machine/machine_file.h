#pragma once

#include <filesystem>
#include <string>

#include "engine/machine/machine.h"

namespace shardscope {

// A machine as JSON text. What its keys are, with ranges, defaults and units, is one table (machine_keys.cpp), from
// which reader, writer and resources/machine.schema.json follow. A key that has its default is not written.

// Throws Failure with all faults of the text, each at its line; `name` stands for the file. A device profile, which
// earlier versions kept, is refused as such (old_profile).
Machine parse_machine(const std::string& text, const std::string& name);
// parse_machine() of it gives the machine again. Throws Failure where JSON cannot say it.
std::string machine_text(const Machine& machine);

// Throw Failure where the file cannot be read or written, too.
Machine load_machine(const std::filesystem::path& path);
void save_machine(const Machine& machine, const std::filesystem::path& path);

// The JSON Schema of such files. resources/machine.schema.json is this text (a test compares them).
std::string machine_schema();

}  // namespace shardscope
