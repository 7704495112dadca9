// Looks for a GPU and goes.

#include "cuda_runtime.h"

int main() {
  int count = 0, threads = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count != 1) return 1;
  return cudaDeviceGetAttribute(&threads, 1, 0);
}
