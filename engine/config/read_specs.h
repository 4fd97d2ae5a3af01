#pragma once

#include <string>
#include <vector>

#include "engine/config/fault_list.h"
#include "engine/config/run_config.h"

namespace shardscope {

// One spec: ["data", null, ["data", "model"]]. Its axes are read, not judged.
PartitionSpec read_spec(const JsonNode& node, const std::string& place, FaultList& faults);

// The specs of an object of parameters, nested as the model's parameters are; each array is a leaf.
std::vector<ParameterSpec> read_parameter_specs(const JsonNode& node, const std::string& place, FaultList& faults);

// A name, or a list of names, which is the pattern of them all: ["a/b", "c"] is "{a/b,c}". `hint`: what it may be.
std::string read_names(const JsonNode& node, const std::string& place, FaultList& faults, const std::string& hint);

// What splits one dimension: an axis name, null or an array of axis names.
std::vector<std::string> read_spec_entry(const JsonNode& node, const std::string& place, FaultList& faults);

}  // namespace shardscope
