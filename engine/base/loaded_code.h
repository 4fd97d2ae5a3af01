#pragma once

#include <string>

namespace shardscope {

// The builds of this program and of those libraries on which its numbers depend (oneDNN, OpenMP, the C library's
// mathematics), as their linker has stamped them: "program 1f0c..., libdnnl.so.3 77a2..., libgomp.so.1 ...". Equal
// texts mean equal machine code, whatever the names and folders of the program.
std::string loaded_code();

// Those builds of `code`, as loaded_code() gives it, that are not among those of `other`.
std::string code_not_in(const std::string& code, const std::string& other);

}  // namespace shardscope
