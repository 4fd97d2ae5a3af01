#pragma once

#include <span>
#include <string>

#include "engine/program/arena_layout.h"
#include "engine/program/program.h"

namespace shardscope {

// What a person reads of a program, made when it is asked for.
struct ProgramText {
  const Program& program;
  const Graph& graph;
  const Mesh& mesh;
  std::span<const std::string> pins = {};  // per graph value: who says where it is (Plan::pins)

  // "params/Dense_0/kernel"; a reshard with its layout, "params/Dense_0/kernel [data][]".
  std::string value(int id) const;
  // The op's name; of a reshard "all-gather over data,model of params/Dense_0/kernel", "... of 5 arrays";
  // "send to stage 1 of Block_1/add"; "all-gather of params/Dense_0/kernel, done".
  std::string instruction(const Instruction& instruction) const;
  // Of a reshard one line an array: which op uses what as which layout, and which layout it had; where the array itself
  // is wanted so, which pin says it, and how its op makes it. Else empty.
  std::string cause(const Instruction& instruction) const;
  // The value that is in it first, or "workspace of" its instruction.
  std::string buffer(const Buffer& buffer, int stage = 0) const;
};

}  // namespace shardscope
