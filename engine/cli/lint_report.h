#pragma once

#include <string>
#include <vector>

#include "engine/lint/lint.h"

namespace shardscope {

// Findings for a person, a paragraph each: place, rule, what is wrong, what it costs, the fix as --set assignments or
// why there is none, and the chapter that explains it; then the rules that are off, with their reasons.
std::string lint_text(const LintReport& report);

// The same for scripts:
// {"findings": [{"rule", "place", "message", "cost": {"seconds", "bytes"}, "fix": [{"path", "value"}] or null,
// "other_fixes": [{"settings", "seconds_per_step", "bytes"}], "no_fix", "chapter"}], "off": {rule: reason},
// "fixed": [findings that were fixed]}
std::string lint_json(const LintReport& report, const std::vector<Finding>& fixed);

}  // namespace shardscope
