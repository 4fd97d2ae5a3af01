#pragma once

#include <QString>

#include "engine/mesh/partition_spec.h"

namespace shardscope {

// A spec as JAX writes it, and as every view shows it: "P('data', None)". Entries past its end are not split: with a
// rank they are written, too.
QString spec_text(const PartitionSpec& spec, size_t rank = 0);

// An entry of it: "None", "'data'", "('data', 'model')".
QString dim_text(const std::vector<std::string>& axes);

// Reads it back as a person types or pastes it: also PartitionSpec(...), jax.sharding.PartitionSpec(...) and double
// quotes. Throws Failure that says at which column it goes wrong.
PartitionSpec parse_spec(const QString& text);
// What is wrong with such a text; empty where it can be read.
QString spec_fault(const QString& text);

}  // namespace shardscope
