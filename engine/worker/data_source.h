#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/options.h"
#include "engine/config/run_config.h"
#include "engine/graph/graph.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// Where the inputs of a training step come from. Any part of an input can be made alone, so that each rank makes just
// its own shard.
class DataSource {
 public:
  virtual ~DataSource() = default;
  // The elements of `box` of the graph input `name`, row-major. Throws Failure for an input that it does not have.
  virtual void fill(const std::string& name, const Box& box, int32_t* out) const = 0;
};

// The source that the run file's data section names, for the inputs of `graph`. Throws Failure with all faults of the
// section.
//
// synthetic_lm (batch_size, seed): generate_fake_lm_data of the Parallax document. "tokens" are
// jax.random.randint(PRNGKey(seed), (batch, sequence), 0, vocabulary), "labels" are the tokens shifted left by one
// with 0 last. The same batch in every step.
std::unique_ptr<DataSource> make_data_source(const NamedOptions& data, const Graph& graph);

}  // namespace shardscope
