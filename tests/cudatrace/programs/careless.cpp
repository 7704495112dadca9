// Frees twice, frees what it does not have, launches the impossible, and frees nothing at the end.

#include "cuda_runtime.h"

STUB_KERNEL(reduce, "_Z6reducePf")

int main() {
  void *once = nullptr, *kept = nullptr, *nothing = &kept;
  if (cudaMalloc(&once, 1 << 20) != cudaSuccess) return 1;
  if (cudaFree(once) != cudaSuccess || cudaFree(once) == cudaSuccess) return 1;
  if (cudaFree(&nothing) == cudaSuccess) return 1;
  if (cudaFree(nullptr) != cudaSuccess) return 1;
  if (cudaMalloc(&nothing, 0) != cudaSuccess || nothing != nullptr) return 1;
  if (cudaMalloc(&nothing, std::size_t{1} << 50U) != cudaErrorMemoryAllocation) return 1;
  if (cudaGetLastError() == cudaSuccess || cudaGetLastError() != cudaSuccess) return 1;
  if (cudaMalloc(&kept, 3 << 20) != cudaSuccess) return 1;
  if (stub_launch(reduce, 0, 32) == cudaSuccess || stub_launch(reduce, 1, 2048) == cudaSuccess)
    return 1;
  return stub_launch(reduce, 65536, 1024);
}
