# build_commit(TARGETS...): links into these programs what engine/base/build_commit.h declares. Also the script that asks git
# at each build, and writes the file anew only where the commit is another.
if(CMAKE_SCRIPT_MODE_FILE)
  set(COMMIT "")
  execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [=[#include "engine/base/build_commit.h"

const char* const shardscope::build_commit = "@COMMIT@";
]=])
  return()
endif()

function(build_commit)
  set(made ${CMAKE_BINARY_DIR}/generated/build_commit.cpp)
  add_custom_target(write_build_commit BYPRODUCTS ${made} COMMENT ""
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${made} -P ${CMAKE_SOURCE_DIR}/cmake/build_commit.cmake)
  foreach(target ${ARGN})
    target_sources(${target} PRIVATE ${made})
    add_dependencies(${target} write_build_commit)
  endforeach()
endfunction()
