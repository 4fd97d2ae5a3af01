#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace shardscope {

// JAX's random numbers (jax.random with threefry2x32 and jax_threefry_partitionable, its default): every element of an
// array is a function of the key and of the element's row-major index in the *global* array, so a device makes just
// its own shard. Threefry: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, 20 rounds.
// Bits, uniforms, Bernoulli draws and integers are those of JAX bit for bit, normals to 2e-7 relative.
struct Key {
  uint32_t k0 = 0, k1 = 0;
  bool operator==(const Key&) const = default;
};

// jax.random.PRNGKey(seed).
Key key_from_seed(int64_t seed);
// jax.random.fold_in(key, data).
Key fold_in(Key key, uint32_t data);
// jax.random.split(key, n)[index]; it is the same for every n > index.
Key split(Key key, uint64_t index);

// The key of the counter-th parameter (from 1) that a Flax Linen module asks for in `model.init(root)`; `module_path`
// holds the names of the modules from the model down to it, {"SelfAttentionBlock_0", "LayerNorm_0"}, without the
// collection and without the parameter's own name. Dropout masks use the "dropout" key the same way.
Key linen_key(Key root, std::span<const std::string> module_path, int64_t counter);
// What linen_key folds into the root.
uint32_t linen_fold(std::span<const std::string> module_path, int64_t counter);
// The n-th key (from 0) that a Flax NNX `Rngs(seed)` hands out.
Key nnx_key(int64_t seed, uint32_t n);

// A key that changes from training step to training step: key' = fold_in(key, stride * step + offset), and then, where
// there is one, fold_in(key', fold).
// Linen's dropout folds the step into the seed's key and then what names the module (stride 1, offset 0); NNX counts
// the calls of a stream, `stride` of them a step, this one being the offset-th.
struct StepKey {
  Key key;
  uint32_t stride = 1;
  uint32_t offset = 0;
  std::optional<uint32_t> fold;
  bool operator==(const StepKey&) const = default;
};
Key key_at(const StepKey& key, int64_t step);

// Element `index` of jax.random.bits, uniform(low, high), normal, truncated_normal(lower, upper), bernoulli(p), and
// randint(low, high) (32 bit, low < high).
uint32_t random_bits(Key key, uint64_t index);
float uniform(Key key, uint64_t index, float low = 0, float high = 1);
float normal(Key key, uint64_t index);
float truncated_normal(Key key, uint64_t index, float lower, float upper);
bool bernoulli(Key key, uint64_t index, float p);
int32_t randint(Key key, uint64_t index, int32_t low, int32_t high);

// Elements first, first + 1, ... of the same arrays, in bulk: vectorised, a few ns an element, bit-equal to the
// functions above on every machine. Bernoulli draws are stored as 0 or 1.
void fill_bits(Key key, uint64_t first, std::span<uint32_t> out);
void fill_uniform(Key key, uint64_t first, float low, float high, std::span<float> out);
void fill_normal(Key key, uint64_t first, std::span<float> out);
void fill_truncated_normal(Key key, uint64_t first, float lower, float upper, std::span<float> out);
void fill_bernoulli(Key key, uint64_t first, float p, std::span<uint8_t> out);
void fill_randint(Key key, uint64_t first, int32_t low, int32_t high, std::span<int32_t> out);

}  // namespace shardscope
