// Messages of programs that ran out of GPU memory, and others that only look similar.

#include "runner/reports/out_of_memory_text.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace cleave {
namespace {

TEST(OutOfMemory, EveryFrameworkIsRecognisedByItsOwnWords) {
  for (const DyingWords& words : dying_words()) {
    std::optional<OutOfMemoryMark> mark;
    const std::string message = words.message({MiB{4864}, MiB{4000}, MiB{2048}});
    EXPECT_TRUE(message.ends_with('\n'));
    int lines = 0;
    for (const std::string_view line : split(message, '\n'))
      if (const auto here = recognise_out_of_memory(line)) {
        mark = here;
        ++lines;
      }
    ASSERT_TRUE(mark) << message;
    EXPECT_EQ(lines, 1);
    EXPECT_EQ(mark->framework, words.framework);
    if (mark->requested) {
      EXPECT_EQ(*mark->requested, MiB{2048});
    }
    EXPECT_NE(words.exit_code, 0);
    EXPECT_EQ(find_dying_words(words.framework), &words);
  }
  EXPECT_EQ(find_dying_words("caffe"), nullptr);
}

struct Seen {
  std::string_view line, framework;
  std::optional<MiB> requested;
};

// Publicly known messages, written out by hand.
TEST(OutOfMemory, KnowsTheShapesOfSeveralVersions) {
  const Seen seen[] = {
      {"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 4.75 GiB total "
       "capacity; 3.90 "
       "GiB already allocated; 10.50 MiB free; 4.01 GiB reserved in total by PyTorch)",
       "pytorch", MiB{20}},
      {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a "
       "total "
       "capacty "
       "of 9.50 GiB of which 1.12 GiB is free.",
       "pytorch", MiB{1536}},
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 KiB. GPU 0 has",
       "pytorch", MiB{1}},
      {"RuntimeError: CUDA error: out of memory", "pytorch", {}},
      {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
       "pytorch",
       {}},
      {"tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node "
       "__wrapped__Mul}} OOM "
       "when allocating tensor with shape[8,8] and type float on "
       "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Mul]",
       "tensorflow",
       {}},
      {"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
       "allocate "
       "4294967296 bytes.",
       "jax", MiB{4096}},
      {"XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory trying to allocate 1048577 bytes", "jax",
       MiB{2}},
      {"RESOURCE_EXHAUSTED: Failed to allocate request for 2.50GiB (2684354560B) on device ordinal "
       "0",
       "jax", MiB{2560}},
      {"CUDA error at bandwidthTest.cu:686 code=2(cudaErrorMemoryAllocation) \"cudaMalloc(&p, n)\"",
       "cuda",
       {}},
      {"terminate called after throwing an instance of 'thrust::system::system_error'  what():  "
       "out of "
       "memory",
       "cuda",
       {}},
      {"what():  std::bad_alloc: cudaErrorMemoryAllocation: out of memory", "cuda", {}},
      {"CUDA driver error 2: CUDA_ERROR_OUT_OF_MEMORY", "cuda", {}},
      {"cudaMalloc failed: out of memory", "cuda", {}},
  };
  for (const Seen& each : seen) {
    const auto mark = recognise_out_of_memory(each.line);
    ASSERT_TRUE(mark) << each.line;
    EXPECT_EQ(mark->framework, each.framework) << each.line;
    EXPECT_EQ(mark->requested, each.requested) << each.line;
  }
}

TEST(OutOfMemory, OtherFailuresAreNot) {
  for (const char* line : {
           "",
           "MemoryError",
           "Out of memory: Killed process 4711 (python3)",
           "oom-kill:constraint=CONSTRAINT_MEMCG",
           "std::bad_alloc",
           "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB",
           "RuntimeError: CUDA error: device-side assert triggered",
           "RuntimeError: CUDA error: an illegal memory access was encountered",
           "RuntimeError: [enforce fail at alloc_cpu.cpp:75] DefaultCPUAllocator: can't allocate "
           "memory",
           "failed to allocate 3.00GiB (3221225472 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: "
           "out of "
           "memory",
           "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB with "
           "freed_by_count=0. The "
           "caller "
           "indicates that this is not a failure, but this may mean that there could be "
           "performance gains",
           "OOM when allocating tensor with shape[8] and type float on /job:localhost/device:CPU:0 "
           "by "
           "allocator cpu",
           "XlaRuntimeError: INTERNAL: Failed to load in-memory CUBIN",
           "CUDA_ERROR_NO_DEVICE: no device",
           "epoch 3: out of memory bandwidth",
       })
    EXPECT_FALSE(recognise_out_of_memory(line)) << line;
}

TEST(OutOfMemory, SizesThatMakeNoSenseAreNotTold) {
  for (const char* line :
       {"CUDA out of memory. Tried to allocate ", "CUDA out of memory. Tried to allocate GiB",
        "CUDA out of memory. Tried to allocate 5", "CUDA out of memory. Tried to allocate 5 PB",
        "CUDA out of memory. Tried to allocate 999999999999999999999999999 GiB",
        "CUDA out of memory. Tried to allocate 1.2.3 GiB"}) {
    const auto mark = recognise_out_of_memory(line);
    ASSERT_TRUE(mark) << line;
    EXPECT_FALSE(mark->requested) << line;
  }
}

}  // namespace
}  // namespace cleave
