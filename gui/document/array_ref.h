#pragma once

#include <QString>
#include <string>
#include <variant>
#include <vector>

namespace shardscope {

// An array of the model, as a person can choose it.
struct ParameterRef {
  std::vector<std::string> path;  // {"params", "Embed_0", "embedding"}
  bool operator==(const ParameterRef&) const = default;
};

// What the optimizer remembers of a parameter.
struct StateRef {
  std::string state;  // "mu"
  std::vector<std::string> path;
  bool operator==(const StateRef&) const = default;
};

// The model's input and output, as the run file constrains them.
struct InputRef {
  bool operator==(const InputRef&) const = default;
};
struct OutputRef {
  bool operator==(const OutputRef&) const = default;
};

// A value of the forward pass.
struct ValueRef {
  std::string name;
  bool operator==(const ValueRef&) const = default;
};

using ArrayRef = std::variant<std::monostate, ParameterRef, StateRef, InputRef, OutputRef, ValueRef>;

inline bool is_array(const ArrayRef& array) { return !std::holds_alternative<std::monostate>(array); }
// Inputs, outputs and parameters have a spec of their own in the run file.
bool has_spec(const ArrayRef& array);

// As a person names it, and `--select` finds it: "in", "out", "params/Embed_0/embedding",
// "optimizer/mu/params/Embed_0/embedding", the name of a value; empty for none.
QString name_of(const ArrayRef& array);
// Shorter: without the collection "params", and of an optimizer state the parameter alone.
QString title_of(const ArrayRef& array);

}  // namespace shardscope
