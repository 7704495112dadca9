// The Python package that reports for jobs: its own tests, and that the program here reads what it
// sends.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include "../cli/program.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "forecast/memory/memory_series.hpp"
#include "forecast/memory/usual_workspace.hpp"
#include "runner/reports/memory_report_line.hpp"

namespace cleave {
namespace {

using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

/// The interpreter: python3, or another from the environment.
std::string interpreter() {
  const char* named = std::getenv("CLEAVE_TEST_PYTHON");
  return named == nullptr ? "python3" : named;
}

/// Runs it in the repository's root with the package available.
Outcome python(const std::string& arguments, const std::string& environment = {}) {
  return shell(
      fmt::format("{} PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=python${{PYTHONPATH:+:$PYTHONPATH}} "
                  "timeout 300 '{}' {}",
                  environment, interpreter(), arguments));
}

std::string cannot_run() {
  const Outcome version = python("-c 'import sys; sys.exit(sys.version_info < (3, 9))'");
  return version.exit_code == 0 ? ""
                                : fmt::format("{} is not there, or older than 3.9", interpreter());
}

/// The datagrams of one program.
class Socket {
 public:
  explicit Socket(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Socket() { ::close(socket_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> found;
    std::string text(2 * longest_report_line, '\0');
    for (ssize_t size = 0; (size = ::recv(socket_, text.data(), text.size(), 0)) > 0;)
      found.emplace_back(text, 0, static_cast<std::size_t>(size));
    return found;
  }

 private:
  int socket_;
};

TEST(PythonPackage, PassesItsOwnTests) {
  if (const auto why = cannot_run(); !why.empty()) GTEST_SKIP() << why;
  const Outcome outcome = python("-m unittest discover -s python/tests");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST(PythonPackage, WorksWithPyTorchItself) {
  if (const auto why = cannot_run(); !why.empty()) GTEST_SKIP() << why;
  const Outcome there = python("-c 'import torch'");
  if (there.exit_code != 0) GTEST_SKIP() << "PyTorch cannot be imported";
  const Outcome outcome = python("python/tests/test_torch.py Real");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err.find("skipped"), std::string::npos) << outcome.err;
}

/// The same numbers as a line that the package did not write.
std::string plain_line(const Json& asked, bool with_iterations) {
  const std::string in_all = with_iterations && !asked[1].is_null()
                                 ? fmt::format(R"("iterations":{},)", asked[1].dump())
                                 : "";
  const std::string context =
      asked[4].is_null() ? "" : fmt::format(R"(,"context_bytes":{})", asked[4].dump());
  return fmt::format(R"({{"iteration":{},{}"requested_bytes":{},"allocated_bytes":{}{}}})",
                     asked[0].dump(), in_all, asked[2].dump(), asked[3].dump(), context);
}

TEST(PythonPackage, SendsNumbersAtEveryEdgeAsTheyAreRead) {
  if (const auto why = cannot_run(); !why.empty()) GTEST_SKIP() << why;
  const Outcome outcome = python("tests/python/edge_lines.py");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::istringstream text(outcome.out);
  int said = 0, silent = 0;
  for (std::string row; std::getline(text, row);) {
    const Json parsed = Json::parse(row);
    const Json& line = parsed["line"];
    const bool whole = parse_report_line(plain_line(parsed["asked"], true), "asked").has_value();
    const bool without = parse_report_line(plain_line(parsed["asked"], false), "asked").has_value();
    // Every number that the reader accepts is sent, the others are not; only an impossible total is
    // left out.
    ASSERT_EQ(line.is_null(), !without) << row;
    ++(line.is_null() ? silent : said);
    if (line.is_null()) continue;
    ASSERT_EQ(line.get<std::string>(), plain_line(parsed["asked"], whole)) << row;
    ASSERT_TRUE(parse_report_line(line.get<std::string>(), "line")) << row;
  }
  EXPECT_GT(said, 1000);
  EXPECT_GT(silent, 1000);
}

TEST(PythonPackage, SendsLinesTheReaderAccepts) {
  if (const auto why = cannot_run(); !why.empty()) GTEST_SKIP() << why;
  const Scratch scratch;
  const Socket socket(scratch.path("reports"));
  const std::string program =
      scratch.write("train.py",
                    "import cleave_report as cleave\n"
                    "MIB = 1 << 20\n"
                    "with cleave.iterations(5, every=0) as step:\n"
                    "    for i in range(1, 6):\n"
                    "        step(requested=i * MIB, allocated=(i + 300) * MIB)\n");
  const Outcome outcome = python(fmt::format("'{}'", program),
                                 fmt::format("CLEAVE_REPORT='{}'", scratch.path("reports")));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto lines = socket.lines();
  ASSERT_EQ(lines.size(), 5U);
  for (std::int64_t i = 1; i <= 5; ++i)
    EXPECT_EQ(lines[static_cast<std::size_t>(i - 1)], report_line({i, 5, MiB{i}, MiB{i + 300}}));
}

// From the allocator of a program to the forecast: the hook's line, its reader, the paper's method.

/// What the program that grows by `per_iteration` MiB from `base` sends, as it is read.
std::vector<MemoryReport> reports_of_growing(const std::string& form, int base, int per_iteration,
                                             int iterations) {
  const Scratch scratch;
  const Outcome outcome =
      python(fmt::format("tests/python/growing_job.py {} {} {} {} '{}'", form, base, per_iteration,
                         iterations, scratch.path("lines")));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::vector<MemoryReport> reports;
  std::istringstream text(outcome.out);
  for (std::string line; std::getline(text, line);) {
    const auto report = parse_report_line(line, "report");
    EXPECT_TRUE(report) << line << ": " << report.error().text();
    if (report) reports.push_back(with_usual_workspace(*report, Architecture::ampere));
  }
  return reports;
}

struct Growing {
  int base, per_iteration, iterations;
  MiB capacity;
  std::int64_t out_of_memory;  // the iteration
};
constexpr MiB usual_context{615};
// What the context does in the ratio shows from small memory; the second is out of memory late.
constexpr Growing growing_jobs[] = {{1000, 60, 200, MiB{9984}, 140},
                                    {500, 20, 200, MiB{4864}, 188}};

TEST(FromHookToForecast, WithTheContextApartGrowthIsForeseenExactlyAndEarly) {
  if (const auto why = cannot_run(); !why.empty()) GTEST_SKIP() << why;
  const auto trend = make_forecaster("trend");
  ASSERT_TRUE(trend);
  for (const Growing& job : growing_jobs) {
    const auto reports = reports_of_growing("parts", job.base, job.per_iteration, job.iterations);
    ASSERT_EQ(reports.size(), static_cast<std::size_t>(job.iterations));
    const Watched watched = watch(trend->get(), reports, job.capacity);
    ASSERT_TRUE(watched.overflow && watched.alarm);
    EXPECT_EQ(reports[*watched.overflow].iteration, job.out_of_memory);
    EXPECT_EQ(reports[*watched.alarm].iteration, 6);
    const MemoryReport& last = reports.back();
    EXPECT_EQ(last.allocated, MiB{job.base + job.iterations * job.per_iteration});
    EXPECT_EQ(last.requested, 4 * last.allocated) << "over and over; what holds them is there once";
    EXPECT_EQ(last.context, usual_context);
    EXPECT_EQ(last.workspace, MiB{9}) << "8.125";
    EXPECT_EQ(watched.said[*watched.alarm]->at_least, last.held()) << "no error at all";
  }
}

TEST(FromHookToForecast, OlderReportsAreReadAndMissIt) {
  if (const auto why = cannot_run(); !why.empty()) GTEST_SKIP() << why;
  const auto trend = make_forecaster("trend");
  ASSERT_TRUE(trend);
  const Growing& job = growing_jobs[1];
  const auto reports = reports_of_growing("older", job.base, job.per_iteration, job.iterations);
  ASSERT_EQ(reports.size(), static_cast<std::size_t>(job.iterations));
  EXPECT_EQ(reports.back().context, std::nullopt);
  EXPECT_EQ(reports.back().held(),
            MiB{job.base + job.iterations * job.per_iteration} + usual_context);
  const Watched watched = watch(trend->get(), reports, job.capacity);
  ASSERT_TRUE(watched.overflow);
  EXPECT_EQ(reports[*watched.overflow].iteration, job.out_of_memory);
  EXPECT_FALSE(watched.restarted()) << "the ratio drifts, as it did before";
}

}  // namespace
}  // namespace cleave
