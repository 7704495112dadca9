// What one GPU or GPU instance really has, measured as *Taming GPU Underutilization via Static
// Partitioning and Fine-grained CPU Offloading*, III-C and III-D, does: its SMs, the bandwidth of
// its memory, and what it reaches over the link to the host, by copy engines and by kernels that
// access host memory themselves. Prints one line of JSON; rates are in GiB/s, GiB are 2^30 bytes.
//
//   nvcc -O2 gpu_probe.cu -o gpu_probe && CUDA_VISIBLE_DEVICES=MIG-... ./gpu_probe

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int repeats = 5;
constexpr std::size_t most_bytes = std::size_t{1} << 29;  // of one array

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

/// Keeps a block busy for this many cycles of its SM.
__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

__global__ void copy(const float4* from, float4* into, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    into[i] = from[i];
}

/// The time of some work on the GPU, in milliseconds.
template <class Work>
float time_of(Work work) {
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  check(cudaEventRecord(begin, nullptr), "cudaEventRecord");
  work();
  check(cudaEventRecord(end, nullptr), "cudaEventRecord");
  check(cudaEventSynchronize(end), "cudaEventSynchronize");
  check(cudaGetLastError(), "kernel");
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
  check(cudaEventDestroy(begin), "cudaEventDestroy");
  check(cudaEventDestroy(end), "cudaEventDestroy");
  return ms;
}

/// The least of several times, after one that does not count.
template <class Work>
float least_time_of(Work work) {
  time_of(work);
  float least = time_of(work);
  for (int i = 1; i < repeats; ++i) {
    const float ms = time_of(work);
    if (ms < least) least = ms;
  }
  return least;
}

/// Blocks that each need an SM alone run at the same time until there is one more than SMs: then
/// they take twice as long.
int count_sms(const cudaDeviceProp& device) {
  const std::size_t shared = device.sharedMemPerBlockOptin;  // more than half of an SM's
  check(cudaFuncSetAttribute(spin, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared)),
        "cudaFuncSetAttribute");
  int khz = 0;
  check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
  const long long cycles = 10LL * khz;  // 10 ms
  const auto blocks = [&](int count) {
    return [=] { spin<<<count, device.maxThreadsPerBlock, shared>>>(cycles); };
  };
  const float one = least_time_of(blocks(1));
  int alone = 1, waits = 2;
  while (time_of(blocks(waits)) < 1.5F * one) {
    alone = waits;
    waits *= 2;
  }
  while (waits - alone > 1) {  // the first takes one round, the second takes two
    const int middle = (alone + waits) / 2;
    (time_of(blocks(middle)) < 1.5F * one ? alone : waits) = middle;
  }
  return alone;
}

double gib_per_s(std::size_t bytes, float ms) {
  return static_cast<double>(bytes) / (1 << 30) / (ms / 1e3);
}

/// What kernels reach; `moved` is how often each byte counts: twice within the instance's memory.
double by_kernel(const void* from, void* into, std::size_t bytes, int moved,
                 const cudaDeviceProp& device) {
  const auto* source = static_cast<const float4*>(from);
  auto* target = static_cast<float4*>(into);
  const int blocks = device.multiProcessorCount * 8;
  const float ms = least_time_of([=] { copy<<<blocks, 512>>>(source, target, bytes / 16); });
  return gib_per_s(bytes * static_cast<std::size_t>(moved), ms);
}

/// What the copy engines reach.
double by_engine(const void* from, void* into, std::size_t bytes, cudaMemcpyKind kind) {
  const float ms = least_time_of(
      [=] { check(cudaMemcpyAsync(into, from, bytes, kind, nullptr), "cudaMemcpyAsync"); });
  return gib_per_s(bytes, ms);
}

}  // namespace

int main() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "no CUDA device");
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  std::size_t bytes = most_bytes;
  while (bytes * 5 / 2 > free) bytes /= 2;
  void *first = nullptr, *second = nullptr, *host = nullptr;
  check(cudaMalloc(&first, bytes), "cudaMalloc");
  check(cudaMalloc(&second, bytes), "cudaMalloc");
  check(cudaMallocHost(&host, bytes), "cudaMallocHost");  // kernels access it by the same address
  check(cudaMemset(first, 1, bytes), "cudaMemset");
  const int sms = count_sms(device);
  const double local = by_kernel(first, second, bytes, 2, device);
  const double direct_in = by_kernel(host, first, bytes, 1, device);
  const double direct_out = by_kernel(first, host, bytes, 1, device);
  const double engine_in = by_engine(host, first, bytes, cudaMemcpyHostToDevice);
  const double engine_out = by_engine(first, host, bytes, cudaMemcpyDeviceToHost);
  std::printf(
      "{\"name\": \"%s\", \"sms\": %d, \"sms_reported\": %d, \"memory_mib\": %zu, \"local\": %.1f, "
      "\"engines_to_device\": %.1f, \"engines_to_host\": %.1f, \"direct_to_device\": %.1f, "
      "\"direct_to_host\": %.1f}\n",
      device.name, sms, device.multiProcessorCount, all >> 20, local, engine_in, engine_out,
      direct_in, direct_out);
  check(cudaFree(first), "cudaFree");
  check(cudaFree(second), "cudaFree");
  check(cudaFreeHost(host), "cudaFreeHost");
  return 0;
}
