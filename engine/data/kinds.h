#pragma once

#include "engine/data/data_kind.h"

namespace shardscope {

// generate_fake_lm_data of the Parallax document: "tokens" i32 (batch, sequence) are
// jax.random.randint(PRNGKey(data.seed), (batch, sequence), 0, limit of the tokens), "labels" are the tokens shifted
// left by one with 0 last. The same batch in every step.
DataKind synthetic_lm_data();

// The same tokens; "labels" are jnp.roll(tokens, -1, axis=1): the last label of a row is its first token.
DataKind random_rolled_data();

// Tokens and labels that are all 0: the MinText document's sample data.
DataKind zeros_data();

// The regression of the MinText document, for inputs and targets f32 (batch, 1): of the points x = linspace(-2, 2, 100)
// with y = 0.8 x^2 + 0.1 + RandomState(data.seed).normal(0, 0.1), each step takes choice(100, batch) of that generator.
DataKind quadratic_data();

// Every f32 input that is asked for, of any name and shape. In step t input i of n is
// jax.random.normal(split(fold_in(PRNGKey(data.seed), t), n)[i], shape), i in the order of the request.
DataKind normal_data();

// Every f32 input that is asked for, of any name and shape: "targets" are all 0, the others all 1. The same in every
// step. So a mean squared error is mean(output ** 2) of an input of ones, as in the Workshop document's measure_memory.
DataKind ones_data();

// make_toy_dataset and batch_iter of "Implementing Data Parallelism in JAX": "tokens" are rows of
// RandomState(data.seed).randint(0, limit, size=(dataset_size, sequence), dtype=int32), the next `batch_size` of them
// in every step, and after the last whole batch the first again (the document's iterator ends there); "labels" are the
// tokens shifted left by one with 0 last.
DataKind numpy_batches_data();

// Windows of the tokens that files hold (engine/data/token_windows.h): in every step `batch_size` that begin anywhere
// in the part that is trained on, those of example i of step t drawn by data.seed, t and i alone. The last
// data.validation of the tokens, or the files at data.validation_path, are kept for evaluation, which takes the same
// windows each time, one behind the other.
// `text`: a file, or all files of a folder in the order of their names; each byte is a token.
DataKind text_data();
// `tokens`: a file of numbers of data.dtype (uint16 or uint32, little-endian) and nothing else, as nanoGPT's prepare.py
// and Megatron's preprocess_data.py (its .bin) write them.
DataKind tokens_data();

}  // namespace shardscope
