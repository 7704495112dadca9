// GPU-hours of traces: what was read is what became jobs and what was left out, and all of it is
// what the file says, as awk counts it.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/text.hpp"
#include "simulate/traces/trace.hpp"

namespace cleave {
namespace {

/// The number that a shell command prints.
std::optional<double> number_from(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string output;
  std::array<char, 256> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
  return ::pclose(pipe) == 0 ? parse_number(trimmed(output)) : std::nullopt;
}

struct TraceFile {
  const char *name, *format, *file, *awk;  // which prints the GPU-hours of the lines
};
constexpr TraceFile files[] = {
    {"alibaba2023", "alibaba2023",
     "/../shared/data/alibaba-gpu-v2023/openb_pod_list_default.csv.gz",
     "-F, 'NR > 1 && $10 != \"\" && $11 != \"\" { h += $4 * $5 / 1000 * ($10 - $11) / 3600 } "
     "END { printf \"%.9f\", h }'"},
    {"philly", "philly", "/../shared/data/philly/philly.csv.gz",
     "-F, 'NR > 1 { h += $2 * $3 / 3600 } END { printf \"%.9f\", h }'"},
    {"swf", "swf", "/examples/traces/log.swf",
     "'!/^;/ && $4 > 0 { h += ($5 > 0 ? $5 : $8 > 0 ? $8 : 0) * $4 / 3600 } "
     "END { printf \"%.9f\", h }'"},
    {"sacct", "sacct", "/examples/traces/sacct.txt",
     "-F'|' '$1 ~ /^[0-9_]+$/ && match($8, /gres\\/gpu=[0-9]+/) "
     "{ n = substr($8, RSTART + 9, RLENGTH - 9); days = 0; time = $6; "
     "if (split($6, d, \"-\") == 2) { days = d[1]; time = d[2] } split(time, t, \":\"); "
     "h += n * (24 * days + t[1] + t[2] / 60 + t[3] / 3600) } END { printf \"%.9f\", h }'"},
};

class GpuHours : public testing::TestWithParam<TraceFile> {};

TEST_P(GpuHours, AreThoseOfTheFile) {
  const TraceFile& trace = GetParam();
  const std::string path = source_dir() + trace.file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const auto counted = number_from(fmt::format("zcat -f '{}' | awk {}", path, trace.awk));
  if (!counted) GTEST_SKIP() << "awk or zcat is not here";
  ASSERT_GT(*counted, 1);
  for (const SeveralGpus several :
       {SeveralGpus::gpus, SeveralGpus::instances, SeveralGpus::left_out}) {
    TraceOptions options;
    options.several = several;
    const auto workload = read_trace(fmt::format("{}:{}", trace.format, path), options);
    ASSERT_TRUE(workload) << workload.error().text();
    const double close = 1e-9 * *counted;
    EXPECT_NEAR(workload->gpu_hours_read, *counted, close);
    double kept = 0, left = 0;
    std::size_t records = workload->jobs.size();
    for (const Job& job : workload->jobs) kept += workload->gpu_hours_of(job);
    for (const ReasonCount& entry : workload->left_out) {
      left += entry.gpu_hours;
      records += entry.count;
    }
    EXPECT_NEAR(kept + left, *counted, close);
    EXPECT_EQ(records, workload->read);
    const bool leaves_out = several == SeveralGpus::left_out;
    EXPECT_EQ(leaves_out, std::ranges::find(workload->left_out, "several GPUs",
                                            &ReasonCount::reason) != workload->left_out.end());
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, GpuHours, testing::ValuesIn(files),
                         [](const auto& tested) { return std::string(tested.param.name); });

// A share that was drawn is not what the trace records.
TEST(DrawnShares, UseLessThanTheTraceRecords) {
  const std::string path = source_dir() + "/../shared/data/philly/philly.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  TraceOptions options;
  options.limit = 2000;
  const auto whole = read_trace("philly:" + path, options);
  options.shares = Shares::alibaba;
  const auto drawn = read_trace("philly:" + path, options);
  ASSERT_TRUE(whole && drawn);
  EXPECT_EQ(whole->gpu_hours_read, drawn->gpu_hours_read);
  double kept = 0;
  for (const Job& job : drawn->jobs) kept += drawn->gpu_hours_of(job);
  EXPECT_LT(kept, drawn->gpu_hours_read);
}

}  // namespace
}  // namespace cleave
