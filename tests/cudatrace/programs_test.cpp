// Programs that call CUDA, without a GPU and on a stub that stands for one: peaks and grids are
// known from their sources.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>

#include "../cli/json_of.hpp"
#include "../cli/program.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/places_test.hpp"
#include "cudatrace/core/record.hpp"
#include "runner/reports/memory_report_line.hpp"

namespace cleave {
namespace {

using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

constexpr std::int64_t mebibyte = 1 << 20;

std::string program(const std::string& name) {
  return binary_dir() + "/lib/cleave-cuda-stub/" + name;
}

/// A launch, as a program's source has it.
struct Launch {
  std::string kernel;
  cuda::LaunchShape shape;
  std::uint64_t launches;
};

/// What a program does according to its source.
struct Expected {
  std::string name;
  std::int64_t peak = 0, pinned = 0;
  std::uint64_t unknown_frees = 0, refusals = 0;
  std::vector<Launch> launches;
  int contexts = 1;  // at the same time
};

const std::vector<Expected>& all_programs() {
  static const std::string vectors = "vector_add(float const*, float const*, float*, int)";
  static const std::vector<Expected> all = {
      {"vector_add", 12 * mebibyte, 0, 0, 0, {{vectors, {{4096, 1, 1}, {256, 1, 1}, 0}, 1}}},
      {"vector_add_static", 12 * mebibyte, 0, 0, 0, {{vectors, {{4096, 1, 1}, {256, 1, 1}, 0}, 1}}},
      {"matrix_multiply",
       3 * 4096 * 1000,
       0,
       0,
       0,
       {{"multiply(float const*, float const*, float*, int)",
         {{63, 63, 1}, {16, 16, 1}, 2048},
         10}}},
      {"stencil",
       512 * 64 * 32 + 256 * 128 * 8 + 65536,
       0,
       0,
       0,
       {{"stencil(cudaPitchedPtr)", {{4, 8, 16}, {8, 8, 8}, 0}, 3}}},
      {"stream_ordered",
       15'000'000,
       0,
       0,
       0,
       {{"touch(char*)", {{5, 1, 1}, {128, 1, 1}, 0}, 1},
        {"touch(char*)", {{4, 1, 1}, {128, 1, 1}, 0}, 1},
        {"touch(char*)", {{3, 1, 1}, {128, 1, 1}, 0}, 1},
        {"touch(char*)", {{2, 1, 1}, {128, 1, 1}, 0}, 1},
        {"touch(char*)", {{1, 1, 1}, {128, 1, 1}, 0}, 1}}},
      {"managed",
       4 * mebibyte + 4,
       65536,
       0,
       0,
       {{"visit(int*, int*)", {{1024, 1, 1}, {512, 1, 1}, 0}, 1}}},
      {"threads", 32 * mebibyte, 0, 0, 0, {{"work(int)", {{7, 1, 1}, {96, 1, 1}, 0}, 400}}},
      {"forks", 24 * mebibyte, 0, 0, 0, {{"step()", {{2, 1, 1}, {32, 1, 1}, 0}, 2}}, 2},
      {"careless",
       3 * mebibyte,
       0,
       2,
       1,
       {{"reduce(float*)", {{65536, 1, 1}, {1024, 1, 1}, 0}, 1}}},
      {"driver_only", 37 * mebibyte, 0, 0, 0, {{"scan", {{128, 2, 1}, {64, 4, 1}, 512}, 4}}},
      {"idle", 0, 0, 0, 0, {}}};
  return all;
}

Json dry(const std::string& command, const std::string& options = {}, int exit_code = 0) {
  return json_of(shell("cleave forecast run --json " + options + " -- " + command), exit_code);
}

TEST(CudaPrograms, WithoutAGpuPeaksAndGridsAreExact) {
  for (const Expected& expected : all_programs()) {
    SCOPED_TRACE(expected.name);
    const Json answer = dry(program(expected.name));
    EXPECT_EQ(answer["exit_code"], 0);
    EXPECT_EQ(answer["memory"]["peak_bytes"], expected.peak);
    EXPECT_EQ(answer["memory"]["peak_bytes_of"]["pinned"], expected.pinned);
    EXPECT_EQ(answer["memory"]["needed_mib"],
              (expected.peak + mebibyte - 1) / mebibyte + 615 * expected.contexts);
    EXPECT_EQ(answer["unknown_frees"], expected.unknown_frees);
    EXPECT_EQ(answer["refusals"], expected.refusals);
    ASSERT_EQ(answer["kernels"].size(), expected.launches.size()) << answer.dump(2);
    for (std::size_t i = 0; i < expected.launches.size(); ++i) {
      const Launch& launch = expected.launches[i];
      const Json& seen = answer["kernels"][i];
      EXPECT_EQ(seen["name"], launch.kernel);
      EXPECT_EQ(seen["grid"], Json(launch.shape.grid));
      EXPECT_EQ(seen["block"], Json(launch.shape.block));
      EXPECT_EQ(seen["shared_bytes"], launch.shape.shared_bytes);
      EXPECT_EQ(seen["launches"], launch.launches);
    }
  }
}

/// A program on the stub, followed, with its record in this file.
Outcome live(const std::string& command, const std::string& record,
             const std::string& variables = {}, const std::string& options = {}) {
  return shell(fmt::format(
      "{} CLEAVE_CUDA_RECORD='{}' LD_LIBRARY_PATH='{}' cleave forecast run --live {} -- {}",
      variables, record, binary_dir() + "/lib/cleave-cuda-stub", options, command));
}

TEST(CudaPrograms, FollowedOnAStubPeaksAndGridsAreExact) {
  const Scratch scratch;
  for (const Expected& expected : all_programs()) {
    SCOPED_TRACE(expected.name);
    const std::string file = scratch.path(expected.name);
    const Outcome outcome = live(program(expected.name), file);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    cuda::Record* const record = cuda::map_record(file.c_str());
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(record->peak.value(), expected.peak);
    EXPECT_EQ(record->peak_of[static_cast<std::size_t>(cuda::MemoryKind::pinned)].value(),
              expected.pinned);
    EXPECT_EQ(record->unknown_frees, expected.unknown_frees);
    EXPECT_EQ(record->refusals, expected.refusals);
    cuda::sweep_dead(*record);
    EXPECT_EQ(record->held, 0) << "what a process leaves behind is free";
    std::size_t rows = 0;
    std::uint64_t launches = 0;
    for (const cuda::LaunchRow& row : record->launch) {
      if (row.state != cuda::LaunchRow::written) continue;
      ++rows;
      launches += row.launches;
      EXPECT_TRUE(std::ranges::any_of(expected.launches, [&](const Launch& launch) {
        return launch.shape == row.shape && launch.launches == row.launches;
      })) << row.name.data();
      EXPECT_NE(row.name[0], 0);
    }
    EXPECT_EQ(rows, expected.launches.size());
    EXPECT_EQ(launches, record->launches);
    cuda::unmap_record(record);
  }
}

TEST(CudaPrograms, ThePageShowsWhatComesOut) {
  std::stringstream page;
  page << std::ifstream(source_dir() + "/docs/before-the-run.md").rdbuf();
  const Outcome outcome =
      shell("cd '" + program("") + "' && cleave forecast run --gpu A100-40GB -- ./matrix_multiply");
  EXPECT_NE(page.str().find("```text\n" + outcome.out + "```"), std::string::npos)
      << "docs/before-the-run.md shows something else than\n"
      << outcome.out;
}

TEST(CudaPrograms, AreShownTheGpuThatWasAskedFor) {
  const Json answer = dry(program("grows") + " 100 100 0", "--gpu A100-40GB --profile 1g.5gb", 1);
  EXPECT_EQ(answer["exit_code"], 3);
  // 4,864 MiB less the context are room for 42 times 100.
  EXPECT_EQ(answer["memory"]["peak_bytes"], 4200 * mebibyte);
  EXPECT_EQ(answer["memory"]["refused_bytes"], 4300 * mebibyte);
  EXPECT_EQ(answer["memory"]["needed_mib"], 4300 + 615) << "it died of that demand";
  EXPECT_EQ(answer["profile_for_memory"], "1g.10gb");
  const Json more = dry(program("grows") + " 100 100 0", "--gpu A100-40GB --context 0");
  EXPECT_EQ(more["exit_code"], 0);
  EXPECT_EQ(more["memory"]["needed_mib"], 10000);
}

TEST(CudaPrograms, OneThatTakesTooLongIsStoppedWithItsChildren) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = shell(
      fmt::format("cleave forecast run --json --seconds 0.4s -- sh -c '{} 1000 1 10 & sleep 61.25'",
                  program("grows")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(outcome.exit_code, 1);
  const Json answer = json_of(outcome, 1);
  EXPECT_GE(answer["memory"]["peak_bytes"], 2 * mebibyte) << "what it did until then";
  EXPECT_NE(answer["ended"].get<std::string>().find("time"), std::string::npos);
  EXPECT_NE(shell("pgrep -f 'sleep 61[.]25'").exit_code, 0) << "it is still there";
}

TEST(CudaPrograms, CtrlCStillShowsWhatWasSeen) {
  const Outcome outcome =
      shell(fmt::format("cleave forecast run --json -- {} 1000 1 10 & run=$!\nsleep 0.5; "
                        "kill -TERM $run; wait $run",
                        program("grows")));
  EXPECT_EQ(outcome.exit_code, 143) << outcome.err;
  EXPECT_GE(json_of(outcome, 143)["memory"]["peak_bytes"], mebibyte);
}

TEST(CudaPrograms, BadLinesAreRefused) {
  const auto refused = [](const std::string& arguments) {
    const Outcome outcome = shell("cleave forecast run " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << outcome.out;
    return outcome.err;
  };
  EXPECT_NE(refused("").find("no program is given"), std::string::npos);
  EXPECT_NE(refused("vector_add").find("without -- before it"), std::string::npos);
  EXPECT_NE(refused("-- /no/such/program").find("/no/such/program: No such file"),
            std::string::npos);
  EXPECT_NE(refused("--gpu H1000 -- true").find("--gpu"), std::string::npos);
  EXPECT_NE(refused("--profile 9g.1gb -- true").find("cleave gpu A100-80GB"), std::string::npos);
  EXPECT_NE(refused("--forecast 3GiB -- true").find("--live"), std::string::npos);
  EXPECT_NE(refused("--live --gpu A100-40GB -- true").find("--live"), std::string::npos);
  EXPECT_NE(refused("--live --seconds 5 -- true").find("--seconds"), std::string::npos);
  EXPECT_NE(refused("--live --json -- true").find("--json"), std::string::npos);
  for (const std::string option : {"--context", "--gpu", "--profile", "--live --forecast"})
    EXPECT_NE(refused(option + " '' -- true").find(option.substr(option.rfind('-') - 1)),
              std::string::npos)
        << option;
  const Outcome nowhere = shell("TMPDIR=/no/such/folder cleave forecast run -- true");
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_NE(nowhere.err.find("TMPDIR: there is no folder /no/such/folder"), std::string::npos)
      << nowhere.err;
  const Outcome none = shell("cleave forecast run -- true");
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_NE(none.out.find("no call of CUDA was seen"), std::string::npos) << none.out;
}

// A remark says what was seen, and no other remark denies it.
TEST(CudaPrograms, RemarksAgreeWithEachOther) {
  const Outcome failed = shell("cleave forecast run -- false");
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_NE(failed.out.find("did not end well, and no call of CUDA was seen until then"),
            std::string::npos)
      << failed.out;
  EXPECT_EQ(failed.out.find("figures until then"), std::string::npos) << failed.out;
  const Outcome full =
      shell("cleave forecast run --gpu A30-24GB -- " + program("grows") + " 1 30000 0");
  EXPECT_NE(full.out.find("1 allocation found no room"), std::string::npos) << full.out;
  EXPECT_EQ(full.out.find("no call of CUDA"), std::string::npos) << full.out;
}

// Each in a scope of its own, as two libraries bring them: calls go to the runtime that was asked.
TEST(CudaPrograms, TwoRuntimesInOneProcessStayApart) {
  const Scratch scratch;
  const std::string runtime = scratch.write(
      "runtime.cpp",
      R"(extern "C" int cudaMalloc(void** at, unsigned long) { *at = 0; return MARK; })");
  const std::string source = scratch.write("two.cpp", R"(
#include <dlfcn.h>
int main(int, char** words) {
  for (int i = 1; i <= 2; ++i) {
    void* const library = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return 9;
    using Malloc = int(void**, unsigned long);
    auto* const call = reinterpret_cast<Malloc*>(dlsym(library, "cudaMalloc"));
    void* at = nullptr;
    if (call == nullptr || call(&at, 1) != 40 + i) return i;
  }
  return 0;
}
)");
  const std::string old = scratch.path("libcudart.so.11.0"),
                    young = scratch.path("libcudart.so.12"), built = scratch.path("two");
  const Outcome compiled = shell(fmt::format(
      "g++ -shared -fPIC -DMARK=41 -o {0} {1} && g++ -shared -fPIC -DMARK=42 -o {2} {1} && "
      "g++ -o {3} {4} -ldl",
      old, runtime, young, built, source));
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_EQ(live(fmt::format("{} {} {}", built, old, young), scratch.path("record")).exit_code, 0);
}

TEST(CudaPrograms, SizesBeyondAnyNumberFindNoRoom) {
  const Scratch scratch;
  const std::string source = scratch.write("large.cpp", R"(
#include <dlfcn.h>
#include <cstddef>
#include <cstdint>
int main() {
  using Pitch = int(void**, std::size_t*, std::size_t, std::size_t);
  using Reserve = int(unsigned long long*, std::size_t, std::size_t, unsigned long long,
                      unsigned long long);
  auto* const runtime = reinterpret_cast<Pitch*>(dlsym(RTLD_DEFAULT, "cudaMallocPitch"));
  auto* const reserve = reinterpret_cast<Reserve*>(dlsym(RTLD_DEFAULT, "cuMemAddressReserve"));
  if (runtime == nullptr || reserve == nullptr) return 1;
  void* at = nullptr;
  std::size_t pitch = 0;
  const std::size_t one = 1;
  if (runtime(&at, &pitch, one << 40U, one << 24U) != 2 || at != nullptr) return 2;
  if (runtime(&at, &pitch, (one << 63U) + 512, 2) != 2 || at != nullptr) return 3;
  if (runtime(&at, &pitch, SIZE_MAX, 1) != 2 || at != nullptr) return 4;
  unsigned long long place = 0;
  return reserve(&place, SIZE_MAX, 0, 0, 0) == 2 && place == 0 ? 0 : 5;
}
)");
  const std::string built = scratch.path("large");
  const Outcome compiled = shell("g++ -o " + built + " " + source + " -ldl");
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const Json answer = dry(built);
  EXPECT_EQ(answer["exit_code"], 0);
  EXPECT_EQ(answer["memory"]["peak_bytes"], 0);
}

/// The socket that CLEAVE_REPORT names.
class Reports {
 public:
  explicit Reports(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Reports() { ::close(socket_); }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  [[nodiscard]] std::vector<MemoryReport> all() const {
    std::vector<MemoryReport> reports;
    char line[2 * longest_report_line];
    for (ssize_t size = 0; (size = ::recv(socket_, line, sizeof(line), 0)) > 0;) {
      const auto report = parse_report_line({line, static_cast<std::size_t>(size)}, "report");
      EXPECT_TRUE(report) << report.error().text();
      if (report) reports.push_back(*report);
    }
    return reports;
  }

 private:
  int socket_;
};

TEST(CudaPrograms, ReportAsTheyRun) {
  const Scratch scratch;
  const std::string path = scratch.path("report");
  const Reports reports(path);
  const Outcome outcome = live(program("grows") + " 9 100 60", scratch.path("record"),
                               "CUDA_VISIBLE_DEVICES=MIG-1 CLEAVE_REPORT='" + path + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto all = reports.all();
  ASSERT_GE(all.size(), 5U);
  EXPECT_LE(all.size(), 24U) << "at most one for each growth, and ten a second";
  EXPECT_EQ(all.front().iteration, 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].context, MiB{300}) << "the stub's";
    EXPECT_EQ(all[i].requested, all[i].allocated);
    EXPECT_EQ(all[i].workspace, MiB{0});
    if (i == 0) continue;
    EXPECT_GE(all[i].iteration, all[i - 1].iteration);
    EXPECT_GE(all[i].allocated, all[i - 1].allocated);
  }
  EXPECT_EQ(all.back().allocated, MiB{900});
}

TEST(CudaPrograms, ReportTheContextsOfAllProcesses) {
  const Scratch scratch;
  const std::string path = scratch.path("report");
  const Reports reports(path);
  const Outcome outcome =
      live(program("forks"), scratch.path("record"), "CLEAVE_REPORT='" + path + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::optional<MiB> most;
  for (const MemoryReport& report : reports.all())
    most = std::max(most.value_or(MiB{0}), report.context.value_or(MiB{0}));
  EXPECT_EQ(most, MiB{2 * 615});
}

TEST(CudaPrograms, WhatAKilledChildHeldIsNotReportedLater) {
  const Scratch scratch;
  const std::string path = scratch.path("report");
  const Reports reports(path);
  const Outcome outcome = live(program("outlives"), scratch.path("record"),
                               "CUDA_VISIBLE_DEVICES=MIG-1 CLEAVE_REPORT='" + path + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto all = reports.all();
  ASSERT_GE(all.size(), 4U);
  EXPECT_TRUE(std::ranges::any_of(
      all, [](const MemoryReport& report) { return report.allocated == MiB{24}; }));
  EXPECT_EQ(all.back().allocated, MiB{8});
}

TEST(CudaPrograms, OneThatOutgrowsItsForecastSaysSo) {
  const Scratch scratch;
  const Json said = dry(program("grows") + " 5 100 0");
  EXPECT_EQ(said["memory"]["peak_bytes"], 500 * mebibyte);
  const std::string forecast = "--forecast 500MiB";
  const Outcome within = live(program("grows") + " 5 100 0", scratch.path("within"), "", forecast);
  EXPECT_EQ(within.err, "");
  const Outcome beyond = live(program("grows") + " 7 100 0", scratch.path("beyond"), "", forecast);
  EXPECT_EQ(beyond.err,
            "cleave: this program holds 600 MiB on the GPU, more than the 500 MiB of its "
            "forecast\n");
  EXPECT_EQ(beyond.exit_code, 0) << "it goes on";
}

TEST(CudaPrograms, ADemandThatWasNotMetIsReportedAtTheEnd) {
  const Scratch scratch;
  const std::string path = scratch.path("report");
  const Reports reports(path);
  const Outcome outcome = live(program("grows") + " 9 300 0", scratch.path("record"),
                               "CLEAVE_REPORT='" + path + "' STUB_MEMORY_MIB=1000");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err, "no more after 3\n") << "words that no framework has";
  const auto all = reports.all();
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(all.back().beyond(MiB{1000}));
  EXPECT_EQ(all.back().allocated, MiB{1200});
}

TEST(CudaPrograms, WhatTheyAskTheirLoaderIsStillAnswered) {
  const Scratch scratch;
  const std::string source = scratch.write("next.cpp", R"(
#include <dlfcn.h>
#include <cstdio>
extern "C" int puts(const char*) { return 77; }
int main() {
  // The caller's own puts must not be what follows it.
  void* const next = dlsym(RTLD_NEXT, "puts");
  void* const none = dlsym(RTLD_DEFAULT, "cuNoSuchFunction");
  return next != nullptr && next != reinterpret_cast<void*>(puts) && none == nullptr ? 0 : 1;
}
)");
  const std::string built = scratch.path("next");
  const Outcome compiled = shell("g++ -rdynamic -o " + built + " " + source);
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_EQ(live(built, scratch.path("record")).exit_code, 0);
  EXPECT_EQ(live("bash -c 'echo fine; exit 5'", scratch.path("other")).exit_code, 5);
}

}  // namespace
}  // namespace cleave
