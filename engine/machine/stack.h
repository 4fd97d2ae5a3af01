#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace shardscope {

// A software stack: what the program that will run a plan can do with the work of its instructions. Machines say what
// devices and links could reach; a stack says what of it is used. A plain value, from resources/stacks; each struct
// says in `source` where its numbers are from.
//
// The default is `shardscope`: what runs here is what the plan says, instruction by instruction, and nothing is added.

// What is one kernel. `elementwise`: chains of elementwise ops, norms and casts of a phase read what enters the chain
// and write what leaves it, as Triton, XLA and hand-written kernels do; else each op reads and writes all it has.
// `accumulation`: products of gradients add to what they add up to, which takes no time of its own.
struct Fusion {
  bool elementwise = false;
  bool accumulation = false;
  std::string source;
  bool operator==(const Fusion&) const = default;
};

// flash: scores are never an array (Dao et al. 2022). scores: they are, in the type of the products, and pass through
// memory between the products, scale, mask, softmax and dropout; what backward needs of them is kept.
enum class AttentionKernel : uint8_t { flash, scores };
std::string_view name(AttentionKernel kernel);

struct StackAttention {
  AttentionKernel kernel = AttentionKernel::flash;
  bool skips_masked = false;  // blocks above the diagonal of a causal mask take no time
  std::string source;
  bool operator==(const StackAttention&) const = default;
};

// By what the operands of f8 products are scaled: each array by one number, or by one for each row of the left and
// column of the right operand. The latter are scaled for each product anew, along another dimension, are moved in 16
// bits before that, and have slower kernels.
enum class ProductScales : uint8_t { tensor, row };
std::string_view name(ProductScales scales);

struct StackProducts {
  ProductScales scales = ProductScales::tensor;
  double row_rate = 1;  // of f8 products scaled by row, over that of those scaled by tensor
  std::string source;
  bool operator==(const StackProducts&) const = default;
};

// Which communication may run beside computation, where the machine can do both (Machine::overlap).
struct StackOverlap {
  bool gradients = true;   // reduction of gradients beside the backward pass of the last microbatch
  bool parameters = true;  // gathering of parameters beside the forward pass of the first microbatch, or layer by layer
  bool tensor = true;      // of activations, within layers
  bool context = true;     // of keys and values round a ring, beside the attention of a block
  bool pipeline = false;   // messages between stages take their devices no time
  // Send and receive are a meeting: a stage that has sent a message computes nothing until the other has taken it, and
  // the programs on both hosts wait for it, too. (A pair of stages that send to each other does both at once.)
  bool blocking_messages = false;
  std::string source;
  bool operator==(const StackOverlap&) const = default;
};

// What the stack's process holds on a device.
struct StackMemory {
  bool narrow_activations = false;  // activations are held, and moved, in the 16-bit type of the products
  bool counted_rows = false;        // of rows sent to experts those that are expected, not the most there may be
  bool gathers_again = false;       // backward gathers the operands of products again, which forward lets go
  // Gradients of a microbatch are held until its backward ends, and added up then; else where they are made.
  bool gradients_until_backward_ends = false;
  double logits_copies = 0;        // of the logits in f32 that the loss holds beside the plan's
  double split_logits_copies = 0;  // the same where the vocabulary is split: of a device's part
  double attention_copies = 0;     // of attention's queries, held for backward beside its operands and results
  double gradient_bytes = 0;       // of each parameter for gradients beside those that add up
  double allocator = 1;            // times what is held: rounding and fragments of the allocator
  double fixed_bytes = 0;          // workspaces of libraries
  std::string source;
  bool operator==(const StackMemory&) const = default;
};

struct Stack {
  std::string name = "shardscope";
  Fusion fusion;
  StackProducts products;
  StackAttention attention;
  StackOverlap overlap;
  StackMemory memory;
  // What it reaches on machines of the library: by name, as JSON text, numbers in the place of the machine's own.
  std::map<std::string, std::string, std::less<>> machines;
  std::string source;
  bool operator==(const Stack&) const = default;

  bool runs_here() const { return name == Stack().name; }
};

}  // namespace shardscope
