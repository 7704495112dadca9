// A graph in managed memory that the host writes, searched until a flag of the device says so.

#include "cuda_runtime.h"

STUB_KERNEL(visit, "_Z5visitPiS_")

int main() {
  int* graph = nullptr;
  if (cudaMallocManaged(reinterpret_cast<void**>(&graph), 1 << 22) != cudaSuccess) return 1;
  for (int i = 0; i < 1000; ++i) graph[i] = i;
  if (graph[999] != 999) return 1;
  void *flag = nullptr, *pinned = nullptr;
  if (cudaMalloc(&flag, 4) != cudaSuccess || cudaMallocHost(&pinned, 1 << 16) != cudaSuccess)
    return 1;
  int again = 1;
  while (again != 0) {
    again = 0;
    cudaMemcpy(flag, &again, 4, cudaMemcpyHostToDevice);
    if (stub_launch(visit, 1024, 512) != cudaSuccess) return 1;
    cudaMemcpy(&again, flag, 4, cudaMemcpyDeviceToHost);
  }
  cudaFree(graph);
  cudaFree(flag);
  return cudaFreeHost(pinned);
}
