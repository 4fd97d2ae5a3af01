#include "engine/export/jax_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/path.h"
#include "engine/export/jax_block.h"
#include "engine/export/jax_op.h"
#include "engine/export/jax_source.h"
#include "engine/export/jax_table.h"
#include "engine/ops/initialise.h"

namespace shardscope {

namespace {

using FirstValue = InitialiseAttributes::Kind;

constexpr std::string_view initialiser_functions = R"(
def constant(shape, value):  #? constant
    return jnp.full(shape, value, jnp.float32)  #? constant


def normal(shape, scale, key):  #? normal
    return scale * jax.random.normal(key, shape)  #? normal


def truncated_normal(shape, scale, key):  #? truncated_normal
    return scale * jax.random.truncated_normal(key, -2, 2, shape)  #? truncated_normal


def uniform(shape, scale, key):  #? uniform
    return scale * jax.random.uniform(key, shape, minval=-1, maxval=1)  #? uniform


def sinusoids(shape, base):  #? sinusoids
    positions, columns = jnp.arange(shape[0])[:, None], jnp.arange(0, shape[1], 2)[None, :]  #? sinusoids
    angles = positions * jnp.exp(-(jnp.log(base) / shape[1]) * columns)  #? sinusoids
    return jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1).reshape(shape).astype(jnp.float32)  #? sinusoids


)";

constexpr std::string_view first_values = R"(
def folded(key, name, draw):
    """The key of a module's draw-th array (from 1), as Flax Linen makes it."""  #? linen
    digest = hashlib.sha1("".join(name.split("/")[:-1]).encode() + bytes([draw])).digest()  #? linen
    return jax.random.fold_in(key, int.from_bytes(digest[:4], "big"))  #? linen
    return jax.random.fold_in(key, draw)  #! linen


def nested(flat):
    tree = {}
    for name, value in flat.items():
        *path, last = (int(part) if part.isdigit() else part for part in name.split("/"))
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return tree


def init_params():
    """{"params": {...}}, nested by the parameters' paths, as Flax has them."""
    key, params = jax.random.PRNGKey(SEED), {}
    for name, (initialiser, shape, scale, *draw) in PARAMETERS.items():
        keys = [folded(key, name.removeprefix("params/"), number) for number in draw]
        params[name] = initialiser(shape, scale, *keys)
    return nested(params)


def dropout_keys(step, part):  #? dropout  #? microbatches
def dropout_keys(step):  #? dropout  #! microbatches
    """Nested by the paths of what is dropped out."""  #? dropout
    key = jax.random.fold_in(jax.random.PRNGKey(SEED), step)  #? dropout  #? linen
    keys = {name: folded(key, name, draw) for name, draw in DROPPED.items()}  #? dropout  #? linen
    key = jax.random.PRNGKey(SEED)  #? dropout  #! linen
    keys = {n: jax.random.fold_in(folded(key, n, draw), step) for n, draw in DROPPED.items()}  #? dropout  #! linen
    return nested({name: (key, part) for name, key in keys.items()})  #? dropout  #? microbatches
    return nested(keys)  #? dropout  #! microbatches


def kept(key, share, shape):  #? dropout
    key, part = key  #? dropout  #? microbatches
    return jax.random.bernoulli(key, share, (MICROBATCHES, *shape))[part]  #? dropout  #? microbatches
    return jax.random.bernoulli(key, share, shape)  #? dropout  #! microbatches
)";

constexpr std::string_view name_of(FirstValue kind) {
  switch (kind) {
    case FirstValue::constant: return "constant";
    case FirstValue::normal: return "normal";
    case FirstValue::truncated_normal: return "truncated_normal";
    case FirstValue::uniform: return "uniform";
    case FirstValue::sinusoidal: break;
  }
  return "sinusoids";
}

bool is_drawn(const InitialiseAttributes& made) {
  return made.kind != FirstValue::constant && made.kind != FirstValue::sinusoidal;
}

// How the keys of a model come from the seed: a number is folded in, which Linen makes of the module's path and of a
// count in it.
class Draws {
 public:
  Draws(const Graph& graph, int64_t seed) : root_(key_from_seed(seed)) {
    for (StateId id : parameters(graph)) {
      const InitialiseAttributes& made = initialiser(graph, id);
      if (is_drawn(made)) linen_ &= linen_draw(path_of(graph.name(graph.states[id])), made.key, root_).has_value();
    }
    const auto most = static_cast<uint32_t>(16 * graph.states.size() + 1024);
    for (uint32_t n = 0; n < most && !linen_; ++n) numbers_.emplace(pair_of(fold_in(root_, n)), n);
  }

  static std::vector<StateId> parameters(const Graph& graph) {
    std::vector<StateId> ids;
    for (size_t id = 0; id < graph.states.size(); ++id) ids.push_back(static_cast<StateId>(id));
    return ids;
  }
  static const InitialiseAttributes& initialiser(const Graph& graph, StateId id) {
    const Value& first = graph.values[graph.states[id].initial];
    return graph.ops[first.producer].attributes.as<InitialiseAttributes>();
  }

  bool linen() const { return linen_; }

  // Of a parameter "params/...".
  int64_t of(const std::string& name, Key key) const {
    if (linen_) return *linen_draw(path_of(name), key, root_);
    const std::string path = name.substr(name.find('/') + 1);
    if (const auto hash = static_cast<uint32_t>(hash_bytes(path)); fold_in(root_, hash) == key) return hash;
    return number(name, key);
  }
  // Of an op that drops out.
  int64_t of(const std::string& op, const StepKey& key) const {
    if (key.fold) return *linen_draw(module_path(op), fold_in(root_, *key.fold), root_);
    return number(op, key.key);
  }

 private:
  static std::pair<uint32_t, uint32_t> pair_of(Key key) { return {key.k0, key.k1}; }
  static std::vector<std::string> path_of(const std::string& name) {
    std::vector<std::string> path = module_path(name);
    path.erase(path.begin());
    return path;
  }
  static std::optional<int64_t> linen_draw(const std::vector<std::string>& path, Key key, Key root) {
    for (int64_t counter = 1; counter < 64; ++counter) {
      if (linen_key(root, path, counter) == key) return counter;
    }
    return std::nullopt;
  }
  int64_t number(const std::string& name, Key key) const {
    const auto found = numbers_.find(pair_of(key));
    if (found != numbers_.end()) return found->second;
    throw Failure(not_exportable(fmt::format("the key of '{}' does not come from the seed", name), "model"));
  }

  Key root_;
  bool linen_ = true;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers_;
};

// As f32 has it, with a point.
std::string scale_of(const InitialiseAttributes& made) {
  const std::string text = fmt::format("{}", static_cast<float>(made.scale));
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

JaxRow row_of(const std::string& name, const InitialiseAttributes& made, const Draws& draws) {
  JaxRow row{name, fmt::format("{}, {}, {}", name_of(made.kind), python_tuple(made.type.shape), scale_of(made)), {}};
  if (is_drawn(made)) row.number = draws.of(name, made.key);
  return row;
}

}  // namespace

std::string jax_parameters(const Graph& graph, int64_t seed, const std::map<std::string, StepKey>& dropped,
                           int64_t microbatches) {
  const Draws draws(graph, seed);
  std::set<std::string_view> flags;
  if (draws.linen()) flags.insert("linen");
  if (!dropped.empty()) flags.insert("dropout");
  if (microbatches > 1) flags.insert("microbatches");
  std::vector<JaxRow> rows, drops;
  for (StateId id : Draws::parameters(graph)) {
    const InitialiseAttributes& made = Draws::initialiser(graph, id);
    flags.insert(name_of(made.kind));
    rows.push_back(row_of(graph.name(graph.states[id]), made, draws));
  }
  for (const auto& [name, key] : dropped) drops.push_back({name, "", draws.of(name, key)});
  std::string text = jax_lines(initialiser_functions, flags) +
                     "\n\n# Of every parameter how its first value is made: by which function, of " +
                     "which shape and scale, and\n# which random numbers it draws.\n" + jax_table("PARAMETERS", rows);
  if (!drops.empty()) text += jax_table("DROPPED", drops);
  return text + "\n\n" + jax_lines(first_values, flags);
}

std::string jax_frozen_parameters(const Graph& graph) {
  std::vector<JaxRow> trained;
  bool all = true;
  for (StateId id : Draws::parameters(graph)) {
    all &= graph.states[id].trainable;
    if (graph.states[id].trainable) trained.push_back({graph.name(graph.states[id]), "\"trained\"", {}});
  }
  if (all) return "";
  return jax_table("TRAINED", trained) + R"(

def kinds(params):
    return jax.tree_util.tree_map_with_path(lambda keys, _: TRAINED.get(name_of(keys), "frozen"), params)


optimizer = optax.multi_transform({"trained": optimizer, "frozen": optax.set_to_zero()}, kinds)
)";
}

}  // namespace shardscope
