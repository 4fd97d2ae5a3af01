#include "engine/ops/embedding.h"

#include "engine/ops/cast.h"
#include "engine/ops/registry.h"
#include "engine/ops/stated_op.h"

namespace shardscope {

std::string to_string(const EmbeddingGradAttributes& attributes) {
  return "vocabulary=" + std::to_string(attributes.vocabulary);
}

namespace {

// tokens (b, s) and dy (b, s, e) -> d table (v, e): adds dy's rows at the tokens' rows, in f32. Each device adds only
// the rows that it holds, so v can be split without communication.
Labels table_labels(const Attributes& attributes, std::span<const TensorType>) {
  return {{"bs", "bse"}, {"ve"}, "", false, {}, {{'v', attributes.as<EmbeddingGradAttributes>().vocabulary}}};
}
const StatedOp embedding_grad(
    {.name = "embedding_grad", .work_kind = "embeddings", .flops = 1, .types = "ix->f", .labels = table_labels});

void embedding_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  int64_t vocabulary = context.graph.type(op.inputs[1]).shape[0];
  ValueId& cotangent = context.operand_cotangents[1];
  cotangent = context.append_value(embedding_grad, {op.inputs[0], context.result_cotangents[0]},
                                   EmbeddingGradAttributes{vocabulary});
  const DType stored = context.graph.type(op.inputs[1]).dtype;
  if (stored != DType::f32)
    cotangent = context.append_value(op_definition("cast"), {cotangent}, CastAttributes{stored});
}

// tokens i32 (b, s) and table (v, e) -> rows (b, s, e). A device that holds part of v gives zeros for tokens outside
// it: splitting v leaves the result partial.
const StatedOp embedding({.name = "embedding",
                          .work_kind = "embeddings",
                          .equation = "bs,ve->bse",
                          .types = "ix->1",
                          .gradient = embedding_gradient});

}  // namespace

std::vector<const OpDefinition*> embedding_ops() { return {&embedding, &embedding_grad}; }

}  // namespace shardscope
