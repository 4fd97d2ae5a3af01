#include "engine/export/jax_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/error.h"
#include "engine/data/token_files.h"
#include "engine/export/jax_source.h"

namespace shardscope {

namespace {

constexpr std::string_view synthetic_lm = R"(
def batches():
    tokens = jax.random.randint(jax.random.PRNGKey(DATA_SEED), (BATCH_SIZE, SEQ_LEN), 0, VOCAB_SIZE)
    labels = jnp.roll(tokens, -1, axis=1).at[:, -1].set(0)  #? labels
    while True:
        yield {"tokens": tokens, "labels": labels}  #? labels
        yield {"tokens": tokens}  #! labels
)";

constexpr std::string_view random_rolled = R"(
def batches():
    tokens = jax.random.randint(jax.random.PRNGKey(DATA_SEED), (BATCH_SIZE, SEQ_LEN), 0, VOCAB_SIZE)
    while True:
        yield {"tokens": tokens, "labels": jnp.roll(tokens, -1, axis=1)}  #? labels
        yield {"tokens": tokens}  #! labels
)";

constexpr std::string_view zeros = R"(
def batches():
    tokens = jnp.zeros((BATCH_SIZE, SEQ_LEN), jnp.int32)
    while True:
        yield {"tokens": tokens, "labels": tokens}  #? labels
        yield {"tokens": tokens}  #! labels
)";

constexpr std::string_view numpy_batches = R"(
def batches():
    dataset = numpy.random.RandomState(DATA_SEED).randint(0, VOCAB_SIZE, (DATASET_SIZE, SEQ_LEN), dtype=numpy.int32)
    while True:
        for first in range(0, DATASET_SIZE - BATCH_SIZE + 1, BATCH_SIZE):
            tokens = dataset[first : first + BATCH_SIZE]
            labels = numpy.roll(tokens, -1, axis=1)  #? labels
            labels[:, -1] = 0  #? labels
            yield {"tokens": tokens, "labels": labels}  #? labels
            yield {"tokens": tokens}  #! labels
)";

constexpr std::string_view quadratic = R"(
def batches():
    random = numpy.random.RandomState(DATA_SEED)
    x = numpy.linspace(-2, 2, 100)[:, None]
    y = 0.8 * x**2 + 0.1 + random.normal(0, 0.1, size=x.shape)
    while True:
        chosen = random.choice(len(x), size=BATCH_SIZE)
        yield {"inputs": numpy.float32(x[chosen]), "targets": numpy.float32(y[chosen])}
)";

constexpr std::string_view normal_arrays = R"(
def batches():
    for step in itertools.count():
        keys = jax.random.split(jax.random.fold_in(jax.random.PRNGKey(DATA_SEED), step), len(SHAPES))
        yield {name: jax.random.normal(key, shape) for key, (name, shape) in zip(keys, SHAPES.items())}
)";

constexpr std::string_view ones = R"(
def batches():
    while True:
        yield {name: jnp.zeros(shape) if name == "targets" else jnp.ones(shape) for name, shape in SHAPES.items()}
)";

constexpr std::string_view token_files = R"(
def batches():
    data = numpy.concatenate([numpy.fromfile(file, TOKEN) for file in FILES])
    data = data[: len(data) - int(len(data) * VALIDATION)]  #? kept
    for step in itertools.count():
        # 64 random bits choose where a window begins; it has the token behind it, too.
        bits = jax.random.bits(jax.random.fold_in(jax.random.PRNGKey(DATA_SEED), step), (BATCH_SIZE, 2))
        firsts = [(high << 32 | low) * (len(data) - SEQ_LEN) >> 64 for high, low in bits.tolist()]
        windows = numpy.stack([data[first : first + SEQ_LEN + 1] for first in firsts]).astype(numpy.int32)
        yield {"tokens": windows[:, :-1], "labels": windows[:, 1:]}  #? labels
        yield {"tokens": windows[:, :-1]}  #! labels
)";

std::string python_shapes(const DataRequest& request) {
  std::vector<std::string> shapes;
  for (const DataInput& input : request.inputs) {
    shapes.push_back(fmt::format("{}: ({},)", python_text(input.name), fmt::join(input.type.shape, ", ")));
  }
  return fmt::format("{{{}}}", fmt::join(shapes, ", "));
}

std::string python_files(const std::string& path, int width) {
  const TokenFiles found = find_token_files(path, width, "data.path");
  if (!found.errors.empty()) throw Failure(found.errors);
  std::vector<std::string> files;
  for (const TokenFiles::File& file : found.files) files.push_back(python_text(file.path));
  return fmt::format("[{}]", fmt::join(files, ", "));
}

}  // namespace

JaxData jax_data(const TrainingData& data) {
  const auto& [kind, options, request, evaluation] = data;
  std::set<std::string_view> flags;
  if (request.find("labels")) flags.insert("labels");
  if (kind->name == "synthetic_lm") return {jax_lines(synthetic_lm, flags), {}};
  if (kind->name == "random_rolled") return {jax_lines(random_rolled, flags), {}};
  if (kind->name == "zeros") return {jax_lines(zeros, flags), {}};
  if (kind->name == "numpy_batches") return {jax_lines(numpy_batches, flags), {}};
  if (kind->name == "quadratic") return {jax_lines(quadratic, flags), {}};
  if (kind->name == "normal") return {jax_lines(normal_arrays, flags), {{"SHAPES", python_shapes(request)}}};
  if (kind->name == "ones") return {jax_lines(ones, flags), {{"SHAPES", python_shapes(request)}}};
  if (kind->name == "text" || kind->name == "tokens") {
    const bool bytes = kind->name == "text", wide = !bytes && string_option(options, "dtype") == "uint32";
    if (string_option(options, "validation_path").empty() && real_option(options, "validation") > 0)
      flags.insert("kept");
    return {jax_lines(token_files, flags),
            {{"FILES", python_files(string_option(options, "path"), bytes  ? 1
                                                                    : wide ? 4
                                                                           : 2)},
             {"TOKEN", bytes  ? "numpy.uint8"
                       : wide ? "\"<u4\""
                              : "\"<u2\""}}};
  }
  throw Failure(Error{"not_exportable", "data of kind '" + kind->name + "' are not known in JAX", "data.kind",
                      "export --to specs: how every array is sharded"});
}

}  // namespace shardscope
