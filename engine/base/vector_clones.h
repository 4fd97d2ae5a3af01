#pragma once

// Marks a function whose loops are compiled several times, for wider vectors too; the loader picks by the machine.
// SHARDSCOPE_KERNEL_CLONES is for the loops of kernels: AVX2 and AVX-512 with fused multiply-add, so that the last bits
// of results depend on the machine. SHARDSCOPE_VECTOR_CLONES is for arithmetic whose results are the same bits
// everywhere: AVX2 without fused multiply-add. SHARDSCOPE_INTEGER_CLONES adds AVX-512, for integers only. Sanitizer
// builds have one version each (the loader resolves before the sanitizers are up).
#if defined(__x86_64__) && !defined(SHARDSCOPE_NO_MULTIVERSIONING)
#define SHARDSCOPE_KERNEL_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define SHARDSCOPE_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#define SHARDSCOPE_INTEGER_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SHARDSCOPE_KERNEL_CLONES
#define SHARDSCOPE_VECTOR_CLONES
#define SHARDSCOPE_INTEGER_CLONES
#endif
