#include "engine/base/build_commit.h"
#include "engine/cli/command_line.h"

int main(int argc, char** argv) { return shardscope::run_command_line(argc, argv, shardscope::build_commit); }
