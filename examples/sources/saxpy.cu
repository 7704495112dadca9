// y += a x, for `cleave forecast source`: two sizes that the compiler knows and one that it does
// not, unless it is compiled with -DSPARE=BYTES.

#include <cuda_runtime.h>

#include <cstdlib>

#ifndef SPARE
#define SPARE std::strtoul(arguments[1], nullptr, 10)
#endif

__global__ void saxpy(float a, const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += a * x[i];
}

int main(int, char** arguments) {
  constexpr int n = 1 << 20;
  float *x, *y, *spare;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMalloc(&spare, SPARE);
  saxpy<<<n / 256, 256>>>(2.0F, x, y);
  cudaFree(spare);
  cudaFree(y);
  cudaFree(x);
}
