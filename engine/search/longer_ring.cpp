#include "engine/search/longer_ring.h"

#include <algorithm>

#include "engine/graph/op_definition.h"
#include "engine/ops/registry.h"
#include "engine/ops/ring_attention.h"

namespace shardscope {

bool goes_round(const Graph& graph) {
  const OpDefinition& ring = op_definition("ring_attention");
  return std::ranges::none_of(graph.ops, [&](const Op& op) {
    return op.definition == &ring && sends_halves(op.attributes.as<RingAttributes>());
  });
}

LayerProfile with_longer_ring(const LayerProfile& ring, int64_t blocks, double times, double slower) {
  const double part = 1 / times, computed = part * (1 - 1 / static_cast<double>(blocks));
  LayerProfile longer = ring;
  longer.rows_of_expert *= part;
  longer.forward_tail = longer.backward_tail = 0;
  longer.forward_messages.bytes *= part;
  longer.backward_messages.bytes *= part;
  for (std::vector<PartWork>* works : {&longer.forward, &longer.backward, &longer.backward_of_inputs}) {
    for (PartWork& work : *works) {
      PartWork least;
      least.clock = least.computing = computed * work.computing;
      least.passing = computed * work.passing;
      least.weight_computing = computed * work.weight_computing;
      least.wire = std::move(work.wire);
      for (double& stream : least.wire) stream *= slower;
      work = std::move(least);
    }
  }
  const auto shrink = [&](LayerMemory& memory) {
    for (std::vector<double>* bytes : {&memory.kept, &memory.kept_for_weights, &memory.made_for_weights,
                                       &memory.passing_forward, &memory.passing_backward}) {
      for (double& of_part : *bytes) of_part *= part;
    }
  };
  shrink(longer.memory);
  if (longer.memory_of_other_order) shrink(*longer.memory_of_other_order);
  return longer;
}

}  // namespace shardscope
