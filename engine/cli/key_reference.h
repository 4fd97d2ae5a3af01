#pragma once

#include <string>

namespace shardscope {

// docs/run-file.md with the table of each section's chapter ("## Schedule") written anew, from
// engine/config/run_keys.h: the lines from "| key |" on. Throws Failure (no_chapter) where one has no chapter or no
// table.
std::string with_key_tables(const std::string& document);

}  // namespace shardscope
