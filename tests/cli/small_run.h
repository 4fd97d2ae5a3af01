#pragma once

#include "tests/cli/program.h"

namespace shardscope {

// A model that trains in no time, on two ranks: arguments of a command that takes a run file.
inline const QStringList small = {
    preset("parallax_decoder"), "--set", "mesh.data=2",      "--set", "mesh.model=1",       "--set",
    "data.batch_size=4",        "--set", "model.seq_len=16", "--set", "model.embed_dim=32", "--set",
    "model.vocab_size=64",      "--set", "model.num_heads=4"};

// The lines of training output that tell losses.
inline QStringList losses(const QString& output) { return output.split('\n').filter("Loss = "); }

}  // namespace shardscope
