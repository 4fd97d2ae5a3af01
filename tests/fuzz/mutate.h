#pragma once

#include <string>
#include <string_view>

#include "tests/fuzz/json_node.h"
#include "tests/fuzz/random.h"

namespace shardscope::fuzz {

// One change of a document: another type, a huge or odd number, a key twice or renamed or gone, a long name, odd
// characters, deep nesting, a part of it elsewhere again, an element many times.
void mutate(JsonNode& document, Random& random);
// One change of a text, whatever it means: cut off, bytes changed, taken out, put in or doubled.
void mutate(std::string& text, Random& random);

// Some changes of a JSON text, most of them by its structure.
std::string mutant_of_json(std::string_view json, Random& random);

// A number, literal or text that may be trouble, as JSON.
std::string odd_scalar(Random& random);

}  // namespace shardscope::fuzz
