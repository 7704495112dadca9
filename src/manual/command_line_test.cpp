#include "manual/command_line.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace cleave {
namespace {

/// A program with a command of every kind of option, and a group of commands.
struct Program {
  CommandLine line{"A program", "tool"};
  std::string fleet, profile, rule;
  std::vector<std::string> names;
  std::vector<std::size_t> sizes;
  int repeats = 1;
  double share = 0;
  std::uint64_t seed = 0;
  bool wait = false, follow = false, train = false, json = false;

  Program() {
    line.require_subcommand();
    CommandLine* run = line.add_subcommand("run", "Run it");
    run->add_option("--fleet", fleet, "Fleet")->required();
    run->add_option("--profile", profile, "Profile")->required();
    run->add_option("--rule", rule, "Rule")->check(Check::one_of({"up", "down", "nearest"}));
    run->add_option("--repeats", repeats, "Repeats")->check(Check::range(1, 100));
    run->add_option("--share", share, "Share")->check(Check::range(0.0, 0.5));
    run->add_option("--seed", seed, "Seed");
    run->add_option("--sizes", sizes, "Sizes")->delimiter(',');
    Option* waits = run->add_flag("--wait", wait, "Wait");
    run->add_flag("--follow", follow, "Follow")->excludes(waits);
    run->add_flag("--train", train, "Train")->needs("--rule");
    CommandLine* show = line.add_subcommand("show", "Show it");
    show->add_option("NAME", names, "Names")->required();
    show->add_flag("-j,--json", json, "JSON");
    CommandLine* group = line.add_subcommand("group", "A group");
    group->require_subcommand();
    group->add_subcommand("one", "One");
  }

  std::optional<LineEnd> parse(const std::string& words) {
    std::vector<std::string> all = {"tool"};
    for (const std::string_view word : split(words, ' '))
      if (!word.empty()) all.emplace_back(word);
    std::vector<const char*> argv;
    for (const std::string& word : all) argv.push_back(word.c_str());
    return line.parse(static_cast<int>(argv.size()), argv.data());
  }
};

/// What the program says about the line; empty if the line is right.
std::string said(const std::string& words) {
  Program program;
  const auto end = program.parse(words);
  if (!end) return "";
  EXPECT_TRUE(end->error.has_value()) << words;
  EXPECT_EQ(end->error->kind, ErrorKind::bad_usage) << words;
  return end->error->text();
}

TEST(CommandLine, SaysInItsOwnWordsWhatIsWrong) {
  const std::string run = "run --fleet f --profile p ";
  const std::pair<std::string, std::string> lines[] = {
      {"", "no command was given; see `tool --help`"},
      {"group", "no command was given; see `tool group --help`"},
      {"run", "--fleet and --profile are required; see `tool run --help`"},
      {"run --fleet f", "--profile is required; see `tool run --help`"},
      {"show", "NAME is required; see `tool show --help`"},
      {run + "--patience 3", "tool run has no option '--patience'; see `tool run --help`"},
      {"run --flet f --profile p", "tool run has no option '--flet'; did you mean '--fleet'?"},
      {run + "--sed=3", "tool run has no option '--sed'; did you mean '--seed'?"},
      {"run -fleet f --profile p", "tool run has no option '-fleet'; did you mean '--fleet'?"},
      {"--json show a",
       "tool has no option '--json'; write it behind its own command: "
       "`tool show --json`"},
      {"run --patience 3", "--fleet and --profile are required; see `tool run --help`"},
      {"group one a b",
       "unexpected argument 'a'; `tool group one` takes only options; see `tool "
       "group one --help`"},
      {run + "--fleet", "--fleet: its value is missing; see `tool run --help`"},
      {run + "--fleet g", "--fleet: it was given 2 times; give it once; see `tool run --help`"},
      {run + "--rule upp",
       "--rule: expected up, down or nearest, found 'upp'; see `tool run --help`"},
      {run + "--repeats 0",
       "--repeats: expected a whole number from 1 to 100, found '0'; see `tool run --help`"},
      {run + "--share 0.7",
       "--share: expected a number from 0 to 0.5, found '0.7'; see `tool run --help`"},
      {run + "--share nan",
       "--share: expected a number from 0 to 0.5, found 'nan'; see `tool run --help`"},
      {run + "--seed x",
       "--seed: expected a whole number of at least 0, found 'x'; see `tool run --help`"},
      {run + "--seed=-1",
       "--seed: expected a whole number of at least 0, found '-1'; see `tool run --help`"},
      {run + "--seed 010",
       "--seed: expected a whole number of at least 0, found '010'; see `tool run --help`"},
      {run + "--seed 99999999999999999999",
       "--seed: 99999999999999999999 is too large or too small; see `tool run --help`"},
      {run + "--sizes 1,x",
       "--sizes: expected a whole number of at least 0, found 'x'; see `tool run --help`"},
      {run + "--wait --follow",
       "--wait and --follow cannot be used together; leave one of them "
       "out; see `tool run --help`"},
      {run + "--train",
       "--train: it is used only with --rule; add --rule, or leave out --train; "
       "see `tool run --help`"},
      {run + "--wait=soon", "--wait: it takes no value; see `tool run --help`"},
  };
  for (const auto& [words, expected] : lines) EXPECT_EQ(said(words), expected) << words;
}

TEST(CommandLine, TakesWhatIsRight) {
  Program program;
  ASSERT_FALSE(
      program.parse("run --fleet f --profile p --rule up --repeats 100 --share 0.5 "
                    "--seed 18446744073709551615 --sizes 1,2 --train --wait"));
  EXPECT_EQ(program.seed, 18446744073709551615U);
  EXPECT_EQ(program.repeats, 100);
  EXPECT_EQ(program.sizes, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(said("show a b -j"), "");
  EXPECT_EQ(said("group one"), "");
}

}  // namespace
}  // namespace cleave
