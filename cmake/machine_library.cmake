# machine_library(TARGET): compiles resources/machines and resources/stacks into it, one string for each file.
function(machine_library target)
  set(functions "")
  foreach(kind machine stack)
    file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/resources/${kind}s/*.json)
    list(SORT files)
    set(entries "")
    foreach(path ${files})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
      get_filename_component(name ${path} NAME_WE)
      file(READ ${path} text)
      string(APPEND entries "    {\"${name}\", R\"json(${text})json\"},\n")
    endforeach()
    string(APPEND functions "std::span<const LibraryFile> ${kind}_files() {
  static constexpr LibraryFile files[] = {
${entries}  };
  return files;
}

")
  endforeach()
  set(made ${CMAKE_BINARY_DIR}/generated/machine_library_files.cpp)
  file(CONFIGURE OUTPUT ${made} @ONLY CONTENT [=[#include "engine/machine/library_files.h"

namespace shardscope {

@functions@}  // namespace shardscope
]=])
  target_sources(${target} PRIVATE ${made})
  set_source_files_properties(${made} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
