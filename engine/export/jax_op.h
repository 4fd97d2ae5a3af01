#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/graph/graph.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

// How strongly the outermost operator of a Python expression binds.
enum class Binding : uint8_t { none, sum, product, whole };

struct JaxText {
  std::string text;
  Binding binding = Binding::whole;
};

// An op of a graph whose text is asked for: the op and the expressions of its operands.
struct JaxCall {
  const Graph& graph;
  const Op& op;
  // A value's expression, in parentheses where it binds less.
  std::function<std::string(ValueId value, Binding least)> value;
  // The key by which the op drops out, in Python.
  std::function<std::string(const StepKey& key)> key;
  bool all_results = true;  // false: nobody reads others than the first

  std::string operand(size_t i, Binding least = Binding::none) const { return value(op.inputs[i], least); }
  const TensorType& type(size_t i) const { return graph.type(op.inputs[i]); }
  const TensorType& result() const { return graph.type(op.outputs[0]); }
  // The op that gives an operand.
  const Op& producer(size_t i) const { return graph.ops[graph.values[op.inputs[i]].producer]; }
  template <class T>
  const T& attributes() const {
    return op.attributes.as<T>();
  }
};

// An op in Python: an expression of JAX; of several results a tuple of them.
struct JaxOp {
  std::string_view name;
  JaxText (*text)(const JaxCall& call) = nullptr;  // null: the ops that read its results say it
  // A Python function that the expression calls, whose lines may have marks (jax_source.h) with flags ...
  std::string_view helper = {};
  // ... that this op sets.
  void (*flags)(const Op& op, std::set<std::string_view>& set) = nullptr;
  std::vector<std::string_view> operands = {};  // what a person would call them
  std::vector<std::string_view> results = {};
  bool may_join = false;       // it may stand in the expression of the op that reads it
  bool leaves_unread = false;  // its expression gives the first result alone where nobody reads others
};

// Of every op of forward graphs; of a family of ops a function of a file of its own. Written by the build
// (cmake/registered.cmake).
std::vector<std::vector<JaxOp>> jax_op_families();

// Null where JAX has no such op.
const JaxOp* find_jax_op(std::string_view name);

// Code not_exportable; the hint says, too, what can be exported of any run.
Error not_exportable(const std::string& message, const std::string& place, const std::string& hint = "");

// "(2, 3)", "(2,)"; `any_first`: the first is -1.
std::string python_tuple(std::span<const int64_t> sizes, bool any_first = false);
std::string python_dtype(DType dtype);  // "jnp.bfloat16"

}  // namespace shardscope
