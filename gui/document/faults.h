#pragma once

#include <QString>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// Whether `where` is a place of the run file ("mesh.axes[0]") or is below it ("mesh.axes[0].size").
bool is_at(const QString& where, const QString& place);
// The errors at a place of the run file or below it.
std::vector<Error> errors_at(const std::vector<Error>& errors, const QString& place);
// Message and hint of errors, one a line; empty without errors.
QString errors_text(const std::vector<Error>& errors);

// That the plan needs more memory than the host, or the limit of a device, has: it cannot run. Empty where it fits.
std::vector<Error> memory_excess(const Plan& plan);

}  // namespace shardscope
