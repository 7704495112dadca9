// Calls of CUDA in LLVM IR, written here by hand in the forms that clang gives them.

#include "forecast/source/cuda_ir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "base/places_test.hpp"

namespace cleave {
namespace {

/// One function of the name with these lines.
std::string function_text(const std::string& name, const std::string& lines) {
  return "define dso_local i32 @" + name + "(i32 noundef %0) #1 personality ptr @p {\n" + lines +
         "  ret i32 0\n}\n";
}

SourceModule module_of(const std::string& functions) {
  const auto module = read_cuda_ir("source_filename = \"a.cu\"\n" + functions, "a.cu");
  EXPECT_TRUE(module) << module.error().text();
  return module ? *module : SourceModule{};
}

/// What `main` with these lines does.
SourceFunction main_of(const std::string& lines) {
  const SourceModule module = module_of(function_text("main", lines));
  EXPECT_EQ(module.functions.size(), 1U);
  return module.functions.empty() ? SourceFunction{} : module.functions.front();
}

/// The size that one call asks for, of calls that allocate.
std::optional<std::int64_t> bytes_of(const std::string& call) {
  const SourceFunction found = main_of("  %5 = call noundef i32 @" + call + "\n");
  EXPECT_EQ(found.allocations.size(), 1U) << call;
  return found.allocations.empty() ? std::nullopt : found.allocations.front().bytes;
}

TEST(CudaIr, ConstantSizesAreRead) {
  EXPECT_EQ(bytes_of("cudaMalloc(ptr noundef nonnull %1, i64 noundef 4194304) #5"), 4194304);
  EXPECT_EQ(bytes_of("cudaMallocAsync_ptsz(ptr %1, i64 64, ptr null)"), 64);
  EXPECT_EQ(bytes_of("cudaMallocManaged(ptr %1, i64 12, i32 1)"), 12);
  EXPECT_EQ(bytes_of("cudaMallocPitch(ptr %1, ptr %2, i64 noundef 513, i64 10)"), 10240)
      << "rows begin at multiples of 512";
  EXPECT_EQ(bytes_of("cleave_cudaMalloc3D(ptr %1, i64 600, i64 2, i64 3)"), 6144);
  EXPECT_EQ(bytes_of("cleave_cudaMallocArray(ptr %1, i64 4, i64 64, i64 0)"), 256)
      << "an array of one dimension has the height 0";
  EXPECT_EQ(bytes_of("cudaMalloc(ptr getelementptr (i8, ptr @x, i64 8), i64 96)"), 96);
  EXPECT_EQ(bytes_of("\"cudaMalloc\"(ptr %1, i64 5)"), 5);
}

TEST(CudaIr, OtherSizesAreUnknown) {
  EXPECT_EQ(bytes_of("cudaMalloc(ptr %1, i64 noundef %21)"), std::nullopt);
  EXPECT_EQ(bytes_of("cudaMalloc(ptr %1, i64 -1)"), std::nullopt);
  EXPECT_EQ(bytes_of("cudaMalloc(ptr %1, i64 poison)"), std::nullopt);
  EXPECT_EQ(bytes_of("cudaMalloc(ptr %1)"), std::nullopt);
  EXPECT_EQ(bytes_of("cudaMalloc(ptr %1, i64 5"), std::nullopt) << "the call does not end";
  EXPECT_EQ(bytes_of("cudaMalloc(ptr %1, i64 99999999999999999999)"), std::nullopt);
  EXPECT_EQ(bytes_of("cudaMalloc3D(ptr %1, ptr byval(%s) %2)"), std::nullopt);
  EXPECT_EQ(bytes_of("cudaMallocPitch(ptr %1, ptr %2, i64 9223372036854775807, i64 1)"),
            std::nullopt);
  EXPECT_EQ(bytes_of("cleave_cudaMalloc3D(ptr %1, i64 4294967296, i64 4294967296, i64 3)"),
            std::nullopt)
      << "the product is more than 64 bits hold";
}

TEST(CudaIr, WhereAndWhat) {
  const SourceFunction found = main_of(
      "  %5 = invoke i32 @cudaHostAlloc(ptr %1, i64 7, i32 0)\n"
      "          to label %9 unwind label %6\n"
      "  %7 = tail call i32 @cudaFree(ptr %1)\n"
      "  %8 = call i32 %5(ptr @cudaMalloc)\n"
      "  %9 = call i32 (ptr, ...) @printf(ptr @text)\n"
      "  store ptr @cudaMalloc, ptr %1\n"
      "  ; call i32 @nothing()\n"
      "  %3 = call i32 @cudaFreeAsync_ptsz(ptr %1, ptr null)\n");
  EXPECT_EQ(found.allocations,
            (std::vector<SourceAllocation>{{"cudaHostAlloc", SourceMemory::pinned, 7}}));
  EXPECT_EQ(found.frees, 2U);
  EXPECT_TRUE(std::ranges::count(found.references, "printf") == 1);
}

const std::string configured =
    "(i64 34359738384, i32 2, i64 4294967552, i32 1, i64 noundef 1024, ptr noundef null)\n";
const SourceLaunch launched{"saxpy(float, float*)", SourceShape{16, 8, 2}, SourceShape{256, 1, 1},
                            1024};
const std::string stub = "@_Z20__device_stub__saxpyfPf";

TEST(CudaIr, LaunchesInEveryForm) {
  EXPECT_EQ(main_of("  %3 = call i32 @cudaConfigureCall" + configured +
                    "  %4 = call i32 @cudaLaunch(ptr nonnull " + stub + ")\n")
                .launches,
            std::vector{launched});
  EXPECT_EQ(main_of("  %3 = call i32 @__cudaPushCallConfiguration" + configured +
                    "  %4 = call i32 @cudaLaunchKernel(ptr " + stub +
                    ", i64 %1, i32 %2, i64 %5, i32 %6, ptr %7, i64 %8, ptr %9)\n")
                .launches,
            std::vector{launched});
  EXPECT_EQ(main_of("  %3 = call i32 @__cudaPushCallConfiguration" + configured + "  call void " +
                    stub + "(float 2.0, ptr %1)\n")
                .launches,
            std::vector{launched});
  EXPECT_EQ(main_of("  %4 = call i32 @cudaLaunchKernel(ptr " + stub +
                    ", i64 34359738384, i32 2, i64 4294967552, i32 1, ptr %7, i64 1024, ptr %9)\n")
                .launches,
            std::vector{launched})
      << "a program may call it itself";
}

TEST(CudaIr, ShapesThatDependOnDataAreUnknown) {
  SourceLaunch partly = launched;
  partly.grid.reset();
  EXPECT_EQ(main_of("  %3 = call i32 @cudaConfigureCall(i64 %9, i32 1, i64 4294967552, i32 1, i64 "
                    "1024, ptr null)\n  %4 = call i32 @cudaLaunch(ptr " +
                    stub + ")\n")
                .launches,
            std::vector{partly});
  const std::string configure = "  %3 = call i32 @cudaConfigureCall" + configured,
                    launch = "  %4 = call i32 @cudaLaunch(ptr " + stub + ")\n";
  const SourceLaunch unknown{launched.kernel, {}, {}, {}};
  EXPECT_EQ(main_of(configure + configure + launch + launch).launches,
            (std::vector{unknown, unknown}))
      << "which shape belongs to which launch is not known";
  EXPECT_TRUE(module_of(function_text("_Z20__device_stub__saxpyfPf", launch))
                  .functions.front()
                  .launches.empty())
      << "the kernel's own stub is not a launch";
}

TEST(CudaIr, MainDecidesWhichFunctionsCount) {
  const std::string allocate = "  %5 = call i32 @cudaMalloc(ptr %1, i64 8)\n";
  const auto names = [](const std::vector<SourceModule>& modules) {
    std::vector<std::string> all;
    for (const SourceModule& module : modules)
      for (const SourceFunction& function : module.functions) all.push_back(function.name);
    return all;
  };
  std::vector<SourceModule> modules = {
      module_of("@table = global [1 x ptr] [ptr @in_table]\n" +
                function_text("main", "  %3 = call i32 @other()\n") +
                function_text("copied", allocate) + function_text("in_table", allocate)),
      module_of(function_text("other", "  %3 = call i32 @next()\n") +
                function_text("next", allocate))};
  keep_what_main_reaches(modules);
  EXPECT_EQ(names(modules), (std::vector<std::string>{"main", "in_table", "other", "next"}));
  modules = {module_of(function_text("copied", allocate))};
  keep_what_main_reaches(modules);
  EXPECT_EQ(names(modules), std::vector<std::string>{"copied"}) << "of a library all count";
}

TEST(CudaIr, WhatIsNotWholeIrIsRefused) {
  const auto message = [](const std::string& text) {
    const auto module = read_cuda_ir(text, "a.cu");
    return module ? std::string() : module.error().text();
  };
  EXPECT_NE(message("").find("not LLVM IR"), std::string::npos);
  EXPECT_NE(message("int main() {}\n").find("not LLVM IR"), std::string::npos);
  const std::string whole = "source_filename = \"a\"\n" + function_text("main", "");
  EXPECT_EQ(message(whole), "");
  EXPECT_NE(message(whole.substr(0, whole.size() - 2)).find("does not end"), std::string::npos);
  EXPECT_NE(message("define i32 @a() {\n" + whole).find("line 3"), std::string::npos);
}

TEST(CudaIr, KnowsEveryAllocationThatRunningProgramsAreFollowedIn) {
  const auto known = known_allocation_calls();
  std::size_t found = 0;
  for (const char* file : {"runtime", "driver"}) {
    std::stringstream text;
    text << std::ifstream(source_dir() + "/src/cudatrace/live/export_" + file + ".cpp").rdbuf();
    const std::string all = text.str();
    const std::regex row(
        R"(CLEAVE_CUDA_ROW\((cudaMalloc\w*|cudaHostAlloc|cuMem(Host)?Alloc\w*|cuMemCreate|)"
        R"(cuArray\w*Create\w*)\))");
    for (std::sregex_iterator at(all.begin(), all.end(), row), end; at != end; ++at) {
      std::string name = (*at)[1];
      if (name.ends_with("_ptsz")) name.resize(name.size() - 5);
      EXPECT_EQ(std::ranges::count(known, name), 1) << name;
      ++found;
    }
  }
  EXPECT_GT(found, 20U);
}

}  // namespace
}  // namespace cleave
