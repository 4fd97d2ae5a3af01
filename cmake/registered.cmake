# registered(TARGET LIST HEADER SIGNATURE [NAMESPACE]): a function of the target that calls all functions of one
# signature that its sources define, so that a new source is in the list without a line anywhere. SIGNATURE has NAME
# where they differ: of "std::vector<NamedKernel> NAME_kernels()", `return type LIST()` is a vector of what
# adam_kernels(), add_kernels() and so on return, in the order of their names. HEADER declares LIST and the types.
#
# The build writes the function. It fails where two sources define the same one, or none defines any. A definition is
# found by its first line, as clang-format writes it. A list made at start-up, by static objects, would lack what the
# linker leaves out of a static library.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(registered target list header signature)
    set(namespace shardscope ${ARGN})
    list(GET namespace -1 namespace)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    list(JOIN sources "|" joined)
    set(output ${CMAKE_BINARY_DIR}/registered/${list}.cpp)
    # That the command names the sources makes it run again when one is gone.
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} "-DROOT=${CMAKE_SOURCE_DIR}" "-DOUTPUT=${output}" "-DLIST=${list}" "-DHEADER=${header}"
        "-DSIGNATURE=${signature}" "-DNAMESPACE=${namespace}" "-DSOURCES=${joined}"
        -P ${CMAKE_SOURCE_DIR}/cmake/registered.cmake
      DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/cmake/registered.cmake VERBATIM)
    target_sources(${target} PRIVATE ${output})
    add_custom_target(registered_${list} DEPENDS ${output})  # so that it does not wait for what the target links
  endfunction()
  return()
endif()

string(REGEX MATCH "^(.*) NAME([a-z_]*)\\((.*)\\)$" whole "${SIGNATURE}")
set(type "${CMAKE_MATCH_1}")
set(suffix "${CMAKE_MATCH_2}")
set(parameters "${CMAKE_MATCH_3}")
string(REGEX REPLACE ".*[^a-z_]" "" arguments "${parameters}")
set(pattern "${type} NAME${suffix}(${parameters}) {")
string(REGEX REPLACE "([][+.*()^$|?{}])" "\\\\\\1" pattern "${pattern}")
string(REPLACE NAME "[a-z0-9_]+" pattern "${pattern}")

set(names "")
string(REPLACE "|" ";" sources "${SOURCES}")
foreach(source ${sources})
  file(READ "${source}" text)
  string(REGEX MATCHALL "\n${pattern}" definitions "\n${text}")
  string(REPLACE "${ROOT}/" "" source "${source}")
  foreach(definition ${definitions})
    string(REGEX MATCH "([a-z0-9_]+)\\(" whole "${definition}")
    set(name ${CMAKE_MATCH_1})
    if(DEFINED source_of_${name})
      message(FATAL_ERROR "${name}() is defined in ${source_of_${name}} and in ${source}: give one another name")
    endif()
    set(source_of_${name} ${source})
    list(APPEND names ${name})
  endforeach()
endforeach()
if(NOT names)
  message(FATAL_ERROR "no source defines a function '${SIGNATURE}' for ${LIST}()")
endif()
list(SORT names)

set(declarations "")
set(calls "")
foreach(name ${names})
  string(APPEND declarations "${type} ${name}(${parameters});  // ${source_of_${name}}\n")
  list(APPEND calls "${name}(${arguments})")
endforeach()
list(JOIN calls ",\n          " calls)
set(text "// Written by cmake/registered.cmake.
#include \"${HEADER}\"

namespace ${NAMESPACE} {

${declarations}
std::vector<${type}> ${LIST}(${parameters}) {
  return {${calls}};
}

}  // namespace ${NAMESPACE}
")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" before)
endif()
if(NOT "${text}" STREQUAL "${before}")
  file(WRITE "${OUTPUT}" "${text}")
endif()
