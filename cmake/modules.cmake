# module(NAME FOLDER [SEPARATE] [COLD] [EXCLUDE regex] [ONLY regex] LINKS libs...): a static library of the .cpp files in
# FOLDER.
# SEPARATE: a unity build compiles its files one by one, so that what the compiler makes of one does not depend on others.
# COLD: no one waits for what it computes. Optimised less, which takes a quarter off the time to compile it.
# A folder without sources becomes an interface library, so that modules can be linked before they have any.
add_library(shardscope_options INTERFACE)
target_compile_features(shardscope_options INTERFACE cxx_std_20)
target_include_directories(shardscope_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(shardscope_options INTERFACE -Wall -Wextra -fno-math-errno -fno-trapping-math)
if(SHARDSCOPE_SANITIZE)
  target_compile_options(shardscope_options INTERFACE -fsanitize=${SHARDSCOPE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(shardscope_options INTERFACE -fsanitize=${SHARDSCOPE_SANITIZE})
  # Function multiversioning resolves before the sanitizers are up.
  target_compile_definitions(shardscope_options INTERFACE SHARDSCOPE_NO_MULTIVERSIONING)
endif()

# Headers that are most of what their users cost to compile are compiled once, with the first target that shares them:
# share_headers(TARGET NAME headers...). Compiler caches see through them with this option.
target_compile_options(shardscope_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)

# GCC looks through all that it holds, precompiled headers included, whenever that has doubled: here only from a gigabyte
# on. That takes a sixth or more off the time to compile what has them.
target_compile_options(shardscope_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>)

set(library_headers <algorithm> <array> <chrono> <filesystem> <fstream> <functional> <map> <memory> <numeric> <optional>
  <set> <span> <string> <string_view> <unordered_map> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)

function(share_headers target name)
  get_property(first GLOBAL PROPERTY first_with_${name})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY first_with_${name} ${target})
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# run_moc(RESULT sources...): what moc makes of those headers that have a Q_OBJECT or its like. CMake's AUTOMOC starts
# two processes a library at each build, and compiles a file of its own in each.
get_target_property(moc Qt6::moc LOCATION)
function(run_moc result)
  set(made "")
  list(FILTER ARGN INCLUDE REGEX "\\.h$")
  foreach(header ${ARGN})
    file(STRINGS ${header} marks REGEX "^ *(Q_OBJECT|Q_GADGET|Q_NAMESPACE)" LIMIT_COUNT 1)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    if(marks)
      file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${header})
      string(REPLACE "/" "_" stem ${path})
      set(output ${CMAKE_BINARY_DIR}/moc/${stem}.cpp)
      add_custom_command(OUTPUT ${output} COMMAND ${moc} -p ${CMAKE_SOURCE_DIR} -f${path} ${header} -o ${output}
        DEPENDS ${header} VERBATIM)
      list(APPEND made ${output})
      set_property(DIRECTORY APPEND PROPERTY moc_outputs ${output})
    endif()
  endforeach()
  set(${result} ${made} PARENT_SCOPE)
endfunction()

# moc_without_waiting(TARGET): moc runs before the libraries are built that its users link, so that these need not wait
# either. Called after the directory's last run of moc.
function(moc_without_waiting target)
  get_property(outputs DIRECTORY PROPERTY moc_outputs)
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()

function(module name folder)
  cmake_parse_arguments(MODULE "SEPARATE;COLD" "EXCLUDE;ONLY" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp ${CMAKE_SOURCE_DIR}/${folder}/*.h)
  if(MODULE_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "/[^/]*${MODULE_EXCLUDE}[^/]*$")
  endif()
  if(MODULE_ONLY)
    list(FILTER sources INCLUDE REGEX "/[^/]*${MODULE_ONLY}[^/]*$")
  endif()
  if(NOT "${sources}" MATCHES "\\.cpp")
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE shardscope_options ${MODULE_LINKS})
    return()
  endif()
  if("${MODULE_LINKS}" MATCHES "Qt6::|gui_")
    run_moc(mocs ${sources})
    list(APPEND sources ${mocs})
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC shardscope_options ${MODULE_LINKS})
  if(MODULE_SEPARATE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  if(MODULE_COLD)
    target_compile_options(${name} PRIVATE -O1)
  endif()
  if("${MODULE_LINKS}" MATCHES "Qt6::")
    if("${MODULE_LINKS}" MATCHES "Qt6::Widgets|gui_")
      share_headers(${name} window_headers <QtWidgets/QtWidgets>)
    endif()
  elseif("${MODULE_LINKS}" MATCHES "worker.*CLI11")
    share_headers(${name} command_headers ${library_headers} <CLI/CLI.hpp>)
  elseif("${MODULE_LINKS}" MATCHES "OpenMP|kernels|runtime|worker")
    share_headers(${name} openmp_headers ${library_headers})
  else()
    share_headers(${name} engine_headers ${library_headers})
  endif()
endfunction()
