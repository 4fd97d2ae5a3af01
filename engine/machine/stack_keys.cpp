#include "engine/machine/stack_keys.h"

#include "engine/config/json_document.h"

namespace shardscope {

namespace {

JsonType<std::string> changes() {
  return {[](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::string> {
            if (!faults.expect(node, place, JsonNode::Kind::object, "an object")) return {};
            return print_json_line(node);
          },
          [](const std::string& text) { return read_json(text, "stack"); },
          json_object({{"type", JsonNode::of("object")}})};
}

JsonType<Fusion> fusion() {
  return ObjectKeys<Fusion>("What is one kernel.")
      .optional("elementwise", &Fusion::elementwise, flag(),
                "Chains of elementwise ops, norms and casts read what enters the chain and write what leaves it.")
      .optional("accumulation", &Fusion::accumulation, flag(),
                "Products of gradients add to what adds up over microbatches; that takes no time of its own.")
      .type();
}

JsonType<StackProducts> products() {
  const Choices<ProductScales> scales = {{"tensor", ProductScales::tensor}, {"row", ProductScales::row}};
  return ObjectKeys<StackProducts>("Matrix products.")
      .optional("scales", &StackProducts::scales, choice(scales),
                "Of f8 operands. tensor: one number for each array; row: one for each row of the left and each column "
                "of the right; they are moved in 16 bits, and scaled anew for each product.")
      .optional("row_rate", &StackProducts::row_rate, number(0.01, 1),
                "The rate of f8 products that are scaled by row, over that of those scaled by tensor.")
      .type();
}

JsonType<StackAttention> attention() {
  const Choices<AttentionKernel> kernels = {{"flash", AttentionKernel::flash}, {"scores", AttentionKernel::scores}};
  return ObjectKeys<StackAttention>("Attention between the projections.")
      .optional("kernel", &StackAttention::kernel, choice(kernels),
                "flash: scores are never an array; scores: they pass through memory, and what backward needs is kept.")
      .optional("skips_masked", &StackAttention::skips_masked, flag(),
                "Blocks above the diagonal of a causal mask take no time.")
      .type();
}

JsonType<StackOverlap> overlap() {
  return ObjectKeys<StackOverlap>("Which communication may run beside computation, where the machine can do both.")
      .optional("gradients", &StackOverlap::gradients, flag(),
                "Reduction of gradients beside the backward pass of the last microbatch.")
      .optional("parameters", &StackOverlap::parameters, flag(),
                "Gathering of parameters beside forward, and layer by layer where they are gathered again.")
      .optional("tensor", &StackOverlap::tensor, flag(), "Communication of activations within layers.")
      .optional("context", &StackOverlap::context, flag(),
                "Keys and values on their way round a ring, beside the attention of a block.")
      .optional("pipeline", &StackOverlap::pipeline, flag(), "Messages between stages take their devices no time.")
      .optional("blocking_messages", &StackOverlap::blocking_messages, flag(),
                "A stage that has sent a message computes nothing until the other has taken it, and the programs on "
                "both hosts wait for it.")
      .type();
}

JsonType<StackMemory> memory() {
  return ObjectKeys<StackMemory>("What the process holds on a device.")
      .optional("narrow_activations", &StackMemory::narrow_activations, flag(),
                "Activations are held, and moved, in the 16-bit type of the products.")
      .optional(
          "counted_rows", &StackMemory::counted_rows, flag(),
          "Of rows that are sent to experts, those that are expected are held and touched, not the most there may "
          "be.")
      .optional(
          "gathers_again", &StackMemory::gathers_again, flag(),
          "Of activations that are gathered for a product, the parts are kept for backward, which gathers them again.")
      .optional(
          "gradients_until_backward_ends", &StackMemory::gradients_until_backward_ends, flag(),
          "Gradients of a microbatch are held until its backward ends, and added up then; else each is where it is "
          "made.")
      .optional("logits_copies", &StackMemory::logits_copies, number(0, 100),
                "Copies of the logits in f32 that the loss holds beside the plan's.")
      .optional("split_logits_copies", &StackMemory::split_logits_copies, number(0, 100),
                "The same where the vocabulary is split over devices: of a device's part of the logits.")
      .optional("attention_copies", &StackMemory::attention_copies, number(0, 100),
                "Arrays of the size of attention's queries that it holds for backward beside its operands and results: "
                "copies in other layouts.")
      .optional("gradient_bytes", &StackMemory::gradient_bytes, number(0, 8),
                "Bytes of each parameter for gradients beside those that add up.")
      .optional("allocator", &StackMemory::allocator, number(1, 10),
                "Times what is held: rounding and fragments of the allocator.")
      .optional("fixed_bytes", &StackMemory::fixed_bytes, number(0, 1e12), "Workspaces of libraries, bytes.")
      .type();
}

}  // namespace

const JsonType<Stack>& stack_type() {
  static const JsonType<Stack> type =
      ObjectKeys<Stack>("A software stack: what the program that runs a plan can do.")
          .required("name", &Stack::name, text_of_some_length(), "As people call it.")
          .optional("fusion", &Stack::fusion, fusion(), "What is one kernel.")
          .optional("products", &Stack::products, products(), "Matrix products.")
          .optional("attention", &Stack::attention, attention(), "Attention between the projections.")
          .optional("overlap", &Stack::overlap, overlap(), "What runs beside computation.")
          .optional("memory", &Stack::memory, memory(), "What the process holds on a device.")
          .optional("machines", &Stack::machines, map_of(text(), changes()),
                    "What it reaches on machines of the library, by name: numbers in the place of the machine's own, "
                    "at the paths of a machine's file, levels by their names.")
          .type();
  return type;
}

std::string stack_schema() {
  JsonMembers members = {{"$schema", JsonNode::of("https://json-schema.org/draft/2020-12/schema")},
                         {"title", JsonNode::of("Shardscope software stack")}};
  const JsonNode& schema = stack_type().schema;
  for (size_t i = 0; i < schema.keys.size(); ++i) members.emplace_back(schema.keys[i], schema.items[i]);
  return print_json(json_object(std::move(members)));
}

}  // namespace shardscope
