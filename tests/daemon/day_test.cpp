// A researcher's day with many jobs, word by word as docs/jobs.md has it: 200 jobs by one command,
// looked at, some cancelled, one that gathers what the others left, all waited for. And what comes
// with it: files of jobs, jobs after others, outputs in the user's own files.

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/text.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// The commands of the block in docs/jobs.md below this mark, without what follows #.
std::vector<std::string> commands_of_the_day() {
  const std::string page = text_of(source_dir() + "/docs/jobs.md");
  const std::size_t mark = page.find("<!-- tests/daemon/day_test.cpp runs this -->");
  const std::size_t begin = page.find("```sh\n", mark) + 6, end = page.find("\n```", begin);
  EXPECT_LT(end, page.size());
  std::vector<std::string> commands;
  for (const std::string_view line : split(std::string_view(page).substr(begin, end - begin), '\n'))
    commands.emplace_back(trimmed(line.substr(0, line.find(" #"))));
  return commands;
}

class Day : public testing::Test {
 protected:
  Day() {
    std::filesystem::create_directory(home());
    program("train", "sleep 0.15; echo run $1 of array $CLEAVE_ARRAY_JOB");
  }
  [[nodiscard]] std::string home() const { return stand.path("home"); }
  void program(const std::string& name, const std::string& script) const {
    std::ofstream(home() + "/" + name) << "#!/bin/sh\n" << script << "\n";
    ::chmod((home() + "/" + name).c_str(), 0755);
  }
  /// In the user's folder, as typed.
  [[nodiscard]] Outcome typed(const std::string& command) const {
    return testing_program::shell(
        fmt::format("cd '{}' && export CLEAVE_SOCKET='{}' && {}", home(), stand.socket(), command));
  }
  /// Fails the test unless it exits with this code.
  std::string ran(const std::string& command, int code = 0) const {
    const Outcome outcome = typed(command);
    EXPECT_EQ(outcome.exit_code, code) << command << "\n" << outcome.out << outcome.err;
    return code == 0 ? outcome.out : outcome.err;
  }

  DaemonStand stand;
};

TEST_F(Day, OfAResearcherGoesAsThePageSays) {
  program("collect", "cat logs/1-*.out | wc -l > total");
  program("train",
          "while [ $1 -gt 100 ] && [ ! -e ../go ]; do sleep 0.05; done\n"
          "echo run $1 of array $CLEAVE_ARRAY_JOB");
  const std::vector<std::string> day = commands_of_the_day();
  ASSERT_EQ(day.size(), 8U);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(ran(day[0]), "array 1: 200 jobs, 1 to 200\n");
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_LT(took, std::chrono::seconds(sanitized ? 30 : 5));
  RecordProperty(
      "submission_ms",
      static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  const std::string listed = ran(day[1]);
  EXPECT_TRUE(has(listed, "sweep")) << listed;
  EXPECT_LE(std::ranges::count(listed, '\n'), 32) << "what waits is one line:\n" << listed;
  const std::string shown = ran(day[2]);
  EXPECT_TRUE(has(shown, "job 7 (sweep)") && has(shown, "1_7, one of 200, 10 at a time")) << shown;
  const std::string cancelled = ran(day[3]);
  EXPECT_EQ(std::ranges::count(cancelled, '\n'), 51) << cancelled;
  EXPECT_EQ(ran(day[4]), "job 201\n");
  EXPECT_TRUE(has(stand.reason_of(201), "it waits until jobs 1 to 200 have ended"))
      << stand.reason_of(201);
  std::ofstream(stand.path("go")) << "on\n";
  const Outcome waited = typed(day[5]);
  EXPECT_EQ(waited.exit_code, 125) << "some never ran";
  EXPECT_EQ(std::ranges::count(waited.out, '\n'), 200);
  EXPECT_TRUE(has(waited.out, "job 7 finished\n")) << waited.out;
  EXPECT_TRUE(has(waited.out, "job 175 was cancelled")) << waited.out;
  EXPECT_EQ(ran(day[6]), "run 7 of array 1\n") << "the logs have it, too";
  ran(day[7]);
  EXPECT_EQ(text_of(home() + "/logs/1-7.out"), "run 7 of array 1\n");
  EXPECT_EQ(trimmed(text_of(home() + "/total")), "149");
  EXPECT_TRUE(has(ran("cleave show 1"), "array 1: 51 cancelled, 149 finished"));
}

TEST_F(Day, AFileOfJobsIsTakenWholeOrNotAtAll) {
  std::ofstream(home() + "/jobs.jsonl")
      << R"({"id": "first", "command": ["./train", "1"], "memory_mib": "4GiB", "arrival_s": 0})"
      << "\n\n"
      << R"({"name": "second", "command": "./train 2", "duration_s": "1m"})"
      << "\n";
  EXPECT_EQ(ran("cleave submit --file jobs.jsonl --application sweep"), "2 jobs, 1 to 2\n");
  EXPECT_EQ(stand.job(1)["asked"], "4 GiB");
  EXPECT_EQ(stand.job(2)["application"], "sweep");
  EXPECT_EQ(ran("printf '%s\\n' './train 3' '# not this' './train 4' | cleave submit --file - "
                "--key lines --clean-env --wait"),
            "2 jobs, 3 to 4\n");
  EXPECT_TRUE(has(ran("cleave logs 4"), "run 4")) << "the shell ran it";
  EXPECT_EQ(ran("printf '%s\\n' './train 3' '# not this' './train 4' | cleave submit --file - "
                "--key lines --clean-env"),
            "2 jobs, 3 to 4\n")
      << "once more with its key";

  std::ofstream(home() + "/wrong.jsonl") << R"({"command": "./train 1"})"
                                         << "\n"
                                         << R"({"command": ["./trian", "2"]})"
                                         << "\n";
  EXPECT_TRUE(
      has(ran("cleave submit --file wrong.jsonl", 2), "wrong.jsonl:2: there is no program"));
  std::ofstream(home() + "/large.jsonl") << R"({"command": "./train 1"})"
                                         << "\n\n"
                                         << R"({"command": "./train 2", "profile": "7g.80gb"})";
  EXPECT_TRUE(has(ran("cleave submit --file large.jsonl", 1), "large.jsonl:3: the request"));
  EXPECT_EQ(stand.get("/v1/jobs?all=1")["jobs"].size(), 4U) << "of these none was taken";
}

TEST_F(Day, OneComesAfterOthers) {
  program("wait-for", "while [ ! -e go ]; do sleep 0.02; done; exit $1");
  EXPECT_EQ(ran("cleave submit --array 1-3 --name first -- ./wait-for 0"),
            "array 1: 3 jobs, 1 to 3\n");
  ran("cleave submit --name fails -- ./wait-for 4");
  EXPECT_EQ(ran("cleave submit --after ok:first,failed:fails --name both -- true"), "job 5\n");
  EXPECT_EQ(stand.job(5)["after"], Json::parse(R"(["ok:1-3", "failed:4"])"));
  EXPECT_EQ(ran("cleave submit --after ok:1_2 -- true"), "job 6\n");
  EXPECT_EQ(ran("cleave submit --after ok:4 -- true"), "job 7\n");
  EXPECT_TRUE(has(stand.reason_of(6), "it waits until job 2 has finished")) << stand.reason_of(6);
  EXPECT_TRUE(has(ran("cleave submit --after done:4 -- true", 2), "--after"));
  EXPECT_TRUE(has(ran("cleave submit --after ok:1_9 -- true", 2), "index 9"));
  EXPECT_EQ(typed("cleave submit --after ok:99 -- true").exit_code, 2);
  std::ofstream(home() + "/go") << "\n";
  EXPECT_EQ(stand.over(5)["state"], "finished");
  EXPECT_EQ(stand.over(6)["state"], "finished");
  const Json never = stand.over(7);
  EXPECT_EQ(never["state"], "cancelled");
  EXPECT_EQ(never["reason"],
            "job 4 has failed, and this one was to start only when that has finished");
}

TEST_F(Day, OutputsGoToTheUsersFilesAndTheLogs) {
  const std::string job = "-- sh -c 'echo out; echo err >&2; test $CLEAVE_ATTEMPT -gt 1'";
  ran("cleave submit --wait --name a/b --retry 1 --output deep/er/%x-%j.%r.out --error err-%j " +
      job);
  EXPECT_EQ(text_of(home() + "/deep/er/a_b-1.1.out"), "out\n");
  EXPECT_EQ(text_of(home() + "/deep/er/a_b-1.2.out"), "out\n");
  EXPECT_EQ(text_of(home() + "/err-1"), "err\nerr\n") << "a second attempt writes behind";
  EXPECT_EQ(ran("cleave logs 1"), "out\n");
  ran("cleave submit --wait --retry 1 --output both " + job);
  const std::string both = text_of(home() + "/both");
  EXPECT_TRUE(has(both, "out\n") && has(both, "err\n")) << both;
  ran("cleave submit --wait --output /dev/null -- true");
  const std::string folder = ran("cleave submit --wait --output . -- true; cleave show 4");
  EXPECT_TRUE(has(folder, "cannot be opened for the job's output")) << folder;
  EXPECT_TRUE(has(ran("cleave submit --array 1-2 --output same -- true", 2), "--output"));
  EXPECT_TRUE(has(ran("cleave submit --output %q -- true", 2), "--output"));
}

TEST_F(Day, AProgramThatIsNotThereIsRefusedBeforeAnythingIsSent) {
  std::ofstream(home() + "/data") << "no program\n";
  EXPECT_TRUE(has(ran("cleave submit -- ./trian", 2), "there is no program"));
  EXPECT_TRUE(has(ran("cleave submit -- train", 2), "write ./train"));
  EXPECT_TRUE(has(ran("cleave submit -- no-such-program-anywhere", 2), "in PATH"));
  EXPECT_TRUE(has(ran("cleave submit -- ./data", 2), "chmod +x"));
  EXPECT_TRUE(has(ran("cleave submit -- ./", 2), "is a folder"));
  EXPECT_TRUE(has(ran("cleave submit --env PATH=/nowhere -- sh", 2), "in PATH"));
  EXPECT_EQ(ran("cleave submit --env PATH=$PWD -- train 1"), "job 1\n");
}

}  // namespace
}  // namespace cleave::whole
