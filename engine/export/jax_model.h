#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/options.h"

namespace shardscope {

// A model's source in Flax, as a person would write it, for the program that jax_program() makes. Options of the run
// file are constants there, called as in the file but in capitals: VOCAB_SIZE. What a line says behind `#` in its end
// decides about it (see engine/export/jax_source.h):
//
//   x = nn.Dropout(DROPOUT_RATE, deterministic=False)(x)  #? dropout   stands only in programs that drop out
//   return self.head(x)  #! tied                                       stands only where nothing is tied
//   y = nn.gelu(y)  #@ blocks_*/gelu                                   what constraints call the array that it makes
struct JaxModel {
  enum class Library : uint8_t { linen, nnx };

  std::string_view name;
  Library library = Library::linen;
  std::string_view instance;  // Python that makes it: "TinyLM()", "Gpt2(nnx.Rngs(SEED))"
  std::string_view source;
  std::string_view losses;  // losses(outputs, batch) -> loss, {other metric: value}
  // Options of which the source knows one value alone.
  std::vector<std::pair<std::string_view, OptionValue>> only = {};
  // Flags of lines, beside "dropout" and "remat", that are set.
  std::vector<std::string_view> (*flags)(const OptionList& options) = nullptr;
  // What these options ask for and the source does not have: a place and a message each; or nullptr.
  std::vector<std::pair<std::string, std::string>> (*lacks)(const OptionList& options) = nullptr;
};

// Of each model that has an original in JAX, which is a function jax_NAME() of its file. Written by the build
// (cmake/registered.cmake).
std::vector<JaxModel> jax_models();

// Null for another.
const JaxModel* find_jax_model(std::string_view name);
std::vector<std::string_view> jax_model_names();

inline constexpr std::string_view jax_cross_entropy = R"(
def losses(logits, batch):
    labels = batch["labels"]
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
    return loss, {"accuracy": jnp.mean(jnp.argmax(logits, axis=-1) == labels)}
)";

inline constexpr std::string_view jax_squared_error = R"(
def losses(predictions, batch):
    return jnp.mean((predictions - batch["targets"]) ** 2), {}
)";

}  // namespace shardscope
