#pragma once

#include <QString>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

// Whether `where` is a place of the run file ("mesh.axes[0]") or lies below it ("mesh.axes[0].size").
bool is_at(const QString& where, const QString& place);
// The errors at a place of the run file or below it.
std::vector<Error> errors_at(const std::vector<Error>& errors, const QString& place);
// Message and hint of errors, one a line; empty without errors.
QString errors_text(const std::vector<Error>& errors);

}  // namespace shardscope
