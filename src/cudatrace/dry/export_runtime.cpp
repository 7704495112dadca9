// The functions of the CUDA runtime that the dry library answers itself.

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "cudatrace/dry/pretended.hpp"
#include "cudatrace/dry/properties.hpp"

using namespace cleave::cuda;

namespace {

constexpr Status invalid_configuration = 9;

/// A handle of anything.
Status make_handle(void** at) {
  if (at == nullptr) return invalid_value;
  *at = new_handle();
  return success;
}

template <class T>
Status answer(T* at, T value) {
  if (at == nullptr) return invalid_value;
  *at = value;
  return success;
}

int has_runtime_11(dl_phdr_info* info, std::size_t, void*) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  return path.ends_with("/libcudart.so.11.0") ? 1 : 0;
}

/// The program's runtime is of version 11, whose properties have the layout of version 12 under the
/// name that they have again in 13.
bool for_runtime_11() {
  static const bool is = ::dl_iterate_phdr(has_runtime_11, nullptr) != 0;
  return is;
}

template <class Properties>
void fill(Properties& p) {
  const PretendedGpu& gpu = pretended_gpu();
  std::snprintf(p.name, sizeof(p.name), "NVIDIA %s", gpu.name);
  p.memory = gpu.memory;
  p.shared_of_block = static_cast<std::size_t>(attribute(8));
  p.registers_of_block = attribute(12);
  p.threads_of_warp = attribute(10);
  p.pitch = static_cast<std::size_t>(attribute(11));
  p.threads_of_block = attribute(1);
  for (int i = 0; i < 3; ++i) {
    p.block[i] = attribute(2 + i);
    p.grid[i] = attribute(5 + i);
  }
  p.constants = static_cast<std::size_t>(attribute(9));
  p.major = gpu.major;
  p.minor = gpu.minor;
  p.texture_alignment = static_cast<std::size_t>(attribute(14));
  p.pitch_alignment = 32;
  p.sms = gpu.sms;
  p.maps_host = p.concurrent = p.ecc = p.copy_engines = p.one_address_space = 1;
  std::ranges::fill(p.textures, 16384);
  p.surface_alignment = p.texture_alignment;
  p.bus_width = attribute(37);
  p.l2 = attribute(38);
  p.threads_of_sm = attribute(39);
  p.priorities = p.l1[0] = p.l1[1] = p.managed = p.concurrent_managed = 1;
  p.preemption = p.cooperative = 1;
  p.shared_of_sm = static_cast<std::size_t>(gpu.shared_of_sm);
  p.registers_of_sm = attribute(82);
  p.shared_of_block_at_most = static_cast<std::size_t>(gpu.shared_of_block);
  p.blocks_of_sm = gpu.blocks_of_sm;
  p.shared_of_system = static_cast<std::size_t>(attribute(111));
}

template <class Properties>
Status answer_properties(void* at, int device, std::size_t size) {
  if (at == nullptr) return invalid_value;
  if (device != 0) return invalid_device;
  std::memset(at, 0, size);
  fill(*static_cast<Properties*>(at));
  return success;
}

/// What <<<...>>> puts down before the compiler's stub takes it up.
struct Configured {
  Dim3 grid, block;
  std::size_t shared = 0;
  void* stream = nullptr;
};
constexpr std::size_t deepest = 16;
thread_local Configured configured[deepest];
thread_local std::size_t configurations = 0;

LaunchShape shape_of(const Dim3& grid, const Dim3& block, std::uint64_t shared) {
  return {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared};
}

/// Rows of a matrix between places that the host may or may not touch.
void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
               std::size_t width, std::size_t height) {
  for (std::size_t row = 0; row < height; ++row)
    dry_copy(static_cast<char*>(to) + row * to_pitch,
             static_cast<const char*>(from) + row * from_pitch, width);
}

}  // namespace

// Memory.

CLEAVE_CUDA_EXPORT Status cudaMalloc(void** at, std::size_t bytes) {
  DryCall call;
  return call.done(dry_allocate(at, bytes, MemoryKind::device));
}

CLEAVE_CUDA_EXPORT Status cudaMallocManaged(void** at, std::size_t bytes, unsigned) {
  DryCall call;
  return call.done(bytes == 0 ? invalid_value : dry_allocate(at, bytes, MemoryKind::managed));
}

CLEAVE_CUDA_EXPORT Status cudaMallocHost(void** at, std::size_t bytes) {
  DryCall call;
  return call.done(dry_allocate(at, bytes, MemoryKind::pinned));
}

CLEAVE_CUDA_EXPORT Status cudaHostAlloc(void** at, std::size_t bytes, unsigned) {
  return cudaMallocHost(at, bytes);
}

CLEAVE_CUDA_EXPORT Status cudaMallocPitch(void** at, std::size_t* pitch, std::size_t width,
                                          std::size_t height) {
  DryCall call;
  if (pitch == nullptr) return call.done(invalid_value);
  *pitch = pitch_of(width);
  return call.done(dry_allocate(at, product(*pitch, height), MemoryKind::device));
}

CLEAVE_CUDA_EXPORT Status cudaMalloc3D(PitchedPointer* at, Extent extent) {
  DryCall call;
  if (at == nullptr) return call.done(invalid_value);
  *at = {nullptr, pitch_of(extent.width), extent.width, extent.height};
  return call.done(dry_allocate(
      &at->pointer, product(product(at->pitch, extent.height), extent.depth), MemoryKind::device));
}

CLEAVE_CUDA_EXPORT Status cudaMallocArray(void** array, const ChannelFormat* format,
                                          std::size_t width, std::size_t height, unsigned) {
  DryCall call;
  if (format == nullptr) return call.done(invalid_value);
  return call.done(dry_make(Space::array, array,
                            bytes_of_array(bytes_of_element(*format), width, height, 0),
                            MemoryKind::array));
}

CLEAVE_CUDA_EXPORT Status cudaMalloc3DArray(void** array, const ChannelFormat* format,
                                            Extent extent, unsigned) {
  DryCall call;
  if (format == nullptr) return call.done(invalid_value);
  return call.done(
      dry_make(Space::array, array,
               bytes_of_array(bytes_of_element(*format), extent.width, extent.height, extent.depth),
               MemoryKind::array));
}

CLEAVE_CUDA_EXPORT Status cudaFree(void* at) {
  DryCall call;
  return call.done(dry_free(at));
}

CLEAVE_CUDA_EXPORT Status cudaFreeHost(void* at) {
  return cudaFree(at);
}

CLEAVE_CUDA_EXPORT Status cudaFreeArray(void* array) {
  DryCall call;
  return call.done(dry_unmake(Space::array, array));
}

CLEAVE_CUDA_EXPORT Status cudaMallocAsync(void** at, std::size_t bytes, void*) {
  return cudaMalloc(at, bytes);
}

CLEAVE_CUDA_EXPORT Status cudaMallocFromPoolAsync(void** at, std::size_t bytes, void*, void*) {
  return cudaMalloc(at, bytes);
}

CLEAVE_CUDA_EXPORT Status cudaFreeAsync(void* at, void*) {
  return cudaFree(at);
}

CLEAVE_CUDA_EXPORT Status cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  DryCall call;
  if (free == nullptr || total == nullptr) return call.done(invalid_value);
  *free = free_memory();
  *total = pretended_gpu().memory;
  return call.done(success);
}

CLEAVE_CUDA_EXPORT Status cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return answer(device, host);
}

CLEAVE_CUDA_EXPORT Status cudaHostGetFlags(unsigned* flags, void*) {
  return answer(flags, 0U);
}

CLEAVE_CUDA_EXPORT Status cudaMemcpy(void* to, const void* from, std::size_t bytes, int) {
  DryCall call;
  moment();
  dry_copy(to, from, bytes);
  return call.done(success);
}

CLEAVE_CUDA_EXPORT Status cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind,
                                          void*) {
  return cudaMemcpy(to, from, bytes, kind);
}

CLEAVE_CUDA_EXPORT Status cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from,
                                       std::size_t from_pitch, std::size_t width,
                                       std::size_t height, int) {
  DryCall call;
  copy_rows(to, to_pitch, from, from_pitch, width, height);
  return call.done(success);
}

CLEAVE_CUDA_EXPORT Status cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                                            std::size_t from_pitch, std::size_t width,
                                            std::size_t height, int kind, void*) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

CLEAVE_CUDA_EXPORT Status cudaMemcpyFromSymbol(void* to, const void*, std::size_t bytes,
                                               std::size_t, int) {
  DryCall call;
  dry_copy(to, nullptr, bytes);
  return call.done(success);
}

CLEAVE_CUDA_EXPORT Status cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                                    std::size_t offset, int kind, void*) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}

CLEAVE_CUDA_EXPORT Status cudaMemset(void* at, int value, std::size_t bytes) {
  DryCall call;
  dry_fill(at, value, bytes);
  return call.done(success);
}

CLEAVE_CUDA_EXPORT Status cudaMemsetAsync(void* at, int value, std::size_t bytes, void*) {
  return cudaMemset(at, value, bytes);
}

CLEAVE_CUDA_EXPORT Status cudaPointerGetAttributes(void* attributes, const void* at) {
  struct Attributes {
    int type, device;
    const void *on_device, *on_host;
  };
  DryCall call;
  if (attributes == nullptr) return call.done(invalid_value);
  const auto place = place_of(at);
  const auto type_of = [](MemoryKind kind) {
    return kind == MemoryKind::pinned ? 1 : kind == MemoryKind::managed ? 3 : 2;
  };
  const int type = place ? type_of(place->kind) : 0;
  const Attributes found{type, type == 0 ? -2 : 0, type == 0 ? nullptr : at,
                         type == 2 ? nullptr : at};
  std::memcpy(attributes, &found, sizeof(found));
  return call.done(success);
}

/// Variables of the device have their host's address, which is as good as any.
CLEAVE_CUDA_EXPORT Status cudaGetSymbolAddress(void** at, const void* symbol) {
  return answer(at, const_cast<void*>(symbol));
}

CLEAVE_CUDA_EXPORT Status cudaDeviceGetDefaultMemPool(void** pool, int) {
  return make_handle(pool);
}

CLEAVE_CUDA_EXPORT Status cudaDeviceGetMemPool(void** pool, int) {
  return make_handle(pool);
}

CLEAVE_CUDA_EXPORT Status cudaMemPoolCreate(void** pool, const void*) {
  return make_handle(pool);
}

CLEAVE_CUDA_EXPORT Status cudaMemPoolGetAttribute(void*, int, std::uint64_t* value) {
  return answer(value, std::uint64_t{0});
}

// The device.

CLEAVE_CUDA_EXPORT Status cudaGetDeviceCount(int* count) {
  moment();
  return answer(count, 1);
}

CLEAVE_CUDA_EXPORT Status cudaGetDevice(int* device) {
  return answer(device, 0);
}

CLEAVE_CUDA_EXPORT Status cudaChooseDevice(int* device, const void*) {
  return answer(device, 0);
}

CLEAVE_CUDA_EXPORT Status cudaGetDeviceFlags(unsigned* flags) {
  return answer(flags, 0U);
}

CLEAVE_CUDA_EXPORT Status cudaGetDeviceProperties_v2(void* properties, int device) {
  DryCall call;
  return call.done(answer_properties<PropertiesTo12>(properties, device, size_in_12));
}

CLEAVE_CUDA_EXPORT Status cudaGetDeviceProperties(void* properties, int device) {
  DryCall call;
  return call.done(
      for_runtime_11()
          ? answer_properties<PropertiesTo12>(properties, device, sizeof(PropertiesTo12))
          : answer_properties<PropertiesFrom13>(properties, device, sizeof(PropertiesFrom13)));
}

CLEAVE_CUDA_EXPORT Status cudaDeviceGetAttribute(int* value, int number, int device) {
  DryCall call;
  return call.done(device != 0 ? invalid_device : answer(value, attribute(number)));
}

CLEAVE_CUDA_EXPORT Status cudaDeviceGetLimit(std::size_t* value, int) {
  return answer(value, std::size_t{8} << 20U);
}

CLEAVE_CUDA_EXPORT Status cudaDeviceGetCacheConfig(int* config) {
  return answer(config, 0);
}

CLEAVE_CUDA_EXPORT Status cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return success;
}

CLEAVE_CUDA_EXPORT Status cudaDeviceCanAccessPeer(int* can, int, int) {
  return answer(can, 0);
}

CLEAVE_CUDA_EXPORT Status cudaDeviceGetPCIBusId(char* id, int length, int) {
  if (id == nullptr || length < 1) return invalid_value;
  std::snprintf(id, static_cast<std::size_t>(length), "0000:00:00.0");
  return success;
}

CLEAVE_CUDA_EXPORT Status cudaDeviceReset() {
  DryCall call;
  dry_reset();
  return call.done(success);
}

CLEAVE_CUDA_EXPORT Status cudaThreadExit() {
  return cudaDeviceReset();
}

CLEAVE_CUDA_EXPORT Status cudaDriverGetVersion(int* version) {
  return answer(version, 13000);
}

CLEAVE_CUDA_EXPORT Status cudaRuntimeGetVersion(int* version) {
  return answer(version, for_runtime_11() ? 11080 : 13000);
}

CLEAVE_CUDA_EXPORT Status cudaGetLastError() {
  return last_error(true);
}

CLEAVE_CUDA_EXPORT Status cudaPeekAtLastError() {
  return last_error(false);
}

CLEAVE_CUDA_EXPORT const char* cudaGetErrorString(Status status) {
  switch (status) {
    case success:
      return "no error";
    case invalid_value:
      return "invalid argument";
    case out_of_memory:
      return "out of memory";
    case invalid_configuration:
      return "invalid configuration argument";
    case invalid_device:
      return "invalid device ordinal";
    case not_supported:
      return "operation not supported";
    default:
      return "unrecognized error code";
  }
}

CLEAVE_CUDA_EXPORT const char* cudaGetErrorName(Status status) {
  switch (status) {
    case success:
      return "cudaSuccess";
    case invalid_value:
      return "cudaErrorInvalidValue";
    case out_of_memory:
      return "cudaErrorMemoryAllocation";
    case invalid_configuration:
      return "cudaErrorInvalidConfiguration";
    case invalid_device:
      return "cudaErrorInvalidDevice";
    case not_supported:
      return "cudaErrorNotSupported";
    default:
      return "unrecognized error code";
  }
}

// Streams and events.

CLEAVE_CUDA_EXPORT Status cudaStreamCreate(void** stream) {
  return make_handle(stream);
}

CLEAVE_CUDA_EXPORT Status cudaStreamCreateWithFlags(void** stream, unsigned) {
  return make_handle(stream);
}

CLEAVE_CUDA_EXPORT Status cudaStreamCreateWithPriority(void** stream, unsigned, int) {
  return make_handle(stream);
}

CLEAVE_CUDA_EXPORT Status cudaStreamGetPriority(void*, int* priority) {
  return answer(priority, 0);
}

CLEAVE_CUDA_EXPORT Status cudaStreamGetFlags(void*, unsigned* flags) {
  return answer(flags, 0U);
}

CLEAVE_CUDA_EXPORT Status cudaStreamIsCapturing(void*, int* status) {
  return answer(status, 0);
}

/// The work before it is done, since none takes any time.
CLEAVE_CUDA_EXPORT Status cudaStreamAddCallback(void* stream, void (*callback)(void*, int, void*),
                                                void* data, unsigned) {
  callback(stream, success, data);
  return success;
}

CLEAVE_CUDA_EXPORT Status cudaLaunchHostFunc(void*, void (*function)(void*), void* data) {
  function(data);
  return success;
}

CLEAVE_CUDA_EXPORT Status cudaEventCreate(void** event) {
  return make_handle(event);
}

CLEAVE_CUDA_EXPORT Status cudaEventCreateWithFlags(void** event, unsigned) {
  return make_handle(event);
}

CLEAVE_CUDA_EXPORT Status cudaEventElapsedTime(float* ms, void*, void*) {
  return answer(ms, 1.0F);
}

CLEAVE_CUDA_EXPORT Status cudaEventElapsedTime_v2(float* ms, void*, void*) {
  return answer(ms, 1.0F);
}

CLEAVE_CUDA_EXPORT Status cudaCreateTextureObject(unsigned long long* texture, const void*,
                                                  const void*, const void*) {
  return answer(texture, 1ULL);
}

CLEAVE_CUDA_EXPORT Status cudaCreateSurfaceObject(unsigned long long* surface, const void*) {
  return answer(surface, 1ULL);
}

// Kernels.

CLEAVE_CUDA_EXPORT Status cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void**,
                                           std::size_t shared, void*) {
  DryCall call;
  return call.done(dry_launch(kernel, shape_of(grid, block, shared), invalid_configuration));
}

CLEAVE_CUDA_EXPORT Status __cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block,
                                             void** arguments, std::size_t shared, void* stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

CLEAVE_CUDA_EXPORT Status cudaLaunchCooperativeKernel(const void* kernel, Dim3 grid, Dim3 block,
                                                      void** arguments, std::size_t shared,
                                                      void* stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

CLEAVE_CUDA_EXPORT Status cudaLaunchKernelExC(const LaunchConfig* config, const void* kernel,
                                              void** arguments) {
  if (config == nullptr) return invalid_value;
  return cudaLaunchKernel(kernel, config->grid, config->block, arguments, config->shared_bytes,
                          config->stream);
}

CLEAVE_CUDA_EXPORT unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared,
                                                        void* stream) {
  if (configurations == deepest) return 1;
  configured[configurations++] = {grid, block, shared, stream};
  return 0;
}

CLEAVE_CUDA_EXPORT Status __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* shared,
                                                     void** stream) {
  if (configurations == 0) return invalid_configuration;
  const Configured& last = configured[--configurations];
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *stream = last.stream;
  return success;
}

CLEAVE_CUDA_EXPORT void** __cudaRegisterFatBinary(void*) {
  static void* module = nullptr;
  return &module;
}

CLEAVE_CUDA_EXPORT char __cudaInitModule(void**) {
  return 0;
}

CLEAVE_CUDA_EXPORT void __cudaRegisterFunction(void**, const char* host, char*, const char* name,
                                               int, void*, void*, void*, void*, int*) {
  named(host, name);
}

CLEAVE_CUDA_EXPORT void __cudaRegisterVar(void**, char* host, char*, const char*, int,
                                          std::size_t bytes, int constant, int) {
  // Constants have memory of their own.
  if (constant == 0)
    allocated(Space::variable, reinterpret_cast<std::uintptr_t>(host), bytes,
              MemoryKind::variables);
}

/// Managed variables are pointers on the host, to memory that both can touch.
CLEAVE_CUDA_EXPORT void __cudaRegisterManagedVar(void**, void** host, char*, const char*, int,
                                                 std::size_t bytes, int, int) {
  (void)dry_allocate(host, bytes, MemoryKind::managed);
}

CLEAVE_CUDA_EXPORT Status __cudaGetKernel(void** kernel, const void* function) {
  return answer(kernel, const_cast<void*>(function));
}

CLEAVE_CUDA_EXPORT Status cudaGetFuncBySymbol(void** function, const void* symbol) {
  return answer(function, const_cast<void*>(symbol));
}

CLEAVE_CUDA_EXPORT Status cudaFuncGetAttributes(void* attributes, const void*) {
  struct Attributes {
    std::size_t shared, constants, local;
    int threads, registers, ptx, binary, cache, shared_at_most, carveout;
  };
  // Registers are not known without the kernel's code; as many as let an SM be full.
  const PretendedGpu& gpu = pretended_gpu();
  const int version = gpu.major * 10 + gpu.minor;
  const Attributes found{0, 0, 0, attribute(1), 32, version, version, 0, attribute(8), -1};
  if (attributes == nullptr) return invalid_value;
  std::memcpy(attributes, &found, sizeof(found));
  return success;
}

CLEAVE_CUDA_EXPORT Status cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*,
                                                                        int threads,
                                                                        std::size_t shared) {
  const PretendedGpu& gpu = pretended_gpu();
  if (threads < 1) return invalid_value;
  const int warps = (threads + attribute(10) - 1) / attribute(10);
  const auto by_shared =
      gpu.shared_of_sm / (static_cast<int>(std::min<std::size_t>(shared, 1U << 30U)) + 1024);
  return answer(blocks, std::min({gpu.blocks_of_sm, gpu.warps_of_sm / warps, by_shared}));
}

CLEAVE_CUDA_EXPORT Status cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* kernel, int threads, std::size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared);
}

/// The driver's functions under their own names.
CLEAVE_CUDA_EXPORT Status cuGetProcAddress(const char* name, void** at, int version,
                                           unsigned long long flags);

CLEAVE_CUDA_EXPORT Status cudaGetDriverEntryPoint(const char* name, void** at,
                                                  unsigned long long flags, int* result) {
  constexpr int of_the_runtime = 12000;
  const Status status = cuGetProcAddress(name, at, of_the_runtime, flags);
  if (result != nullptr) *result = status == success ? 0 : 1;
  return success;
}

CLEAVE_CUDA_EXPORT Status cudaGetDriverEntryPointByVersion(const char* name, void** at,
                                                           unsigned version,
                                                           unsigned long long flags, int* result) {
  const Status status = cuGetProcAddress(name, at, static_cast<int>(version), flags);
  if (result != nullptr) *result = status == success ? 0 : 1;
  return success;
}

// What they are called in programs whose threads have default streams of their own.

#define CLEAVE_CUDA_ALSO(name, suffix) \
  CLEAVE_CUDA_EXPORT __attribute__((alias(#name))) decltype(name) name##suffix
CLEAVE_CUDA_ALSO(cudaMemcpyAsync, _ptsz);
CLEAVE_CUDA_ALSO(cudaMemcpy2DAsync, _ptsz);
CLEAVE_CUDA_ALSO(cudaMemsetAsync, _ptsz);
CLEAVE_CUDA_ALSO(cudaMallocAsync, _ptsz);
CLEAVE_CUDA_ALSO(cudaFreeAsync, _ptsz);
CLEAVE_CUDA_ALSO(cudaMallocFromPoolAsync, _ptsz);
CLEAVE_CUDA_ALSO(cudaLaunchKernel, _ptsz);
CLEAVE_CUDA_ALSO(__cudaLaunchKernel, _ptsz);
CLEAVE_CUDA_ALSO(cudaLaunchKernelExC, _ptsz);
CLEAVE_CUDA_ALSO(cudaLaunchCooperativeKernel, _ptsz);
CLEAVE_CUDA_ALSO(cudaLaunchHostFunc, _ptsz);
CLEAVE_CUDA_ALSO(cudaStreamAddCallback, _ptsz);
CLEAVE_CUDA_ALSO(cudaStreamGetPriority, _ptsz);
CLEAVE_CUDA_ALSO(cudaStreamGetFlags, _ptsz);
CLEAVE_CUDA_ALSO(cudaStreamIsCapturing, _ptsz);
CLEAVE_CUDA_ALSO(cudaMemcpyFromSymbolAsync, _ptsz);
CLEAVE_CUDA_ALSO(cudaGetDriverEntryPoint, _ptsz);
CLEAVE_CUDA_ALSO(cudaGetDriverEntryPointByVersion, _ptsz);
CLEAVE_CUDA_ALSO(cudaMemcpy, _ptds);
CLEAVE_CUDA_ALSO(cudaMemcpy2D, _ptds);
CLEAVE_CUDA_ALSO(cudaMemset, _ptds);
CLEAVE_CUDA_ALSO(cudaMemcpyFromSymbol, _ptds);
#undef CLEAVE_CUDA_ALSO
