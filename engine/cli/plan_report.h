#pragma once

#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// A plan as JSON for scripts. Bytes are per device; a collective's `bytes` is its payload n (the full size),
// `wire_bytes` what each device sends by the ring convention, `count` how often it happens in a step, `arrays` how many
// arrays it carries.
std::string plan_json(const Plan& plan);

// The same as tables for a person: parameters, memory, collectives, totals. What differs in the number of its layer
// alone has one line: "params/layers/*/w1 ... x 80"; or a line each.
std::string plan_text(const Plan& plan, bool each_layer);

// Stages of a pipeline, a line each, and its bubble; empty without one.
std::string pipeline_text(const Plan& plan);

// A line for each of several plans, which differ in one setting: memory per device at the peak, all and by category,
// what each device sends and computes, predicted time.
struct NamedPlan {
  std::string name;  // the setting's value
  Plan plan;
};
std::string plan_comparison(const std::string& setting, const std::vector<NamedPlan>& plans);

// Forward and backward step by step in the notation of "How To Scale Your Model": "In[B, D] = AllGather(In[B, D_Y])",
// "Out[B, D] {U_Y} = Tmp[B, F_Y] *_F W_out[F_Y, D]". Subscripts are the mesh axes that split a dimension, {U_Y} says
// that sums over Y are unfinished, *_F that F is contracted, dX is the gradient of X. Dimensions have their logical
// names, or the letters of the op that made the array. Bytes are what a collective works on and what each device sends.
// A forward gather whose result backward uses is reported there, too, and costs nothing.
std::string plan_steps_text(const Plan& plan);

}  // namespace shardscope
