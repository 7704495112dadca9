// Inputs without end and outputs that are one file: refused by every command before memory or files
// are lost.

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "json_of.hpp"
#include "program.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

void expect_refused(const std::string& arguments, const std::string& said) {
  const Outcome outcome = shell("timeout 20 cleave " + arguments);
  EXPECT_EQ(outcome.exit_code, 2) << arguments << "\n" << outcome.err;
  EXPECT_NE(outcome.err.find(said), std::string::npos) << arguments << "\n" << outcome.err;
}

// Each way in which a command is given a file; /dev/zero never ends.
TEST(Bounds, NoReaderGoesOnForEver) {
  for (const char* const arguments :
       {"place --memory 1GiB --fleet {}", "simulate --fleet 1xA100-40GB --workload {}",
        "simulate --fleet 1xA100-40GB --trace sacct:{}", "workload info {}",
        "compare --fleet 1xA100-40GB --schedulers online --workload {}",
        "admit --fleet 1xA100-40GB --batch {}", "import smi --node n --model A100-40GB {}",
        "plan replay --fleet 1xA100-40GB --plan {}", "forecast memory --series {}",
        "forecast time --train {}", "recommend --measurements {}",
        "profiles list --repository {}"}) {
    expect_refused(fmt::format(fmt::runtime(arguments), "/dev/zero"),
                   "/dev/zero:1: the line holds a byte of zero");
    expect_refused(fmt::format(fmt::runtime(arguments), "/dev/urandom"), "/dev/urandom:");
  }
}

TEST(Bounds, AGzipBombIsRefusedWithItsRemedy) {
  const Scratch scratch;
  const std::string bomb = scratch.path("bomb.gz");
  const gzFile out = gzopen(bomb.c_str(), "wb9");
  const std::string line(1'000'000, 'x');
  for (int i = 0; i < 70; ++i) gzwrite(out, line.data(), static_cast<unsigned>(line.size()));
  gzclose(out);
  for (const char* const option : {"--workload ", "--trace sacct:"})
    expect_refused(fmt::format("simulate --fleet 1xA100-40GB {}{}", option, bomb),
                   "bomb.gz: this gzip file inflates to more than 200 times its size; text "
                   "inflates 5 to 50 times; if the file is to be trusted, inflate it with gunzip");
}

TEST(Bounds, TwoOutputsAreNeverOneFile) {
  const Scratch scratch;
  const std::string events = scratch.path("e"), link = scratch.path("link");
  const std::string what = "simulate --fleet 2xA100-40GB --workload " +
                           scratch.write("w.jsonl", "{\"id\": \"a\", \"duration_s\": 3}\n") +
                           " --events " + events;
  std::filesystem::create_symlink("e", link);  // to nothing yet
  const std::string again =
      scratch.path("./../") +
      std::filesystem::path(scratch.path("")).parent_path().filename().string() + "/e";
  for (const std::string& other : {events, scratch.path("./e"), again, link}) {
    expect_refused(what + " --trace-events " + other, "is also the file of --events");
    expect_refused(what + " --outcomes " + other, "is also the file of --events");
    EXPECT_FALSE(std::filesystem::exists(events)) << other;
  }
  EXPECT_EQ(shell("timeout 20 cleave " + what + " --trace-events /dev/null --outcomes /dev/null")
                .exit_code,
            0);
  // What was there stays.
  scratch.write("e", "mine\n");
  expect_refused(what + " --trace-events " + link, "is also the file of --events");
  EXPECT_EQ(shell("cat " + events).out, "mine\n");
}

TEST(Bounds, ALinkToNothingIsFollowed) {
  const Scratch scratch;
  std::filesystem::create_symlink("made", scratch.path("link"));
  const std::string jobs = scratch.write("w.jsonl", "{\"id\": \"a\", \"duration_s\": 3}\n");
  EXPECT_EQ(cleave("simulate --fleet 2xA100-40GB --workload " + jobs + " --events " +
                   scratch.path("link"))
                .exit_code,
            0);
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path("link")));
  EXPECT_TRUE(std::filesystem::is_regular_file(scratch.path("made")));
}

TEST(Bounds, OfTextAreSaidWithTheirPlace) {
  const Scratch scratch;
  const auto refused = [&](const std::string& name, const std::string& text,
                           const std::string& said) {
    expect_refused("simulate --fleet 1xA100-40GB --workload " + scratch.write(name, text), said);
  };
  refused("w.csv", "id;duration_s\na;1;2\n", "w.csv:2: the line has 3 cells, the header 2");
  refused("w.csv", "id\tduration_s\na\t1,5\n", "w.csv:2: duration_s: expected a number");
  refused("w.csv", "id,arrival_s,duration_s\na,noon,1\n", "w.csv:2: arrival_s: 'noon' is not a");
  refused("w.csv", "id,duration_s,wieght\na,1,1\n", "w.csv:1: unknown column 'wieght'");
  refused("w.jsonl", "", "w.jsonl: the file is empty; a workload is CSV with a header, or one");
  refused("w.jsonl", "{\"id\": \"\xe9\", \"duration_s\": 1}\n",
          "w.jsonl:1: column 10: this is not UTF-8 text; convert it");
  refused("w.jsonl", "{\"id\": \"a\", \"duration_s\": NaN}\n", "JSON has no NaN");
  refused("w.jsonl", std::string("{\"id\": \"a\", \"duration_s\": 1}\0\n", 30),
          "w.jsonl:1: the line holds a byte of zero");
}

TEST(Bounds, OfArgumentsAreSaidWithTheirRemedy) {
  expect_refused("place --fleet A100-40GB --memory 1GiB",
                 "A100-40GB: No such file or directory; write a number, an x and the model, such "
                 "as 4xA100-40GB");
  expect_refused("place --fleet 4*a30-24gb --memory 1GiB", "such as 4xA30-24GB");
  expect_refused("place --fleet none.json --memory 1GiB",
                 "check the name, or write GPUs in short, such as 4xA100-40GB");
  expect_refused("place --fleet 1xA100-40GB --memory 0",
                 "--memory: a request for no memory is for no instance");
  expect_refused("gpu ''", "it is empty");
  expect_refused("simulate --fleet 1xA100-40GB --generate lab-day --scheduler online:threshold=",
                 "'threshold=' has no value");
  const Outcome supervise = shell("cleave-supervise");
  EXPECT_EQ(supervise.exit_code, 2);
  EXPECT_NE(supervise.err.find("use `cleave submit`"), std::string::npos) << supervise.err;
}

// The daemon is not asked: nothing listens there.
TEST(Bounds, AProgramThatIsNotThereIsNotSubmitted) {
  const Scratch scratch;
  const std::string submit = "submit --socket " + scratch.path("none") + " ";
  expect_refused(submit + "-- /nonexistent/prog --x",
                 "COMMAND: there is no program /nonexistent/prog; check its name and --cwd");
  expect_refused(submit + "-- ./prog", "COMMAND: there is no program " + source_dir() + "/prog");
  expect_refused(submit + "-- no-such-program", "there is no program no-such-program in PATH");
  for (const char* const unknown :
       {"-- true", "--image alpine -- /nonexistent/prog", "--cwd / -- bin/sh"})
    EXPECT_NE(cleave(submit + unknown).err.find("no daemon answers"), std::string::npos) << unknown;
}

}  // namespace
}  // namespace cleave
