#pragma once

#include <span>
#include <string>

#include "engine/machine/machine.h"
#include "engine/machine/measured_rows.h"

namespace shardscope {

// The machine with latency and bytes_per_second of its levels as measured; rows of other kinds are skipped. A row is of
// the outermost level that its group spans. Levels are fitted from inside out, each to its own rows, with those inside
// as they then are; a level without rows stays. The algorithms are the machine's (collective_seconds.h), and the fit
// minimises the sum of the squares of predicted / measured - 1. Of one level the time is linear in its latency and in
// its seconds per byte wherever it is the slowest, so that least squares give both; where a level inside decides
// some rows, the steps are repeated from there (Gauss-Newton). What the machine had stays where that is nearer.
// `source` is noted.
//
// Throws Failure with all faults, each at a row: more ranks than the machine has devices; ranks that leave a unit of an
// inner level partly used, unless that level has all of them; rows of a level from which latency and rate do not
// follow: all of about one size, or too small for the bytes to take time.
Machine fit_levels(Machine machine, std::span<const MeasuredRow> rows, const std::string& source);

}  // namespace shardscope
