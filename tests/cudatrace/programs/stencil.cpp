// A grid of three dimensions, an array for a texture, and a variable of the device.

#include "cuda_runtime.h"

STUB_KERNEL(stencil, "_Z7stencil14cudaPitchedPtr")

static char coefficients[8];

int main() {
  __cudaRegisterVar(__cudaRegisterFatBinary(nullptr), coefficients, nullptr, "coefficients", 0,
                    65536, 0, 0);
  cudaPitchedPtr volume{};
  if (cudaMalloc3D(&volume, {100, 64, 32}) != cudaSuccess) return 1;  // rows of 512 bytes
  void* array = nullptr;
  const cudaChannelFormatDesc two_floats{32, 32, 0, 0, 2};
  if (cudaMallocArray(&array, &two_floats, 256, 128) != cudaSuccess) return 1;
  for (int step = 0; step < 3; ++step)
    if (stub_launch(stencil, {4, 8, 16}, {8, 8, 8}) != cudaSuccess) return 1;
  cudaFree(volume.ptr);
  return cudaFreeArray(array);
}
