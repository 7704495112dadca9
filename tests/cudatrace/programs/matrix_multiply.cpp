// Pitched matrices, shared memory, and the same launch ten times over.

#include "cuda_runtime.h"

STUB_KERNEL(multiply, "_Z8multiplyPKfS0_Pfi")

int main() {
  constexpr std::size_t width = 1000 * 4, height = 1000;  // rows of 4096 bytes
  void* matrix[3] = {};
  for (void*& each : matrix) {
    std::size_t pitch = 0;
    if (cudaMallocPitch(&each, &pitch, width, height) != cudaSuccess || pitch != 4096) return 1;
  }
  for (int i = 0; i < 10; ++i)
    if (stub_launch(multiply, {63, 63}, {16, 16}, 2048) != cudaSuccess) return 1;
  for (void* each : matrix) cudaFree(each);
  return 0;
}
