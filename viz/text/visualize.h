#pragma once

#include <string>
#include <vector>

#include "engine/base/shape.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// How an array of `shape` is sharded over the devices, as text of whole lines. The sharding must divide the shape.
//
// Ranks 1 and 2: byte for byte what jax.debug.visualize_sharding(shape, sharding, use_color=False) prints on a console
// of 80 columns (JAX 0.10, jax/_src/debugging.py, drawn as a table of the Python package rich):
//
//     ┌───────┐
//     │CPU 0,1│
//     ├───────┤
//     │CPU 2,3│
//     └───────┘
//
// Where JAX breaks a label because its cells are too narrow, the same drawing with columns that share the 80 evenly.
// Where JAX does not draw, or even these are too narrow, one line for each group of devices that hold the same
// elements, under a heading (whole dimensions are ":"):
//
//     (8, 64, 512) PartitionSpec(None, 'data', None)
//     CPU 0,1  [:, 0:32, :]
//     CPU 2,3  [:, 32:64, :]
//
// So too for a partial sharding, where each line also says which summand it is. `devices`: those that hold it, of an
// array of a pipeline's stage; empty: all.
std::string visualize_sharding(const Sharding& sharding, const Mesh& mesh, const Shape& shape,
                               const std::vector<int>& devices = {});

}  // namespace shardscope
