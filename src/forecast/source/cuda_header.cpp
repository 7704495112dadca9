#include "forecast/source/cuda_header.hpp"

#include "base/format.hpp"

namespace cleave {

namespace {

/// What nvcc's header brings along, and clang's own list of the mathematics of device code.
constexpr std::string_view includes[] = {"stddef.h",
                                         "stdint.h",
                                         "stdlib.h",
                                         "math.h",
                                         "stdio.h",
                                         "string.h",
                                         "__clang_cuda_math_forward_declares.h"};

constexpr std::string_view text = R"header(
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __noinline__ __attribute__((noinline))
#define CUDART_VERSION 12000

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)
      : x(a), y(b), z(c) {}
};
#define CLEAVE_VECTORS(T, name)                                                             \
  struct name##1 { T x; };                                                                  \
  struct name##2 { T x, y; };                                                               \
  struct name##3 { T x, y, z; };                                                            \
  struct name##4 { T x, y, z, w; };                                                         \
  inline __host__ __device__ name##1 make_##name##1(T x) { return {x}; }                    \
  inline __host__ __device__ name##2 make_##name##2(T x, T y) { return {x, y}; }            \
  inline __host__ __device__ name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }    \
  inline __host__ __device__ name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
CLEAVE_VECTORS(signed char, char)
CLEAVE_VECTORS(unsigned char, uchar)
CLEAVE_VECTORS(short, short)
CLEAVE_VECTORS(unsigned short, ushort)
CLEAVE_VECTORS(int, int)
CLEAVE_VECTORS(unsigned, uint)
CLEAVE_VECTORS(long, long)
CLEAVE_VECTORS(unsigned long, ulong)
CLEAVE_VECTORS(long long, longlong)
CLEAVE_VECTORS(unsigned long long, ulonglong)
CLEAVE_VECTORS(float, float)
CLEAVE_VECTORS(double, double)

extern const __device__ dim3 threadIdx, blockIdx, blockDim, gridDim;
extern const __device__ int warpSize;

#define CLEAVE_FLOAT1(name) __device__ float name(float);
#define CLEAVE_FLOAT2(name) __device__ float name(float, float);
CLEAVE_FLOAT1(sqrtf) CLEAVE_FLOAT1(rsqrtf) CLEAVE_FLOAT1(cbrtf) CLEAVE_FLOAT1(fabsf)
CLEAVE_FLOAT1(expf) CLEAVE_FLOAT1(exp2f) CLEAVE_FLOAT1(exp10f) CLEAVE_FLOAT1(expm1f)
CLEAVE_FLOAT1(logf) CLEAVE_FLOAT1(log2f) CLEAVE_FLOAT1(log10f) CLEAVE_FLOAT1(log1pf)
CLEAVE_FLOAT1(sinf) CLEAVE_FLOAT1(cosf) CLEAVE_FLOAT1(tanf) CLEAVE_FLOAT1(asinf)
CLEAVE_FLOAT1(acosf) CLEAVE_FLOAT1(atanf) CLEAVE_FLOAT1(sinhf) CLEAVE_FLOAT1(coshf)
CLEAVE_FLOAT1(tanhf) CLEAVE_FLOAT1(floorf) CLEAVE_FLOAT1(ceilf) CLEAVE_FLOAT1(truncf)
CLEAVE_FLOAT1(roundf) CLEAVE_FLOAT1(rintf) CLEAVE_FLOAT1(erff) CLEAVE_FLOAT1(erfcf)
CLEAVE_FLOAT1(tgammaf) CLEAVE_FLOAT1(lgammaf)
CLEAVE_FLOAT2(powf) CLEAVE_FLOAT2(fmodf) CLEAVE_FLOAT2(fminf) CLEAVE_FLOAT2(fmaxf)
CLEAVE_FLOAT2(atan2f) CLEAVE_FLOAT2(hypotf) CLEAVE_FLOAT2(copysignf)
__device__ float fmaf(float, float, float);
__device__ float rsqrt(float);
__device__ double rsqrt(double);
extern "C" __device__ int printf(const char*, ...);
extern "C" __device__ void __assert_fail(const char*, const char*, unsigned, const char*);
__device__ void __syncthreads();
__device__ void __threadfence();
__device__ void __threadfence_block();
__device__ void __threadfence_system();
__device__ void __syncwarp(unsigned = ~0u);
__device__ int __syncthreads_or(int);
__device__ int __syncthreads_and(int);
__device__ int __syncthreads_count(int);
__device__ unsigned __activemask();
__device__ unsigned __ballot_sync(unsigned, int);
__device__ int __any_sync(unsigned, int);
__device__ int __all_sync(unsigned, int);
__device__ int __popc(unsigned);
__device__ int __clz(int);
__device__ int __ffs(int);
__device__ float __expf(float);
__device__ float __logf(float);
__device__ float __sinf(float);
__device__ float __cosf(float);
__device__ float __powf(float, float);
__device__ float __fdividef(float, float);
__device__ int __float2int_rn(float);
__device__ int __mul24(int, int);
__device__ unsigned __umul24(unsigned, unsigned);
__device__ long long clock64();
template <class T> __device__ T __ldg(const T*);
template <class T> __device__ T __shfl_sync(unsigned, T, int, int = 32);
template <class T> __device__ T __shfl_up_sync(unsigned, T, unsigned, int = 32);
template <class T> __device__ T __shfl_down_sync(unsigned, T, unsigned, int = 32);
template <class T> __device__ T __shfl_xor_sync(unsigned, T, int, int = 32);
template <class T, class U> __device__ T atomicAdd(T*, U);
template <class T, class U> __device__ T atomicSub(T*, U);
template <class T, class U> __device__ T atomicExch(T*, U);
template <class T, class U> __device__ T atomicMin(T*, U);
template <class T, class U> __device__ T atomicMax(T*, U);
template <class T, class U> __device__ T atomicAnd(T*, U);
template <class T, class U> __device__ T atomicOr(T*, U);
template <class T, class U> __device__ T atomicXor(T*, U);
template <class T, class U, class V> __device__ T atomicCAS(T*, U, V);
template <class T> inline __host__ __device__ T min(T a, T b) { return b < a ? b : a; }
template <class T> inline __host__ __device__ T max(T a, T b) { return a < b ? b : a; }

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef struct CUmemPool_st* cudaMemPool_t;
typedef struct cudaArray* cudaArray_t;
enum cudaError { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2,
                 cudaErrorNotReady = 600, cudaErrorUnknown = 999 };
typedef enum cudaError cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                      cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaChannelFormatKind { cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned,
                             cudaChannelFormatKindFloat, cudaChannelFormatKindNone };
struct cudaChannelFormatDesc { int x, y, z, w; cudaChannelFormatKind f; };
struct cudaExtent { size_t width, height, depth; };
struct cudaPitchedPtr { void* ptr; size_t pitch, xsize, ysize; };
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, totalConstMem;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  int major, minor, multiProcessorCount, concurrentKernels, memoryClockRate, memoryBusWidth;
  int l2CacheSize, maxThreadsPerMultiProcessor, managedMemory, concurrentManagedAccess;
  size_t sharedMemPerMultiprocessor;
};
enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaHostAllocDefault = 0,
       cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4,
       cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0,
       cudaEventBlockingSync = 1, cudaEventDisableTiming = 2, cudaArrayDefault = 0,
       cudaCpuDeviceId = -1 };

extern "C" {
int cudaConfigureCall(dim3, dim3, size_t = 0, cudaStream_t = 0);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, void* = 0);
unsigned __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*);
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaMallocHost(void**, size_t);
cudaError_t cudaHostAlloc(void**, size_t, unsigned);
cudaError_t cudaMallocManaged(void**, size_t, unsigned = cudaMemAttachGlobal);
cudaError_t cudaMallocPitch(void**, size_t*, size_t, size_t);
cudaError_t cudaMallocAsync(void**, size_t, cudaStream_t);
cudaError_t cudaMallocFromPoolAsync(void**, size_t, cudaMemPool_t, cudaStream_t);
cudaError_t cleave_cudaMalloc3D(cudaPitchedPtr*, size_t, size_t, size_t);
cudaError_t cleave_cudaMallocArray(cudaArray_t*, size_t, size_t, size_t);
cudaError_t cleave_cudaMalloc3DArray(cudaArray_t*, size_t, size_t, size_t, size_t);
cudaError_t cudaFree(void*);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaFreeArray(cudaArray_t);
cudaError_t cudaFreeAsync(void*, cudaStream_t);
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t = 0);
cudaError_t cudaMemcpy2D(void*, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemset(void*, int, size_t);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t = 0);
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t = 0);
cudaError_t cudaMemGetInfo(size_t*, size_t*);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetDevice(int*);
cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t);
const char* cudaGetErrorName(cudaError_t);
cudaError_t cudaHostGetDevicePointer(void**, void*, unsigned);
cudaError_t cudaHostRegister(void*, size_t, unsigned);
cudaError_t cudaHostUnregister(void*);
cudaError_t cudaStreamCreate(cudaStream_t*);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0);
cudaError_t cudaEventCreate(cudaEvent_t*);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t);
cudaError_t cudaEventDestroy(cudaEvent_t);
}
template <class T> inline cudaError_t cudaMalloc(T** at, size_t bytes) {
  return cudaMalloc((void**)at, bytes);
}
template <class T> inline cudaError_t cudaMallocHost(T** at, size_t bytes) {
  return cudaMallocHost((void**)at, bytes);
}
template <class T> inline cudaError_t cudaHostAlloc(T** at, size_t bytes, unsigned flags) {
  return cudaHostAlloc((void**)at, bytes, flags);
}
template <class T>
inline cudaError_t cudaMallocManaged(T** at, size_t bytes, unsigned flags = cudaMemAttachGlobal) {
  return cudaMallocManaged((void**)at, bytes, flags);
}
template <class T>
inline cudaError_t cudaMallocPitch(T** at, size_t* pitch, size_t width, size_t height) {
  return cudaMallocPitch((void**)at, pitch, width, height);
}
template <class T> inline cudaError_t cudaMallocAsync(T** at, size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync((void**)at, bytes, stream);
}
template <class T>
inline cudaError_t cudaLaunchKernel(T* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared = 0, cudaStream_t stream = 0) {
  return cudaLaunchKernel((const void*)kernel, grid, block, arguments, shared, stream);
}
template <class T> cudaError_t cudaMemcpyToSymbol(
    const T&, const void*, size_t, size_t = 0, cudaMemcpyKind = cudaMemcpyHostToDevice);
template <class T> cudaError_t cudaMemcpyFromSymbol(
    void*, const T&, size_t, size_t = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost);
inline cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) { return {w, h, d}; }
inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}
template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc() {
  return {int(8 * sizeof(T)), 0, 0, 0, cudaChannelFormatKindNone};
}
// Sizes that the runtime takes in memory, as numbers that stand in the call.
inline __attribute__((always_inline)) cudaError_t cudaMalloc3D(cudaPitchedPtr* at, cudaExtent e) {
  return cleave_cudaMalloc3D(at, e.width, e.height, e.depth);
}
inline __attribute__((always_inline)) cudaError_t cudaMallocArray(
    cudaArray_t* at, const cudaChannelFormatDesc* f, size_t width, size_t height = 0,
    unsigned = 0) {
  return cleave_cudaMallocArray(at, size_t(f->x + f->y + f->z + f->w) / 8, width, height);
}
inline __attribute__((always_inline)) cudaError_t cudaMalloc3DArray(
    cudaArray_t* at, const cudaChannelFormatDesc* f, cudaExtent e, unsigned = 0) {
  return cleave_cudaMalloc3DArray(at, size_t(f->x + f->y + f->z + f->w) / 8, e.width, e.height,
                                  e.depth);
}
)header";

constexpr std::string_view others[] = {"cuda_runtime_api.h",
                                       "cuda.h",
                                       "driver_types.h",
                                       "device_functions.h",
                                       "vector_types.h",
                                       "vector_functions.h",
                                       "math_functions.h",
                                       "device_launch_parameters.h",
                                       "cuda_device_runtime_api.h",
                                       "device_atomic_functions.h"};

}  // namespace

std::string cuda_header() {
  std::string all = "#pragma once\n";
  for (const std::string_view each : includes) all += fmt::format("#include <{}>\n", each);
  return all.append(text);
}

std::span<const std::string_view> other_cuda_header_names() {
  return others;
}

}  // namespace cleave
