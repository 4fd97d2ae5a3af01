# library_entries(VARIABLE [NAME PATH]...): the files as C++ strings, each with its name.
function(library_entries variable)
  set(entries "")
  set(arguments ${ARGN})
  while(arguments)
    list(POP_FRONT arguments name path)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(READ ${path} text)
    string(APPEND entries "    {\"${name}\", R\"json(${text})json\"},\n")
  endwhile()
  set(${variable} "${entries}" PARENT_SCOPE)
endfunction()

# library_source(TARGET NAME HEADER): adds NAME.cpp with what the caller's variable `functions` holds, which HEADER
# declares.
function(library_source target name header)
  set(made ${CMAKE_BINARY_DIR}/generated/${name}.cpp)
  file(CONFIGURE OUTPUT ${made} @ONLY CONTENT [=[#include "@header@"

namespace shardscope {

@functions@}  // namespace shardscope
]=])
  target_sources(${target} PRIVATE ${made})
  set_source_files_properties(${made} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# library_function(VARIABLE FUNCTION [NAME PATH]...): appends a C++ function that gives these files.
function(library_function variable name)
  library_entries(entries ${ARGN})
  set(${variable} "${${variable}}std::span<const LibraryFile> ${name}() {
  static constexpr LibraryFile files[] = {
${entries}  };
  return files;
}

" PARENT_SCOPE)
endfunction()

# machine_library(TARGET): compiles resources/machines and resources/stacks into it, one string for each file.
function(machine_library target)
  set(functions "")
  foreach(kind machine stack)
    file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/resources/${kind}s/*.json)
    set(named "")
    foreach(path ${files})
      get_filename_component(name ${path} NAME_WE)
      list(APPEND named ${name} ${path})
    endforeach()
    library_function(functions ${kind}_files ${named})
  endforeach()
  library_source(${target} machine_library_files engine/machine/library_files.h)
endfunction()

# model_library(TARGET): the same of presets/models/NAME/config.json.
function(model_library target)
  set(functions "")
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/presets/models/*/config.json)
  set(named "")
  foreach(path ${files})
    get_filename_component(folder ${path} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    list(APPEND named ${name} ${path})
  endforeach()
  library_function(functions published_model_files ${named})
  library_source(${target} published_model_files engine/export/published_models.h)
endfunction()
