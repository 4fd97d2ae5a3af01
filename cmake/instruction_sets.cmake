# compile_for_instruction_sets(LIBRARY SOURCE MACRO [OPTIONS options...] [LINKS libs...]): a static library of one source
# file, compiled once for each generation of processors, with MACRO=LIBRARY_<generation> as the name of what it defines.
# Optimised in every build, so that the compiler leaves no inline function to the linker's choice.
function(compile_for_instruction_sets library source macro)
  cmake_parse_arguments(FOR "" "" "OPTIONS;LINKS" ${ARGN})
  add_library(${library} STATIC)
  target_link_libraries(${library} PRIVATE shardscope_options)
  set(versions baseline)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND versions v3 v4)
  endif()
  foreach(version ${versions})
    set(objects ${library}_${version})
    add_library(${objects} OBJECT ${source})
    target_link_libraries(${objects} PRIVATE shardscope_options ${FOR_LINKS})
    string(REPLACE "@VERSION@" ${version} options "${FOR_OPTIONS}")
    target_compile_definitions(${objects} PRIVATE ${macro}=${objects})
    target_compile_options(${objects} PRIVATE ${options})
    if(NOT version STREQUAL baseline)
      target_compile_options(${objects} PRIVATE -march=x86-64-${version})
    endif()
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
endfunction()

# Each version with a namespace of Eigen's of its own (see there). The warnings are of GCC's own headers.
compile_for_instruction_sets(eigen_gemm engine/runtime/kernels/eigen_gemm.cpp SHARDSCOPE_EIGEN_GEMM
  OPTIONS -O2 -DEigen=Eigen_@VERSION@ -Wno-uninitialized -Wno-maybe-uninitialized LINKS Eigen3::Eigen)
compile_for_instruction_sets(attention_loops engine/runtime/kernels/attention_loops.cpp SHARDSCOPE_ATTENTION_LOOPS
  OPTIONS -O3)
