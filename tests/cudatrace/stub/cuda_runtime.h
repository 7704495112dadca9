#pragma once
// A header in the place of CUDA's, with as much of its interface as the programs of this test use,
// and what the compiler would make of a kernel and its launch.

#include <cstddef>
#include <cstdint>

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct cudaExtent {
  std::size_t width, height, depth;
};
struct cudaPitchedPtr {
  void* ptr;
  std::size_t pitch, xsize, ysize;
};
struct cudaChannelFormatDesc {
  int x, y, z, w, f;
};
using cudaError_t = int;
using cudaStream_t = void*;
enum { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2 };
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

extern "C" {
cudaError_t cudaMalloc(void** at, std::size_t bytes);
cudaError_t cudaFree(void* at);
cudaError_t cudaMallocManaged(void** at, std::size_t bytes, unsigned flags = 1);
cudaError_t cudaMallocHost(void** at, std::size_t bytes);
cudaError_t cudaFreeHost(void* at);
cudaError_t cudaMallocPitch(void** at, std::size_t* pitch, std::size_t width, std::size_t height);
cudaError_t cudaMalloc3D(cudaPitchedPtr* at, cudaExtent extent);
cudaError_t cudaMallocArray(void** array, const cudaChannelFormatDesc* format, std::size_t width,
                            std::size_t height, unsigned flags = 0);
cudaError_t cudaFreeArray(void* array);
cudaError_t cudaMallocAsync(void** at, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* at, cudaStream_t stream);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaDeviceGetAttribute(int* value, int number, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaGetLastError();
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream);
void** __cudaRegisterFatBinary(void* code);
void __cudaRegisterFunction(void** module, const char* host, char* device, const char* name,
                            int threads, void* thread, void* block, void* block_size,
                            void* grid_size, int* warp);
void __cudaRegisterVar(void** module, char* host, char* device, const char* name, int external,
                       std::size_t bytes, int constant, int global);
}

/// A kernel on the host's side, registered before main as the compiler's code does it.
#define STUB_KERNEL(name, mangled)                                                                \
  void name() {}                                                                                  \
  static const bool name##_registered = [] {                                                      \
    __cudaRegisterFunction(__cudaRegisterFatBinary(nullptr), reinterpret_cast<const char*>(name), \
                           nullptr, mangled, -1, nullptr, nullptr, nullptr, nullptr, nullptr);    \
    return true;                                                                                  \
  }();

/// name<<<grid, block, shared, stream>>>()
inline cudaError_t stub_launch(void (*kernel)(), dim3 grid, dim3 block, std::size_t shared = 0,
                               cudaStream_t stream = nullptr) {
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, nullptr, shared,
                          stream);
}
