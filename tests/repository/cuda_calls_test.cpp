// The allocations that are found in sources, followed in programs and answered without a GPU are
// the same. The rooms share no table: what is loaded into other people's programs includes nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "source_tree.hpp"

namespace cleave::repository {
namespace {

bool allocates(std::string_view call) {
  for (const std::string_view start :
       {"cudaMalloc", "cudaHostAlloc", "cuMemAlloc", "cuMemHostAlloc", "cuMemCreate"})
    if (call.starts_with(start)) return true;
  return call.starts_with("cuArray") && call.find("Create") != std::string_view::npos;
}

/// The calls that begin right behind `mark` on some line, without the form for own streams.
std::set<std::string> calls_behind(std::string_view mark, const std::vector<std::string>& files) {
  std::set<std::string> calls;
  for (const SourceFile& file : cpp_under({"src"})) {
    if (std::ranges::find(files, file.path) == files.end()) continue;
    for (const std::string& line : file.lines)
      for (std::size_t at = line.find(mark); at != std::string::npos;
           at = line.find(mark, at + 1)) {
        const std::size_t begin = at + mark.size();
        std::string call = line.substr(begin, line.find_first_of("(,)\" ", begin) - begin);
        if (call.ends_with("_ptsz")) call.resize(call.size() - 5);
        if (allocates(call)) calls.insert(call);
      }
  }
  return calls;
}

TEST(CudaCalls, AllocationsInSourcesAreThoseThatAreFollowed) {
  const auto found = calls_behind("{\"", {"src/forecast/source/cuda_ir.cpp"});
  EXPECT_GT(found.size(), 15U);
  EXPECT_EQ(found, calls_behind("CLEAVE_CUDA_DECLARE(", {"src/cudatrace/live/export_runtime.cpp",
                                                         "src/cudatrace/live/export_driver.cpp"}));
  EXPECT_EQ(found, calls_behind("Status ", {"src/cudatrace/dry/export_runtime.cpp",
                                            "src/cudatrace/dry/export_driver.cpp"}));
}

}  // namespace
}  // namespace cleave::repository
