// The day of a site's engineer, word by word as docs/comparing.md has it: a year of what Slurm
// accounted, made from a seed, with jobs of several GPUs, torn lines and the use of GPUs, compared
// under four schedulers with what people keep of it.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/places_test.hpp"
#include "base/random.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

constexpr int jobs_in_year = 6000;
constexpr double year_s = 365 * 86400.0;

/// What was written, as the answer must count it.
struct Year {
  std::string text;
  std::size_t with_gpu = 0, several = 0, torn = 0, sized = 0, steps = 0, without_gpu = 0;
  double gpu_hours = 0;
};

/// In the week people submit by day.
double submitted_at(Random& random) {
  while (true) {
    const double at = random.uniform() * year_s;
    const double hour = at / 3600 - 24 * std::floor(at / 86400);
    if (random.uniform() < (hour > 8 && hour < 20 ? 1.0 : 0.3)) return at;
  }
}

void add_job(Year& year, Random& random, int number) {
  constexpr int widths[] = {1, 2, 4, 8};
  const bool no_gpu = random.uniform() < 0.15;
  const int gpus = widths[random.weighted(std::array{0.8, 0.08, 0.07, 0.05})];
  const auto submit = static_cast<long>(1'704'067'200 + submitted_at(random));
  const auto seconds = static_cast<long>(60 + random.exponential(18'000));
  const std::string times = fmt::format("{}|{}|{}|COMPLETED", submit, submit + 30, seconds);
  const std::string tres =
      no_gpu ? fmt::format("cpu=8,mem=32G,node=1")
             : fmt::format("cpu={},gres/gpu={},mem={}G,node=1", 8 * gpus, gpus, 64 * gpus);
  year.text += fmt::format("{0}|{0}|n{1}|{2}|{3}||\n", number, number % 8, times, tres);
  if (no_gpu) {
    ++year.without_gpu;
    return;
  }
  ++year.with_gpu;
  year.several += gpus > 1 ? 1 : 0;
  year.gpu_hours += static_cast<double>(gpus) * static_cast<double>(seconds) / 3600;
  // Two of three jobs ran in steps whose use was accounted.
  if (random.uniform() > 0.67) return;
  ++year.steps;
  year.sized += gpus == 1 ? 1 : 0;
  const auto busy = static_cast<int>(5 + random.below(90) * static_cast<unsigned>(gpus));
  year.text += fmt::format(
      "{0}.batch|{0}.batch|n{1}|{2}|{3}|cpu=00:10:00,gres/gpumem={4}M,gres/gpuutil={5}|"
      "gres/gpumem={6}M,gres/gpuutil=100\n",
      number, number % 8, times, tres, 2000, busy, 2500 + random.below(20'000));
}

Year make_year(std::uint64_t seed) {
  Year year;
  Random random(seed);
  year.text =
      "JobID|JobIDRaw|NodeList|Submit|Start|ElapsedRaw|State|AllocTRES|TRESUsageInAve|"
      "TRESUsageInMax\n";
  for (int number = 1; number <= jobs_in_year; ++number) {
    add_job(year, random, number);
    if (number % 500 != 0) continue;
    // The disk was full.
    year.text += fmt::format("{}|{}|n0|17040\n", 100'000 + number, 100'000 + number);
    ++year.torn;
  }
  return year;
}

/// The command of the block in docs/comparing.md below this mark, as a shell reads it.
std::string command_of_the_page() {
  std::ifstream file(source_dir() + "/docs/comparing.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t mark = page.find("<!-- tests/cli/site_day_test.cpp runs this -->");
  const std::size_t begin = page.find("```sh\n", mark) + 6, end = page.find("\n```", begin);
  EXPECT_LT(end, page.size());
  return page.substr(begin, end - begin);
}

void replace(std::string& command, const std::string& of_page, const std::string& here) {
  const std::size_t at = command.find(of_page);
  ASSERT_NE(at, std::string::npos) << of_page << " is not in\n" << command;
  command.replace(at, of_page.size(), here);
}

/// As the page has it, with this year in place of the site's, and with fewer GPUs, as it says.
std::string compare_as_shown(const std::string& year) {
  std::string command = command_of_the_page();
  replace(command, "--fleet 50x8xA100-80GB", "--fleet 8xA100-80GB");
  replace(command, "sacct:year.txt", "sacct:" + year);
  return command + " ";
}

TEST(SiteDay, AYearOfSlurmIsCompared) {
  const Year year = make_year(20261126);
  const Scratch scratch;
  const std::string file = scratch.write("year.txt", year.text);

  // One torn line stops the reading, and says where and what helps.
  const Outcome strict = shell("cleave workload info sacct:" + file);
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_NE(strict.err.find("the line has 4 cells, the header 10; the line may be torn"),
            std::string::npos)
      << strict.err;

  const Json info = json_of(shell("cleave workload info --skip-bad-lines --json sacct:" + file), 0);
  EXPECT_EQ(info["bad_lines"], year.torn);
  EXPECT_EQ(info["read"], year.with_gpu);
  EXPECT_EQ(info["no_gpu"], year.without_gpu);
  EXPECT_EQ(info["steps"], year.steps);
  EXPECT_EQ(info["sized_by_use"], year.sized);
  EXPECT_NEAR(info["gpu_hours"]["read"].get<double>(), year.gpu_hours, 1);

  const Outcome report = shell(compare_as_shown(file) + "> " + scratch.path("report.txt"));
  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_NE(report.err.find("cleave: and 7 more\ncleave: 12 bad lines passed over\n"),
            std::string::npos)
      << report.err;
  const std::string text = shell("cat " + scratch.path("report.txt")).out;
  for (const std::string& part :
       {fmt::format("{} jobs on 8 x A100-80GB\n", year.with_gpu),
        std::string("passed over: 12 lines that cannot be read\n"),
        fmt::format("{} jobs asked for a whole GPU and count as large and fast as what they used\n",
                    year.sized),
        std::string("lower bound")})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;

  const Json json = json_of(shell(compare_as_shown(file) + "--json"), 0);
  const Json& schedulers = json["comparison"]["schedulers"];
  ASSERT_EQ(schedulers.size(), 4U);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(schedulers[s]["figures"]["finished"]["median"], year.with_gpu) << s;
    EXPECT_GT(schedulers[s]["figures"]["turnaround_mean_s"]["median"].get<double>(), 0) << s;
  }
  // A fixed layout cannot give GPUs with MIG off: it is told, and blanks nobody.
  EXPECT_GT(schedulers[3]["figures"]["rejected"]["median"].get<double>(),
            static_cast<double>(year.several) - 1);
}

TEST(SiteDay, WithoutUseMigCannotGain) {
  const Year year = make_year(1);
  const Scratch scratch;
  const std::string file = scratch.write("year.txt", year.text);
  const Outcome said =
      shell(fmt::format("cleave compare --fleet 8xA100-80GB --trace sacct:{} --skip-bad-lines "
                        "--sizes asked --limit 500 --schedulers full-gpu,online",
                        file));
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_NE(said.out.find("every job asks for whole GPUs: MIG can gain nothing with these"),
            std::string::npos)
      << said.out;
}

}  // namespace
}  // namespace cleave
