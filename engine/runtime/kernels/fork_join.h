#pragma once

namespace shardscope {

// Calls body(part) for every part in [0, parts), at the same time on as many threads, and returns when all have
// returned. `body` must not throw. Two implementations: OpenMP's pool, which the program uses, and threads of its own
// for builds with the thread sanitizer, which does not see OpenMP's barriers.
using PartFunction = void (*)(void* body, int part);
void fork_join(int parts, PartFunction function, void* body);

}  // namespace shardscope
