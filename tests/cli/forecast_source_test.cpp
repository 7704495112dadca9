// `cleave forecast source` with a real clang, where there is one.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/places_test.hpp"
#include "json_of.hpp"
#include "program.hpp"

namespace cleave::testing_program {
namespace {

constexpr const char* program = R"(
#include <cuda_runtime.h>
#include <cmath>
#ifndef ROWS
#define ROWS 1024
#endif
template <class T>
__global__ void scale(T* x, T by) {
  __shared__ T part[64];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = sqrtf(x[i]) * by;
  __syncthreads();
  atomicAdd(x, part[0]);
}
void copied(float** at) { cudaMalloc(at, 1000); }
void unused(size_t n) { void* at; cudaMalloc(&at, n); }
int main(int argc, char**) {
  float *a, *b, *c, *d;
  size_t pitch;
  cudaPitchedPtr box;
  cudaArray_t array;
  const auto format = cudaCreateChannelDesc<float>();
  cudaMalloc(&a, ROWS * 1024 * sizeof(float));
  cudaMallocPitch(&b, &pitch, 100, 10);
  cudaMalloc3D(&box, make_cudaExtent(600, 2, 3));
  cudaMallocArray(&array, &format, 64, 32);
  cudaMallocHost(&c, 77);
  copied(&d);
  scale<<<dim3(ROWS / 4, 8), 64>>>(a, 2.f);
  scale<<<argc, 64>>>(b, std::sqrt(2.f));
  cudaFree(a);
}
)";

class ForecastSource : public ::testing::Test {
 protected:
  void SetUp() override {
    if (shell("clang++-19 --version").exit_code != 0)
      GTEST_SKIP() << "clang++-19 is not installed: no source can be compiled";
  }
  Scratch scratch;
};

TEST_F(ForecastSource, SizesAndGridsThatTheCompilerKnows) {
  const std::string file = scratch.write("a.cu", program);
  const Json answer = json_of(cleave("forecast source --json --gpu A100-40GB " + file));
  EXPECT_EQ(answer["unknown"], 0) << answer.dump(2);
  EXPECT_EQ(answer["gpu_bytes"], 4194304 + 10 * 512 + 6 * 1024 + 4 * 64 * 32 + 1000);
  EXPECT_EQ(answer["pinned_bytes"], 77);
  EXPECT_EQ(answer["frees"], 1);
  EXPECT_EQ(answer["needed_mib"], 5 + 615);
  EXPECT_EQ(answer["profile"], "1g.5gb");
  ASSERT_EQ(answer["launches"].size(), 2U);
  const Json& largest = answer["launches"][0];
  EXPECT_EQ(largest["kernel"], "void scale<float>(float*, float)");
  EXPECT_EQ(largest["grid"], (Json{256, 8, 1}));
  EXPECT_EQ(largest["block"], (Json{64, 1, 1}));
  EXPECT_EQ(largest["sms_needed"], 64) << "2048 blocks, 32 on an SM";
  EXPECT_TRUE(answer["launches"][1]["grid"].is_null()) << "it depends on data";
  EXPECT_EQ(answer["launches"][1]["block"], (Json{64, 1, 1}));
  const Json newer =
      json_of(cleave("forecast source --json " + file + " -- -Xclang -target-sdk-version=12.0"));
  EXPECT_EQ(newer["launches"][0]["grid"], largest["grid"]) << "launches of later toolkits";
}

TEST_F(ForecastSource, ClangGetsItsArgumentsAndSaysWhatIsWrong) {
  const std::string file = scratch.write("a.cu", program);
  const Json unknown = json_of(cleave("forecast source --json " + file + " -- '-DROWS=argc'"));
  EXPECT_EQ(unknown["unknown"], 1);
  EXPECT_TRUE(unknown["needed_mib"].is_null());
  EXPECT_TRUE(unknown["profile"].is_null());
  const Outcome text = cleave("forecast source " + file + " -- '-DROWS=argc'");
  EXPECT_NE(text.out.find("the profile depends on data"), std::string::npos) << text.out;
  const Outcome wrong =
      cleave("forecast source " + scratch.write("b.cu", "int main() { return nothing; }"));
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("undeclared identifier 'nothing'"), std::string::npos) << wrong.err;
  EXPECT_NE(wrong.err.find("b.cu: clang does not compile it"), std::string::npos) << wrong.err;
}

TEST_F(ForecastSource, ThePageShowsWhatComesOut) {
  std::stringstream page;
  page << std::ifstream(source_dir() + "/docs/before-the-run.md").rdbuf();
  const std::string line = "cleave forecast source --gpu A100-40GB examples/sources/saxpy.cu";
  const Outcome outcome = shell(line);
  EXPECT_NE(page.str().find(line + "\n"), std::string::npos);
  EXPECT_NE(page.str().find("```text\n" + outcome.out + "```"), std::string::npos)
      << "docs/before-the-run.md shows something else than\n"
      << outcome.out;
}

TEST(ForecastSourceLines, BadOnesAreRefused) {
  const Scratch scratch;
  const std::string file = scratch.write("a.cu", program);
  const auto refused = [](const std::string& arguments, const std::string& message) {
    const Outcome outcome = cleave("forecast source " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.command;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  };
  refused("", "FILE");
  refused(scratch.path("none.cu"), "there is no such file");
  refused(file + " --gpu H1000", "--gpu");
  refused(file + " --clang /no/such/clang", "install clang-19, or name another clang with --clang");
  refused(file + " --clang true", "wrote no LLVM IR");
}

}  // namespace
}  // namespace cleave::testing_program
