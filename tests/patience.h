#pragma once

#include <QTest>
#include <functional>

namespace shardscope {

// How long a test waits for what has to come, in ms: so long that only what never comes fails, on a loaded machine too.
inline constexpr int patience = 120'000;

inline bool eventually(const std::function<bool()>& condition) { return QTest::qWaitFor(condition, patience); }

}  // namespace shardscope
