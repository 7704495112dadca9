// The functions of the CUDA driver that the live library stands before, and the ways on which
// programs get them: by the linker, by dlsym, by cuGetProcAddress.

#include "cudatrace/live/follow.hpp"

using namespace cleave::cuda;

#define CLEAVE_CUDA_DECLARE(name, ...)                                  \
  CLEAVE_CUDA_EXPORT Status name(__VA_ARGS__);                          \
  namespace {                                                           \
  constinit Real<decltype(name)> real_##name(Interface::driver, #name); \
  }

/// CUdeviceptr and handles of physical memory.
using Address = unsigned long long;

CLEAVE_CUDA_DECLARE(cuMemAlloc_v2, Address* at, std::size_t bytes)
CLEAVE_CUDA_DECLARE(cuMemFree_v2, Address at)
CLEAVE_CUDA_DECLARE(cuMemAllocPitch_v2, Address* at, std::size_t* pitch, std::size_t width,
                    std::size_t height, unsigned element)
CLEAVE_CUDA_DECLARE(cuMemAllocManaged, Address* at, std::size_t bytes, unsigned flags)
CLEAVE_CUDA_DECLARE(cuMemAllocHost_v2, void** at, std::size_t bytes)
CLEAVE_CUDA_DECLARE(cuMemHostAlloc, void** at, std::size_t bytes, unsigned flags)
CLEAVE_CUDA_DECLARE(cuMemFreeHost, void* at)
CLEAVE_CUDA_DECLARE(cuMemAllocAsync, Address* at, std::size_t bytes, void* stream)
CLEAVE_CUDA_DECLARE(cuMemAllocAsync_ptsz, Address* at, std::size_t bytes, void* stream)
CLEAVE_CUDA_DECLARE(cuMemAllocFromPoolAsync, Address* at, std::size_t bytes, void* pool,
                    void* stream)
CLEAVE_CUDA_DECLARE(cuMemAllocFromPoolAsync_ptsz, Address* at, std::size_t bytes, void* pool,
                    void* stream)
CLEAVE_CUDA_DECLARE(cuMemFreeAsync, Address at, void* stream)
CLEAVE_CUDA_DECLARE(cuMemFreeAsync_ptsz, Address at, void* stream)
CLEAVE_CUDA_DECLARE(cuMemCreate, Address* handle, std::size_t bytes,
                    const AllocationProperties* properties, unsigned long long flags)
CLEAVE_CUDA_DECLARE(cuMemRelease, Address handle)
CLEAVE_CUDA_DECLARE(cuArrayCreate_v2, void** array, const ArrayDescriptor* descriptor)
CLEAVE_CUDA_DECLARE(cuArray3DCreate_v2, void** array, const Array3dDescriptor* descriptor)
CLEAVE_CUDA_DECLARE(cuArrayDestroy, void* array)
CLEAVE_CUDA_DECLARE(cuDevicePrimaryCtxReset_v2, int device)
CLEAVE_CUDA_DECLARE(cuLaunchKernel, const void* kernel, unsigned grid_x, unsigned grid_y,
                    unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                    unsigned shared, void* stream, void** arguments, void** extra)
CLEAVE_CUDA_DECLARE(cuLaunchKernel_ptsz, const void* kernel, unsigned grid_x, unsigned grid_y,
                    unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                    unsigned shared, void* stream, void** arguments, void** extra)
CLEAVE_CUDA_DECLARE(cuLaunchCooperativeKernel, const void* kernel, unsigned grid_x, unsigned grid_y,
                    unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                    unsigned shared, void* stream, void** arguments)
CLEAVE_CUDA_DECLARE(cuLaunchCooperativeKernel_ptsz, const void* kernel, unsigned grid_x,
                    unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                    unsigned block_z, unsigned shared, void* stream, void** arguments)
CLEAVE_CUDA_DECLARE(cuLaunchKernelEx, const DriverLaunchConfig* config, const void* kernel,
                    void** arguments, void** extra)
CLEAVE_CUDA_DECLARE(cuLaunchKernelEx_ptsz, const DriverLaunchConfig* config, const void* kernel,
                    void** arguments, void** extra)
CLEAVE_CUDA_DECLARE(cuGraphLaunch, void* graph, void* stream)
CLEAVE_CUDA_DECLARE(cuGraphLaunch_ptsz, void* graph, void* stream)
CLEAVE_CUDA_DECLARE(cuCtxSynchronize)
CLEAVE_CUDA_DECLARE(cuCtxSynchronize_v2, void* context)
CLEAVE_CUDA_DECLARE(cuStreamSynchronize, void* stream)
CLEAVE_CUDA_DECLARE(cuStreamSynchronize_ptsz, void* stream)
CLEAVE_CUDA_DECLARE(cuModuleGetFunction, void** function, void* module, const char* name)
CLEAVE_CUDA_DECLARE(cuLibraryGetKernel, void** kernel, void* library, const char* name)
CLEAVE_CUDA_DECLARE(cuKernelGetFunction, void** function, void* kernel)
CLEAVE_CUDA_DECLARE(cuGetProcAddress, const char* name, void** at, int version,
                    unsigned long long flags)
CLEAVE_CUDA_DECLARE(cuGetProcAddress_v2, const char* name, void** at, int version,
                    unsigned long long flags, int* result)

namespace {

constexpr unsigned long long own_stream_flag = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

auto made_at(Address* at, std::uint64_t bytes, MemoryKind kind) {
  return [=] { return Made{Space::address, *at, bytes, kind}; };
}

auto made_at(void** at, std::uint64_t bytes) {
  return [=] { return Made{Space::address, number(*at), bytes, MemoryKind::pinned}; };
}

auto made_array(void** array, std::uint64_t bytes) {
  return [=] { return Made{Space::array, number(*array), bytes, MemoryKind::array}; };
}

}  // namespace

Status cuMemAlloc_v2(Address* at, std::size_t bytes) {
  return follow_allocation(real_cuMemAlloc_v2, bytes, made_at(at, bytes, MemoryKind::device), at,
                           bytes);
}

Status cuMemFree_v2(Address at) {
  return follow_free(real_cuMemFree_v2, Space::address, at, at);
}

Status cuMemAllocPitch_v2(Address* at, std::size_t* pitch, std::size_t width, std::size_t height,
                          unsigned element) {
  return follow_allocation(
      real_cuMemAllocPitch_v2, width * height,
      [=] {
        return Made{Space::address, *at, *pitch * height, MemoryKind::device};
      },
      at, pitch, width, height, element);
}

Status cuMemAllocManaged(Address* at, std::size_t bytes, unsigned flags) {
  return follow_allocation(real_cuMemAllocManaged, bytes, made_at(at, bytes, MemoryKind::managed),
                           at, bytes, flags);
}

Status cuMemAllocHost_v2(void** at, std::size_t bytes) {
  return follow_allocation(real_cuMemAllocHost_v2, 0, made_at(at, bytes), at, bytes);
}

Status cuMemHostAlloc(void** at, std::size_t bytes, unsigned flags) {
  return follow_allocation(real_cuMemHostAlloc, 0, made_at(at, bytes), at, bytes, flags);
}

Status cuMemFreeHost(void* at) {
  return follow_free(real_cuMemFreeHost, Space::address, number(at), at);
}

Status cuMemCreate(Address* handle, std::size_t bytes, const AllocationProperties* properties,
                   unsigned long long flags) {
  const bool here = properties != nullptr && properties->location_type == location_device;
  return follow_allocation(
      real_cuMemCreate, here ? bytes : 0,
      [=] {
        return Made{Space::physical, *handle, bytes,
                    here ? MemoryKind::device : MemoryKind::pinned};
      },
      handle, bytes, properties, flags);
}

Status cuMemRelease(Address handle) {
  return follow_free(real_cuMemRelease, Space::physical, handle, handle);
}

Status cuArrayCreate_v2(void** array, const ArrayDescriptor* descriptor) {
  const std::size_t bytes =
      descriptor == nullptr
          ? 0
          : bytes_of_array(bytes_of_format(descriptor->format) * descriptor->channels,
                           descriptor->width, descriptor->height, 0);
  return follow_allocation(real_cuArrayCreate_v2, bytes, made_array(array, bytes), array,
                           descriptor);
}

Status cuArray3DCreate_v2(void** array, const Array3dDescriptor* descriptor) {
  const std::size_t bytes =
      descriptor == nullptr
          ? 0
          : bytes_of_array(bytes_of_format(descriptor->format) * descriptor->channels,
                           descriptor->width, descriptor->height, descriptor->depth);
  return follow_allocation(real_cuArray3DCreate_v2, bytes, made_array(array, bytes), array,
                           descriptor);
}

Status cuArrayDestroy(void* array) {
  return follow_free(real_cuArrayDestroy, Space::array, number(array), array);
}

Status cuDevicePrimaryCtxReset_v2(int device) {
  auto* const call = real_cuDevicePrimaryCtxReset_v2.get();
  if (call == nullptr) return not_initialized;
  const Following following;
  const Status status = call(device);
  if (status == success && Following::outermost()) released_everything();
  return status;
}

// Each of these is there twice: for the default stream of the process and for that of the thread.
#define CLEAVE_CUDA_BOTH_STREAMS(suffix)                                                           \
  Status cuMemAllocAsync##suffix(Address* at, std::size_t bytes, void* stream) {                   \
    return follow_allocation(real_cuMemAllocAsync##suffix, bytes,                                  \
                             made_at(at, bytes, MemoryKind::device), at, bytes, stream);           \
  }                                                                                                \
  Status cuMemAllocFromPoolAsync##suffix(Address* at, std::size_t bytes, void* pool,               \
                                         void* stream) {                                           \
    return follow_allocation(real_cuMemAllocFromPoolAsync##suffix, bytes,                          \
                             made_at(at, bytes, MemoryKind::device), at, bytes, pool, stream);     \
  }                                                                                                \
  Status cuMemFreeAsync##suffix(Address at, void* stream) {                                        \
    return follow_free(real_cuMemFreeAsync##suffix, Space::address, at, at, stream);               \
  }                                                                                                \
  Status cuLaunchKernel##suffix(const void* kernel, unsigned grid_x, unsigned grid_y,              \
                                unsigned grid_z, unsigned block_x, unsigned block_y,               \
                                unsigned block_z, unsigned shared, void* stream, void** arguments, \
                                void** extra) {                                                    \
    return follow_launch(real_cuLaunchKernel##suffix, kernel,                                      \
                         {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, kernel,  \
                         grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,        \
                         arguments, extra);                                                        \
  }                                                                                                \
  Status cuLaunchCooperativeKernel##suffix(                                                        \
      const void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,     \
      unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** arguments) {       \
    return follow_launch(real_cuLaunchCooperativeKernel##suffix, kernel,                           \
                         {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, kernel,  \
                         grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,        \
                         arguments);                                                               \
  }                                                                                                \
  Status cuLaunchKernelEx##suffix(const DriverLaunchConfig* config, const void* kernel,            \
                                  void** arguments, void** extra) {                                \
    const DriverLaunchConfig& c = *config;                                                         \
    return follow_launch(                                                                          \
        real_cuLaunchKernelEx##suffix, kernel,                                                     \
        {{c.grid[0], c.grid[1], c.grid[2]}, {c.block[0], c.block[1], c.block[2]}, c.shared_bytes}, \
        config, kernel, arguments, extra);                                                         \
  }                                                                                                \
  Status cuGraphLaunch##suffix(void* graph, void* stream) {                                        \
    if (Following::outside()) record().graph_launches.fetch_add(1);                                \
    return follow_wait(real_cuGraphLaunch##suffix, graph, stream);                                 \
  }                                                                                                \
  Status cuStreamSynchronize##suffix(void* stream) {                                               \
    return follow_wait(real_cuStreamSynchronize##suffix, stream);                                  \
  }
CLEAVE_CUDA_BOTH_STREAMS()
CLEAVE_CUDA_BOTH_STREAMS(_ptsz)

Status cuCtxSynchronize() {
  return follow_wait(real_cuCtxSynchronize);
}

Status cuCtxSynchronize_v2(void* context) {
  return follow_wait(real_cuCtxSynchronize_v2, context);
}

Status cuModuleGetFunction(void** function, void* module, const char* name) {
  const Status status = forward(real_cuModuleGetFunction, function, module, name);
  if (status == success && function != nullptr) named(*function, name);
  return status;
}

Status cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  const Status status = forward(real_cuLibraryGetKernel, kernel, library, name);
  if (status == success && kernel != nullptr) named(*kernel, name);
  return status;
}

Status cuKernelGetFunction(void** function, void* kernel) {
  const Status status = forward(real_cuKernelGetFunction, function, kernel);
  if (status == success && function != nullptr) named(*function, name_of(kernel));
  return status;
}

Status cuGetProcAddress(const char* name, void** at, int version, unsigned long long flags) {
  const Status status = forward(real_cuGetProcAddress, name, at, version, flags);
  if (status == success && at != nullptr)
    *at = in_place_of_entry(name, version, (flags & own_stream_flag) != 0, *at);
  return status;
}

Status cuGetProcAddress_v2(const char* name, void** at, int version, unsigned long long flags,
                           int* result) {
  const Status status = forward(real_cuGetProcAddress_v2, name, at, version, flags, result);
  if (status == success && at != nullptr)
    *at = in_place_of_entry(name, version, (flags & own_stream_flag) != 0, *at);
  return status;
}

/// Programs that load a library themselves ask here. For all other names it is as if the C
/// library's own had been called: `return` becomes a jump, so that RTLD_NEXT still means the
/// caller.
CLEAVE_CUDA_EXPORT __attribute__((optimize("O2"))) void* dlsym(void* handle, const char* name) {
  if (name == nullptr || name[0] != 'c' || name[1] != 'u') return plain_dlsym(handle, name);
  return in_place_of(name, plain_dlsym(handle, name));
}

#define CLEAVE_CUDA_ROW(name) \
  { #name, reinterpret_cast < void*>(name), &real_##name }
const Wrapped cleave::cuda::wrapped_driver[] = {CLEAVE_CUDA_ROW(cuMemAlloc_v2),
                                                CLEAVE_CUDA_ROW(cuMemFree_v2),
                                                CLEAVE_CUDA_ROW(cuMemAllocPitch_v2),
                                                CLEAVE_CUDA_ROW(cuMemAllocManaged),
                                                CLEAVE_CUDA_ROW(cuMemAllocHost_v2),
                                                CLEAVE_CUDA_ROW(cuMemHostAlloc),
                                                CLEAVE_CUDA_ROW(cuMemFreeHost),
                                                CLEAVE_CUDA_ROW(cuMemAllocAsync),
                                                CLEAVE_CUDA_ROW(cuMemAllocAsync_ptsz),
                                                CLEAVE_CUDA_ROW(cuMemAllocFromPoolAsync),
                                                CLEAVE_CUDA_ROW(cuMemAllocFromPoolAsync_ptsz),
                                                CLEAVE_CUDA_ROW(cuMemFreeAsync),
                                                CLEAVE_CUDA_ROW(cuMemFreeAsync_ptsz),
                                                CLEAVE_CUDA_ROW(cuMemCreate),
                                                CLEAVE_CUDA_ROW(cuMemRelease),
                                                CLEAVE_CUDA_ROW(cuArrayCreate_v2),
                                                CLEAVE_CUDA_ROW(cuArray3DCreate_v2),
                                                CLEAVE_CUDA_ROW(cuArrayDestroy),
                                                CLEAVE_CUDA_ROW(cuDevicePrimaryCtxReset_v2),
                                                CLEAVE_CUDA_ROW(cuLaunchKernel),
                                                CLEAVE_CUDA_ROW(cuLaunchKernel_ptsz),
                                                CLEAVE_CUDA_ROW(cuLaunchCooperativeKernel),
                                                CLEAVE_CUDA_ROW(cuLaunchCooperativeKernel_ptsz),
                                                CLEAVE_CUDA_ROW(cuLaunchKernelEx),
                                                CLEAVE_CUDA_ROW(cuLaunchKernelEx_ptsz),
                                                CLEAVE_CUDA_ROW(cuGraphLaunch),
                                                CLEAVE_CUDA_ROW(cuGraphLaunch_ptsz),
                                                CLEAVE_CUDA_ROW(cuCtxSynchronize),
                                                CLEAVE_CUDA_ROW(cuCtxSynchronize_v2),
                                                CLEAVE_CUDA_ROW(cuStreamSynchronize),
                                                CLEAVE_CUDA_ROW(cuStreamSynchronize_ptsz),
                                                CLEAVE_CUDA_ROW(cuModuleGetFunction),
                                                CLEAVE_CUDA_ROW(cuLibraryGetKernel),
                                                CLEAVE_CUDA_ROW(cuKernelGetFunction),
                                                CLEAVE_CUDA_ROW(cuGetProcAddress),
                                                CLEAVE_CUDA_ROW(cuGetProcAddress_v2),
                                                {nullptr, nullptr, nullptr}};
#undef CLEAVE_CUDA_ROW
