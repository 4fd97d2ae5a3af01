#pragma once

#include <string>
#include <vector>

#include "engine/base/error.h"
#include "tests/fuzz/target.h"

namespace shardscope::fuzz {

// Calls shardrun with these arguments in this process, whose standard output and error must be files opened for reading
// too, and judges how it ends: well, or with exit code 2 and errors that say `place`; all in clean lines of sensible
// length.
Answer call_program(const std::vector<std::string>& arguments, const std::string& place);

// Judges what a part of the program throws: errors of this code, in clean lines.
Answer refusal(const Failure& failure, const std::string& code);

// A file in the working folder with that text, written over by the next call.
std::string file_with(const std::string& text, const std::string& name);

// What is wrong with what is shown to a person: control characters, bytes that are no UTF-8. Empty: nothing.
std::string fault_of_shown_text(const std::string& text);

}  // namespace shardscope::fuzz
