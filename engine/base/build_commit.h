#pragma once

namespace shardscope {

// Of the sources that a program was built from: twelve digits, with "-dirty" behind them where files were changed;
// empty where the sources are in no git repository. CMake writes its definition at each build, and programs link it,
// not libraries (cmake/build_commit.cmake).
extern const char* const build_commit;

}  // namespace shardscope
