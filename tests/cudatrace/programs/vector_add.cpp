// Three vectors of a million floats and one launch.

#include <initializer_list>

#include "cuda_runtime.h"

STUB_KERNEL(vector_add, "_Z10vector_addPKfS0_Pfi")

int main() {
  constexpr std::size_t n = std::size_t{1} << 20U;
  void *a = nullptr, *b = nullptr, *c = nullptr;
  for (void** each : {&a, &b, &c})
    if (cudaMalloc(each, n * 4) != cudaSuccess) return 1;
  if (stub_launch(vector_add, 4096, 256) != cudaSuccess) return 1;
  for (void* each : {a, b, c})
    if (cudaFree(each) != cudaSuccess) return 1;
  return cudaDeviceSynchronize();
}
