# eigen_gemm.cpp once for each generation of processors, each with a namespace of Eigen's of its own (see there).
# Optimised in every build, so that the compiler leaves no function of the standard library to the linker's choice.
add_library(eigen_gemm STATIC)
target_link_libraries(eigen_gemm PRIVATE shardscope_options)
function(eigen_gemm_version version)
  add_library(eigen_gemm_${version} OBJECT engine/runtime/kernels/eigen_gemm.cpp)
  target_link_libraries(eigen_gemm_${version} PRIVATE shardscope_options Eigen3::Eigen)
  target_compile_definitions(eigen_gemm_${version} PRIVATE
    Eigen=Eigen_${version} SHARDSCOPE_EIGEN_GEMM=eigen_gemm_${version})
  target_compile_options(eigen_gemm_${version} PRIVATE -O2 -Wno-uninitialized -Wno-maybe-uninitialized ${ARGN})  # of GCC's own headers
  target_sources(eigen_gemm PRIVATE $<TARGET_OBJECTS:eigen_gemm_${version}>)
endfunction()
eigen_gemm_version(baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  eigen_gemm_version(v3 -march=x86-64-v3)
  eigen_gemm_version(v4 -march=x86-64-v4)
endif()
