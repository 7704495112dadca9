// `cleave arena` from outside.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/read_text.hpp"
#include "base/shell_word.hpp"
#include "base/temporary_folder_test.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;

/// Cells beside their workloads.
class ArenaCommand : public testing::Test {
 protected:
  ArenaCommand() {
    std::ofstream jobs(path("jobs.csv"));
    jobs << "id,arrival_s,memory_mib,duration_s\na,0,3000,100\nb,1,9000,200\nc,2,3000,50\n";
    write(R"({"name": "one", "fleet": "1xA100-40GB", "workload": "jobs.csv", "req": "mem", )"
          R"("speeds": "known", "times": "unknown", "mob": "ckpt"})"
          "\n\n"
          R"({"name": "two", "fleet": "2xA30-24GB", "workload": "jobs.csv", "req": "mem", )"
          R"("speeds": "learn", "times": "noisy", "mob": "all"})"
          "\n");
  }

  [[nodiscard]] std::string path(std::string_view name) const { return folder_.path() / name; }
  void write(std::string_view cells) const { std::ofstream(path("cells.jsonl")) << cells; }
  [[nodiscard]] Outcome arena(std::string_view options) const {
    return cleave(fmt::format("arena {} --schedulers online:backfill=easy {}",
                              shell_word(path("cells.jsonl")), options));
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ArenaCommand, PrintsTheSameWithAnyNumberOfThreads) {
  const Outcome one = arena("--threads 1"), two = arena("--threads 2");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(one.out, two.out);
  EXPECT_EQ(one.err, "") << "nothing takes long here";
  EXPECT_NE(one.out.find("online:backfill=easy against the best baseline of each cell"),
            std::string::npos);
  const Json json = json_of(arena("--json"));
  EXPECT_EQ(json["cells"].size(), 2U);
  EXPECT_EQ(json["groups"][0]["turnaround_cells"], 2);
  EXPECT_EQ(json["runs"].size(), 2 * json["schedulers"].size());
}

TEST_F(ArenaCommand, RunsTheCellsThatArePicked) {
  EXPECT_EQ(json_of(arena("--cells 't*' --json"))["cells"][0]["cell"], "two");
  EXPECT_EQ(json_of(arena("--cells 'on*,*w*' --json"))["cells"].size(), 2U);
  const Outcome none = arena("--cells three");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("no cell fits 'three'"), std::string::npos) << none.err;
}

TEST_F(ArenaCommand, KeepsRunsAndWritesFiles) {
  const std::string keep = fmt::format("--keep {}", shell_word(path("kept")));
  const std::string files = fmt::format("{} --csv {}", keep, shell_word(path("runs.csv")));
  const Outcome first = arena(files);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  const std::string csv = *read_text(path("runs.csv")), kept = *read_text(path("kept"));
  EXPECT_EQ(arena(files).out, first.out);
  EXPECT_EQ(*read_text(path("runs.csv")), csv);
  EXPECT_EQ(*read_text(path("kept")), kept) << "nothing was run again";
  EXPECT_NE(arena(keep + " --world").out, first.out);
  EXPECT_GT(read_text(path("kept"))->size(), kept.size());
  const Outcome page = arena(fmt::format("--page {}", shell_word(path("arena.md"))));
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_EQ(page.out, "");
  EXPECT_NE(read_text(path("arena.md"))->find("2 cells, 2 runs of each scheduler."),
            std::string::npos);
}

TEST_F(ArenaCommand, NeverWritesWhatItReads) {
  for (const char* option : {"--keep", "--csv", "--page"}) {
    const Outcome outcome = arena(fmt::format("{} {}", option, shell_word(path("cells.jsonl"))));
    EXPECT_EQ(outcome.exit_code, 2) << option;
    EXPECT_NE(outcome.err.find("is read by the same command"), std::string::npos) << outcome.err;
  }
}

TEST_F(ArenaCommand, RefusesABadCellWithItsLine) {
  const std::string good =
      R"("fleet": "1xA100-40GB", "workload": "jobs.csv", "req": "mem", "speeds": "known", )"
      R"("times": "known", "mob": "none")";
  const std::pair<std::string, std::string> wrong[] = {
      {R"("fleet": "1xA100", "workload": "jobs.csv", "req": "mem", "speeds": "known", )"
       R"("times": "known", "mob": "none")",
       "A100"},
      {R"("fleet": "1xA100-40GB", "workload": "none.csv", "req": "mem", "speeds": "known", )"
       R"("times": "known", "mob": "none")",
       "none.csv"},
      {good + R"(, "sim": {"checkpoint": "soon"})", "soon"},
      {good + R"(, "sim": {"link_": "off"})", "did you mean 'link'?"},
  };
  for (const auto& [rest, said] : wrong) {
    write(fmt::format("{{\"name\": \"a\", {}}}\n{{\"name\": \"b\", {}}}\n", good, rest));
    const Outcome outcome = arena("");
    EXPECT_EQ(outcome.exit_code, 2) << rest;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("cells.jsonl:2"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  }
}

// Figures of the design half that were worked out when it was frozen, of schedulers that have not
// changed since.
TEST(ArenaData, TheBestOfThePapersIsWhatItWas) {
  const std::string cells = source_dir() + "/../shared/arena/cells.jsonl";
  if (!std::filesystem::exists(cells)) GTEST_SKIP() << "the arena is not beside this source tree";
  const Json json =
      json_of(cleave(fmt::format("arena {} --schedulers online:backfill=easy --cells "
                                 "migm-hm2,online-long-25,miso4-1.5,miso4-1.5-profile --json",
                                 shell_word(cells))));
  const std::pair<std::string_view, double> known[] = {
      {"scheme-a", 14.81}, {"full-gpu", 37.03}, {"miso:checkpoint=moved", 1085}, {"static", 1766}};
  ASSERT_EQ(json["cells"].size(), std::size(known));
  for (std::size_t i = 0; i < std::size(known); ++i) {
    const Json& cell = json["cells"][i];
    EXPECT_EQ(cell["turnaround_best"], known[i].first) << cell.dump();
    EXPECT_NEAR(cell["turnaround_best_value"].get<double>() / known[i].second, 1, 0.001);
  }
}

}  // namespace
}  // namespace cleave
