// Allocations in the order of a stream: the fourth round holds most.

#include <vector>

#include "cuda_runtime.h"

STUB_KERNEL(touch, "_Z5touchPc")

int main() {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  for (unsigned round : {1U, 3U, 2U, 5U, 4U}) {
    std::vector<void*> blocks(round);
    for (void*& block : blocks)
      if (cudaMallocAsync(&block, 3'000'000, stream) != cudaSuccess) return 1;
    if (stub_launch(touch, round, 128, 0, stream) != cudaSuccess) return 1;
    for (void* block : blocks)
      if (cudaFreeAsync(block, stream) != cudaSuccess) return 1;
  }
  return cudaStreamDestroy(stream);
}
