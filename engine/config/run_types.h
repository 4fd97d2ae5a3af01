#pragma once

#include "engine/config/json_type.h"
#include "engine/config/run_config.h"

namespace shardscope {

// Types of values that tables of a run file share. Those of specs refer to definitions of its schema.

JsonType<int64_t> count();  // of microbatches, layers, model chunks: 1 to 4096
JsonType<std::string> one_of(const std::vector<std::string>& names, const char* what);

// A name or a pattern of names, or a list of them, which is the pattern of them all. `hint`: what it may be.
JsonType<std::string> names(const std::string& hint);

// A text; an empty one is a fault (empty_name) that says `hint`.
JsonType<std::string> some_text(const char* expected, const std::string& message, const std::string& hint);

// What is named: a name, or an object that has one. Its JSON text; an empty one is `usual`.
JsonType<std::string> named(const char* expected, const std::string& hint, const char* usual);

// A choice, at `key`, with its options. {"overrides": {"a": 1}} is the option "overrides.a". `what` is chosen.
JsonType<NamedOptions> options(const char* key, const char* what, const std::string& help);

JsonType<PartitionSpec> spec();
JsonType<std::vector<std::string>> spec_entry();  // of one dimension
JsonType<std::vector<ParameterSpec>> parameter_specs();
// What run_schema() has for these, by their names.
JsonNode definitions();

}  // namespace shardscope
