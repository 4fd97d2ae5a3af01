#include "engine/ops/embedding.h"

#include "engine/ops/cast.h"
#include "engine/ops/labelled_op.h"
#include "engine/ops/registry.h"

namespace shardscope {

std::string to_string(const EmbeddingGradAttributes& attributes) {
  return "vocabulary=" + std::to_string(attributes.vocabulary);
}

namespace {

// tokens (b, s) and dy (b, s, e) -> d table (v, e): adds dy's rows at the tokens' rows, in f32. Each device adds only
// the rows that it holds, so v can be split without communication.
class EmbeddingGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "embedding_grad"; }
  std::string_view work_kind() const override { return "embeddings"; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    return {{"bs", "bse"}, {"ve"}, "", false, {}, {{'v', attributes.as<EmbeddingGradAttributes>().vocabulary}}};
  }
  double flops_per_element() const override { return 1; }
  bool takes(int operand, DType dtype) const override { return operand == 0 ? dtype == DType::i32 : is_float(dtype); }
};

const EmbeddingGrad embedding_grad;

// tokens i32 (b, s) and table (v, e) -> rows (b, s, e). A device that holds part of v gives zeros for tokens outside
// it: splitting v leaves the result partial.
class Embedding : public LabelledOp {
 public:
  std::string_view name() const override { return "embedding"; }
  std::string_view work_kind() const override { return "embeddings"; }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    int64_t vocabulary = context.graph.type(op.inputs[1]).shape[0];
    ValueId& cotangent = context.operand_cotangents[1];
    cotangent = context.append_value(embedding_grad, {op.inputs[0], context.result_cotangents[0]},
                                     EmbeddingGradAttributes{vocabulary});
    const DType stored = context.graph.type(op.inputs[1]).dtype;
    if (stored != DType::f32)
      cotangent = context.append_value(op_definition("cast"), {cotangent}, CastAttributes{stored});
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bs", "ve"}, {"bse"}, "", false};
  }
  double flops_per_element() const override { return 0; }
  bool takes(int operand, DType dtype) const override { return operand == 0 ? dtype == DType::i32 : is_float(dtype); }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[1].dtype;
  }
};

const Embedding embedding;

}  // namespace

std::vector<const OpDefinition*> embedding_ops() { return {&embedding, &embedding_grad}; }

}  // namespace shardscope
