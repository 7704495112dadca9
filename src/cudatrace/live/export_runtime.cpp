// The functions of the CUDA runtime that the live library stands before.

#include <cstdlib>
#include <cstring>

#include "cudatrace/live/follow.hpp"

using namespace cleave::cuda;

#define CLEAVE_CUDA_DECLARE(name, ...)                                   \
  CLEAVE_CUDA_EXPORT Status name(__VA_ARGS__);                           \
  namespace {                                                            \
  constinit Real<decltype(name)> real_##name(Interface::runtime, #name); \
  }

CLEAVE_CUDA_DECLARE(cudaMalloc, void** at, std::size_t bytes)
CLEAVE_CUDA_DECLARE(cudaMallocManaged, void** at, std::size_t bytes, unsigned flags)
CLEAVE_CUDA_DECLARE(cudaMallocHost, void** at, std::size_t bytes)
CLEAVE_CUDA_DECLARE(cudaHostAlloc, void** at, std::size_t bytes, unsigned flags)
CLEAVE_CUDA_DECLARE(cudaMallocPitch, void** at, std::size_t* pitch, std::size_t width,
                    std::size_t height)
CLEAVE_CUDA_DECLARE(cudaMalloc3D, PitchedPointer* at, Extent extent)
CLEAVE_CUDA_DECLARE(cudaMallocArray, void** array, const ChannelFormat* format, std::size_t width,
                    std::size_t height, unsigned flags)
CLEAVE_CUDA_DECLARE(cudaMalloc3DArray, void** array, const ChannelFormat* format, Extent extent,
                    unsigned flags)
CLEAVE_CUDA_DECLARE(cudaMallocAsync, void** at, std::size_t bytes, void* stream)
CLEAVE_CUDA_DECLARE(cudaMallocAsync_ptsz, void** at, std::size_t bytes, void* stream)
CLEAVE_CUDA_DECLARE(cudaMallocFromPoolAsync, void** at, std::size_t bytes, void* pool, void* stream)
CLEAVE_CUDA_DECLARE(cudaMallocFromPoolAsync_ptsz, void** at, std::size_t bytes, void* pool,
                    void* stream)
CLEAVE_CUDA_DECLARE(cudaFree, void* at)
CLEAVE_CUDA_DECLARE(cudaFreeHost, void* at)
CLEAVE_CUDA_DECLARE(cudaFreeArray, void* array)
CLEAVE_CUDA_DECLARE(cudaFreeAsync, void* at, void* stream)
CLEAVE_CUDA_DECLARE(cudaFreeAsync_ptsz, void* at, void* stream)
CLEAVE_CUDA_DECLARE(cudaDeviceReset)
CLEAVE_CUDA_DECLARE(cudaLaunchKernel, const void* kernel, Dim3 grid, Dim3 block, void** arguments,
                    std::size_t shared, void* stream)
CLEAVE_CUDA_DECLARE(cudaLaunchKernel_ptsz, const void* kernel, Dim3 grid, Dim3 block,
                    void** arguments, std::size_t shared, void* stream)
CLEAVE_CUDA_DECLARE(cudaLaunchCooperativeKernel, const void* kernel, Dim3 grid, Dim3 block,
                    void** arguments, std::size_t shared, void* stream)
CLEAVE_CUDA_DECLARE(cudaLaunchCooperativeKernel_ptsz, const void* kernel, Dim3 grid, Dim3 block,
                    void** arguments, std::size_t shared, void* stream)
CLEAVE_CUDA_DECLARE(__cudaLaunchKernel, const void* kernel, Dim3 grid, Dim3 block, void** arguments,
                    std::size_t shared, void* stream)
CLEAVE_CUDA_DECLARE(__cudaLaunchKernel_ptsz, const void* kernel, Dim3 grid, Dim3 block,
                    void** arguments, std::size_t shared, void* stream)
CLEAVE_CUDA_DECLARE(cudaLaunchKernelExC, const LaunchConfig* config, const void* kernel,
                    void** arguments)
CLEAVE_CUDA_DECLARE(cudaLaunchKernelExC_ptsz, const LaunchConfig* config, const void* kernel,
                    void** arguments)
CLEAVE_CUDA_DECLARE(cudaGraphLaunch, void* graph, void* stream)
CLEAVE_CUDA_DECLARE(cudaGraphLaunch_ptsz, void* graph, void* stream)
CLEAVE_CUDA_DECLARE(cudaDeviceSynchronize)
CLEAVE_CUDA_DECLARE(cudaStreamSynchronize, void* stream)
CLEAVE_CUDA_DECLARE(cudaStreamSynchronize_ptsz, void* stream)
CLEAVE_CUDA_DECLARE(cudaEventSynchronize, void* event)
CLEAVE_CUDA_DECLARE(cudaMemcpy, void* to, const void* from, std::size_t bytes, int kind)
CLEAVE_CUDA_DECLARE(cudaMemcpy_ptds, void* to, const void* from, std::size_t bytes, int kind)
CLEAVE_CUDA_DECLARE(__cudaGetKernel, void** kernel, const void* function)
CLEAVE_CUDA_DECLARE(cudaGetDriverEntryPoint, const char* name, void** at, unsigned long long flags,
                    int* result)
CLEAVE_CUDA_DECLARE(cudaGetDriverEntryPoint_ptsz, const char* name, void** at,
                    unsigned long long flags, int* result)
CLEAVE_CUDA_DECLARE(cudaGetDriverEntryPointByVersion, const char* name, void** at, unsigned version,
                    unsigned long long flags, int* result)
CLEAVE_CUDA_DECLARE(cudaGetDriverEntryPointByVersion_ptsz, const char* name, void** at,
                    unsigned version, unsigned long long flags, int* result)

namespace {

constinit Real<Status(std::size_t*, std::size_t*)> real_cudaMemGetInfo(Interface::runtime,
                                                                       "cudaMemGetInfo");

constexpr unsigned long long own_stream_flag = 2;  // cudaEnablePerThreadDefaultStream

/// What is at `at` after the call, an address.
auto made_at(void** at, std::uint64_t bytes, MemoryKind kind) {
  return [=] { return Made{Space::address, number(*at), bytes, kind}; };
}

}  // namespace

Status cudaMalloc(void** at, std::size_t bytes) {
  return follow_allocation(real_cudaMalloc, bytes, made_at(at, bytes, MemoryKind::device), at,
                           bytes);
}

Status cudaMallocManaged(void** at, std::size_t bytes, unsigned flags) {
  return follow_allocation(real_cudaMallocManaged, bytes, made_at(at, bytes, MemoryKind::managed),
                           at, bytes, flags);
}

Status cudaMallocHost(void** at, std::size_t bytes) {
  return follow_allocation(real_cudaMallocHost, 0, made_at(at, bytes, MemoryKind::pinned), at,
                           bytes);
}

Status cudaHostAlloc(void** at, std::size_t bytes, unsigned flags) {
  return follow_allocation(real_cudaHostAlloc, 0, made_at(at, bytes, MemoryKind::pinned), at, bytes,
                           flags);
}

Status cudaMallocPitch(void** at, std::size_t* pitch, std::size_t width, std::size_t height) {
  return follow_allocation(
      real_cudaMallocPitch, width * height,
      [=] {
        return Made{Space::address, number(*at), *pitch * height, MemoryKind::device};
      },
      at, pitch, width, height);
}

Status cudaMalloc3D(PitchedPointer* at, Extent extent) {
  const std::size_t rows = extent.height * extent.depth;
  return follow_allocation(
      real_cudaMalloc3D, extent.width * rows,
      [=] {
        return Made{Space::address, number(at->pointer), at->pitch * rows, MemoryKind::device};
      },
      at, extent);
}

Status cudaMallocArray(void** array, const ChannelFormat* format, std::size_t width,
                       std::size_t height, unsigned flags) {
  const std::size_t bytes =
      format == nullptr ? 0 : bytes_of_array(bytes_of_element(*format), width, height, 0);
  return follow_allocation(
      real_cudaMallocArray, bytes,
      [=] {
        return Made{Space::array, number(*array), bytes, MemoryKind::array};
      },
      array, format, width, height, flags);
}

Status cudaMalloc3DArray(void** array, const ChannelFormat* format, Extent extent, unsigned flags) {
  const std::size_t bytes =
      format == nullptr
          ? 0
          : bytes_of_array(bytes_of_element(*format), extent.width, extent.height, extent.depth);
  return follow_allocation(
      real_cudaMalloc3DArray, bytes,
      [=] {
        return Made{Space::array, number(*array), bytes, MemoryKind::array};
      },
      array, format, extent, flags);
}

// Each of these is there twice: for the default stream of the process and for that of the thread.
#define CLEAVE_CUDA_BOTH_STREAMS(suffix)                                                           \
  Status cudaMallocAsync##suffix(void** at, std::size_t bytes, void* stream) {                     \
    return follow_allocation(real_cudaMallocAsync##suffix, bytes,                                  \
                             made_at(at, bytes, MemoryKind::device), at, bytes, stream);           \
  }                                                                                                \
  Status cudaMallocFromPoolAsync##suffix(void** at, std::size_t bytes, void* pool, void* stream) { \
    return follow_allocation(real_cudaMallocFromPoolAsync##suffix, bytes,                          \
                             made_at(at, bytes, MemoryKind::device), at, bytes, pool, stream);     \
  }                                                                                                \
  Status cudaFreeAsync##suffix(void* at, void* stream) {                                           \
    return follow_free(real_cudaFreeAsync##suffix, Space::address, number(at), at, stream);        \
  }                                                                                                \
  Status cudaLaunchKernel##suffix(const void* kernel, Dim3 grid, Dim3 block, void** arguments,     \
                                  std::size_t shared, void* stream) {                              \
    return follow_launch(real_cudaLaunchKernel##suffix, kernel, shape_of(grid, block, shared),     \
                         kernel, grid, block, arguments, shared, stream);                          \
  }                                                                                                \
  Status cudaLaunchCooperativeKernel##suffix(const void* kernel, Dim3 grid, Dim3 block,            \
                                             void** arguments, std::size_t shared, void* stream) { \
    return follow_launch(real_cudaLaunchCooperativeKernel##suffix, kernel,                         \
                         shape_of(grid, block, shared), kernel, grid, block, arguments, shared,    \
                         stream);                                                                  \
  }                                                                                                \
  Status __cudaLaunchKernel##suffix(const void* kernel, Dim3 grid, Dim3 block, void** arguments,   \
                                    std::size_t shared, void* stream) {                            \
    return follow_launch(real___cudaLaunchKernel##suffix, kernel, shape_of(grid, block, shared),   \
                         kernel, grid, block, arguments, shared, stream);                          \
  }                                                                                                \
  Status cudaLaunchKernelExC##suffix(const LaunchConfig* config, const void* kernel,               \
                                     void** arguments) {                                           \
    return follow_launch(real_cudaLaunchKernelExC##suffix, kernel,                                 \
                         shape_of(config->grid, config->block, config->shared_bytes), config,      \
                         kernel, arguments);                                                       \
  }                                                                                                \
  Status cudaGraphLaunch##suffix(void* graph, void* stream) {                                      \
    if (Following::outside()) record().graph_launches.fetch_add(1);                                \
    return follow_wait(real_cudaGraphLaunch##suffix, graph, stream);                               \
  }                                                                                                \
  Status cudaStreamSynchronize##suffix(void* stream) {                                             \
    return follow_wait(real_cudaStreamSynchronize##suffix, stream);                                \
  }                                                                                                \
  Status cudaGetDriverEntryPoint##suffix(const char* name, void** at, unsigned long long flags,    \
                                         int* result) {                                            \
    const Status status = forward(real_cudaGetDriverEntryPoint##suffix, name, at, flags, result);  \
    /* It asks for the version of the runtime, which is later than any that matters. */            \
    constexpr int of_the_runtime = 12000;                                                          \
    if (status == success && at != nullptr)                                                        \
      *at = in_place_of_entry(name, of_the_runtime,                                                \
                              sizeof(#suffix) > 1 || (flags & own_stream_flag) != 0, *at);         \
    return status;                                                                                 \
  }                                                                                                \
  Status cudaGetDriverEntryPointByVersion##suffix(const char* name, void** at, unsigned version,   \
                                                  unsigned long long flags, int* result) {         \
    const Status status =                                                                          \
        forward(real_cudaGetDriverEntryPointByVersion##suffix, name, at, version, flags, result);  \
    if (status == success && at != nullptr)                                                        \
      *at = in_place_of_entry(name, static_cast<int>(version),                                     \
                              sizeof(#suffix) > 1 || (flags & own_stream_flag) != 0, *at);         \
    return status;                                                                                 \
  }
CLEAVE_CUDA_BOTH_STREAMS()
CLEAVE_CUDA_BOTH_STREAMS(_ptsz)

Status cudaFree(void* at) {
  return follow_free(real_cudaFree, Space::address, number(at), at);
}

Status cudaFreeHost(void* at) {
  return follow_free(real_cudaFreeHost, Space::address, number(at), at);
}

Status cudaFreeArray(void* array) {
  return follow_free(real_cudaFreeArray, Space::array, number(array), array);
}

Status cudaDeviceReset() {
  auto* const call = real_cudaDeviceReset.get();
  if (call == nullptr) return not_initialized;
  const Following following;
  const Status status = call();
  if (status == success) released_everything();
  return status;
}

Status cudaDeviceSynchronize() {
  return follow_wait(real_cudaDeviceSynchronize);
}

Status cudaEventSynchronize(void* event) {
  return follow_wait(real_cudaEventSynchronize, event);
}

Status cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return follow_wait(real_cudaMemcpy, to, from, bytes, kind);
}

Status cudaMemcpy_ptds(void* to, const void* from, std::size_t bytes, int kind) {
  return follow_wait(real_cudaMemcpy_ptds, to, from, bytes, kind);
}

Status __cudaGetKernel(void** kernel, const void* function) {
  const Status status = forward(real___cudaGetKernel, kernel, function);
  if (status == success && kernel != nullptr) named(*kernel, name_of(function));
  return status;
}

// What the compiler's own code calls before main.

CLEAVE_CUDA_EXPORT void __cudaRegisterFunction(void** module, const char* host, char* device,
                                               const char* name, int threads, void* thread,
                                               void* block, void* block_size, void* grid_size,
                                               int* warp) {
  using Register =
      void(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
  static constinit Real<Register> real(Interface::runtime, "__cudaRegisterFunction");
  named(host, name);
  if (Register* const call = real.get())
    call(module, host, device, name, threads, thread, block, block_size, grid_size, warp);
}

CLEAVE_CUDA_EXPORT void __cudaRegisterVar(void** module, char* host, char* device, const char* name,
                                          int external, std::size_t bytes, int constant,
                                          int global) {
  using Register = void(void**, char*, char*, const char*, int, std::size_t, int, int);
  static constinit Real<Register> real(Interface::runtime, "__cudaRegisterVar");
  // Constants have memory of their own.
  if (constant == 0) allocated(Space::variable, number(host), bytes, MemoryKind::variables);
  if (Register* const call = real.get())
    call(module, host, device, name, external, bytes, constant, global);
}

namespace {

/// In use on the device less what the program has: right on an instance that it has alone.
std::int64_t context_on_the_device(std::int64_t held) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr || std::strncmp(visible, "MIG-", 4) != 0) return -1;
  auto* const ask = real_cudaMemGetInfo.get();
  std::size_t free = 0, total = 0;
  const Following following;
  if (ask == nullptr || ask(&free, &total) != success || free > total) return -1;
  const auto used = static_cast<std::int64_t>(total - free);
  return used < held ? -1 : used - held;
}

__attribute__((constructor)) void measure_contexts() {
  measured_context = context_on_the_device;
}

}  // namespace

#define CLEAVE_CUDA_ROW(name) \
  { #name, reinterpret_cast < void*>(name), &real_##name }
const Wrapped cleave::cuda::wrapped_runtime[] = {
    CLEAVE_CUDA_ROW(cudaMalloc),
    CLEAVE_CUDA_ROW(cudaMallocManaged),
    CLEAVE_CUDA_ROW(cudaMallocHost),
    CLEAVE_CUDA_ROW(cudaHostAlloc),
    CLEAVE_CUDA_ROW(cudaMallocPitch),
    CLEAVE_CUDA_ROW(cudaMalloc3D),
    CLEAVE_CUDA_ROW(cudaMallocArray),
    CLEAVE_CUDA_ROW(cudaMalloc3DArray),
    CLEAVE_CUDA_ROW(cudaMallocAsync),
    CLEAVE_CUDA_ROW(cudaMallocAsync_ptsz),
    CLEAVE_CUDA_ROW(cudaMallocFromPoolAsync),
    CLEAVE_CUDA_ROW(cudaMallocFromPoolAsync_ptsz),
    CLEAVE_CUDA_ROW(cudaFree),
    CLEAVE_CUDA_ROW(cudaFreeHost),
    CLEAVE_CUDA_ROW(cudaFreeArray),
    CLEAVE_CUDA_ROW(cudaFreeAsync),
    CLEAVE_CUDA_ROW(cudaFreeAsync_ptsz),
    CLEAVE_CUDA_ROW(cudaDeviceReset),
    CLEAVE_CUDA_ROW(cudaLaunchKernel),
    CLEAVE_CUDA_ROW(cudaLaunchKernel_ptsz),
    CLEAVE_CUDA_ROW(cudaLaunchCooperativeKernel),
    CLEAVE_CUDA_ROW(cudaLaunchCooperativeKernel_ptsz),
    CLEAVE_CUDA_ROW(cudaLaunchKernelExC),
    CLEAVE_CUDA_ROW(cudaLaunchKernelExC_ptsz),
    CLEAVE_CUDA_ROW(cudaGraphLaunch),
    CLEAVE_CUDA_ROW(cudaGraphLaunch_ptsz),
    CLEAVE_CUDA_ROW(cudaDeviceSynchronize),
    CLEAVE_CUDA_ROW(cudaStreamSynchronize),
    CLEAVE_CUDA_ROW(cudaStreamSynchronize_ptsz),
    CLEAVE_CUDA_ROW(cudaEventSynchronize),
    CLEAVE_CUDA_ROW(cudaMemcpy),
    CLEAVE_CUDA_ROW(cudaMemcpy_ptds),
    CLEAVE_CUDA_ROW(cudaGetDriverEntryPoint),
    CLEAVE_CUDA_ROW(cudaGetDriverEntryPoint_ptsz),
    CLEAVE_CUDA_ROW(cudaGetDriverEntryPointByVersion),
    CLEAVE_CUDA_ROW(cudaGetDriverEntryPointByVersion_ptsz),
    {nullptr, nullptr, nullptr}};
#undef CLEAVE_CUDA_ROW
