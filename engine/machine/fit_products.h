#pragma once

#include <span>
#include <string>

#include "engine/machine/machine.h"
#include "engine/machine/measured_rows.h"

namespace shardscope {

// The machine with its efficiency of products as measured; rows of other kinds are skipped. In each precision that has
// rows the samples of plain products become one for each shape m, n, k: that at which the price is what was measured,
// of several rows of a shape the mean of the logarithms. Peak, tiles, memory and latency stay, and samples of products
// with a transposed left operand. A precision that the machine has no rate for gets one with the peak that it was
// priced by (substitutes()). `source` is noted.
//
// The price of a row is then what was measured, but where memory or the time to issue an instruction limits it, or
// where a product takes less time than a smaller one (which no machine here does, product_efficiency.h): such get the
// times between which the largest relative error is least, halfway by logarithms (isotonic regression by the largest
// error).
//
// Throws Failure with all faults, each at its row: an efficiency above 1, or too small for a machine file; shapes that
// span too large a grid.
Machine fit_products(Machine machine, std::span<const MeasuredRow> rows, const std::string& source);

}  // namespace shardscope
