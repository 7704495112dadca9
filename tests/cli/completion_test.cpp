// What is generated from the commands themselves: completion that a shell understands, and man
// pages in valid roff, with every option of the help.

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "base/format.hpp"
#include "program.hpp"

namespace cleave {
namespace {

using testing_program::Outcome;
using testing_program::shell;

bool there_is(const std::string& program) {
  return shell(fmt::format("command -v {} >/dev/null", program)).exit_code == 0;
}

/// Bash's completions for the last of these words.
std::set<std::string> completed(const std::string& words, int last) {
  const Outcome offered = shell(fmt::format(
      "bash --norc -c 'source <(cleave completion bash); COMP_WORDS=({}); COMP_CWORD={}; "
      "_cleave; printf \"%s\\n\" "
      "\"${{COMPREPLY[@]}}\"'",
      words, last));
  EXPECT_EQ(offered.err, "");
  std::set<std::string> set;
  std::istringstream lines(offered.out);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) set.insert(line);
  return set;
}

TEST(Completion, OfBashKnowsCommandsOptionsAndValues) {
  if (!there_is("bash")) GTEST_SKIP() << "there is no bash";
  using Words = std::set<std::string>;
  EXPECT_EQ(completed("cleave su", 1), Words{"submit"});
  EXPECT_EQ(completed("cleave und", 1), Words{"undrain"});
  const Words all = completed("cleave \"\"", 1);
  for (const char* each : {"gpu", "plan", "submit", "completion", "--version"})
    EXPECT_TRUE(all.contains(each)) << each;
  EXPECT_EQ(completed("cleave plan de", 2), Words{"deploy"});
  EXPECT_TRUE(completed("cleave plan deploy --fl", 3).contains("--fleet"));
  EXPECT_EQ(completed("cleave ps --state fin", 3), Words{"finished"});
  EXPECT_EQ(completed("cleave submit --name wait --prof", 4), Words{"--profile"});
  EXPECT_TRUE(completed("cleave place --policy fir", 3).contains("first-fit"));
  EXPECT_TRUE(completed("cleave simulate --scheduler onl", 3).contains("online"));
  EXPECT_TRUE(completed("cleave scheduler onl", 2).contains("online"));
  EXPECT_EQ(completed("cleave completion z", 2), Words{"zsh"});
  EXPECT_EQ(completed("cleave place --fleet any", 3), Words{}) << "bash completes files by itself";
  EXPECT_TRUE(completed("cleave show --js", 2).contains("--json"));
}

/// The same of a line as it was typed, where bash takes words apart at : and =.
std::set<std::string> completed_line(const std::string& line) {
  const Outcome offered = shell(
      fmt::format("bash --norc -c 'source <(cleave completion bash); COMP_LINE=\"{}\"; "
                  "COMP_POINT=${{#COMP_LINE}}; "
                  "COMP_WORDS=($COMP_LINE); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _cleave; "
                  "printf \"%s\\n\" \"${{COMPREPLY[@]}}\"'",
                  line));
  EXPECT_EQ(offered.err, "");
  std::set<std::string> set;
  std::istringstream lines(offered.out);
  for (std::string each; std::getline(lines, each);)
    if (!each.empty()) set.insert(each);
  return set;
}

TEST(Completion, OfBashGoesOnBehindCommasAndColons) {
  if (!there_is("bash")) GTEST_SKIP() << "there is no bash";
  using Words = std::set<std::string>;
  EXPECT_TRUE(
      completed_line("cleave compare --schedulers full-gpu,onl").contains("full-gpu,online"));
  EXPECT_EQ(completed_line("cleave compare --schedulers full-gpu,online:polic"), Words{"policy="})
      << "bash has the rest already";
  EXPECT_EQ(completed_line("cleave simulate --scheduler online:load=mem"), Words{"memory"});
  EXPECT_TRUE(completed_line("cleave gpu A100-4").contains("A100-40GB"));
  EXPECT_TRUE(completed_line("cleave compare --fleet 4xA3").contains("4xA30-24GB"));
  EXPECT_TRUE(completed_line("cleave submit --profile 3g.2").contains("3g.20gb"));
  EXPECT_TRUE(completed_line("cleave compare --profiles 1g.5gb,2g.1").contains("1g.5gb,2g.10gb"));
  EXPECT_TRUE(completed_line("cleave ps --columns job,wh").contains("job,where"));
  EXPECT_EQ(completed_line("cleave compare --trace phil"), Words{"philly:"});
  EXPECT_EQ(completed_line("cleave compare --generate=lab-d"), Words{"lab-day"});
}

TEST(Completion, OfBashOffersModelsOfWhatRunsAndTheirFiles) {
  if (!there_is("bash")) GTEST_SKIP() << "there is no bash";
  using Words = std::set<std::string>;
  EXPECT_TRUE(completed_line("cleave forecast model vision:resnet5").contains("resnet50"));
  EXPECT_EQ(completed_line("cleave forecast model A100-4"), Words{}) << "no GPU is meant";
  EXPECT_EQ(completed_line("cleave forecast model examples/models/llama-3.1-8b/conf"),
            Words{"examples/models/llama-3.1-8b/config.json"});
  EXPECT_TRUE(completed_line("cleave forecast model exam").contains("examples")) << "a folder";
  EXPECT_EQ(completed_line("cleave forecast model CHANGE"), Words{}) << "it is not a model";
  EXPECT_TRUE(completed_line("cleave forecast model --fits A100-4").contains("A100-40GB"));
}

TEST(Completion, OfCleaveJobKnowsItsOptions) {
  if (!there_is("bash")) GTEST_SKIP() << "there is no bash";
  const auto offered = [](const char* words, int last) {
    return shell(fmt::format("bash --norc -c 'source <(cleave-job --completion bash); "
                             "COMP_WORDS=({}); COMP_CWORD={}; _cleave-job; "
                             "echo ${{COMPREPLY[@]}}'",
                             words, last))
        .out;
  };
  EXPECT_EQ(offered("cleave-job --dies", 1), "--dies-as\n");
  EXPECT_EQ(offered("cleave-job --checkpoint-signal US", 2), "USR1 USR2\n");
  EXPECT_NE(shell("cleave-job --completion fish").out.find("complete -c cleave-job"),
            std::string::npos);
  EXPECT_EQ(shell("cleave-job --completion tcsh").exit_code, 2);
}

TEST(Completion, OfOtherShellsIsUnderstoodByThem) {
  EXPECT_NE(shell("cleave completion fish").out.find("complete -c cleave"), std::string::npos);
  EXPECT_EQ(shell("cleave completion zsh").out.find("#compdef cleave\n"), 0U);
  EXPECT_EQ(shell("cleave completion tcsh").exit_code, 2);
  bool any = false;
  for (const char* name : {"zsh", "fish"}) {
    if (!there_is(name)) continue;
    any = true;
    const Outcome read = shell(
        fmt::format("cleave completion {0} > /dev/null && cleave completion {0} | {0} -n", name));
    EXPECT_EQ(read.exit_code, 0) << read.err;
  }
  if (!any) GTEST_SKIP() << "there is neither zsh nor fish";
}

/// "cleave plan deploy" and similar ones, for every page.
std::vector<std::string> pages() {
  std::vector<std::string> commands;
  std::istringstream lines(shell("cleave man --list").out);
  for (std::string line; std::getline(lines, line);) commands.push_back(line);
  return commands;
}

TEST(Man, ListsCommandsInTheGroupsOfTheHelp) {
  const std::string page = shell("cleave man").out;
  const std::regex heading("\n([A-Z][A-Za-z ]+):\n");
  const std::string help = shell("cleave --help").out;
  std::size_t groups = 0, before = 0;
  for (std::sregex_iterator at(help.begin(), help.end(), heading), end; at != end; ++at) {
    const std::size_t found = page.find(fmt::format("\n.SS {}\n", (*at)[1].str()));
    if (found == std::string::npos) continue;  // the options
    ++groups;
    EXPECT_GT(found, before);
    before = found;
  }
  EXPECT_EQ(groups, 7U) << page;
  EXPECT_LT(page.find(".SS Jobs\n"), page.find("\\fBsubmit\\fR"));
  EXPECT_LT(page.find("\\fBsubmit\\fR"), page.find(".SS GPUs and instances\n"));
  EXPECT_EQ(shell("cleave man plan").out.find("\n.SS "), std::string::npos) << "one group";
}

TEST(Man, HasAPageForEachCommandWithEveryOptionOfItsHelp) {
  const auto all = pages();
  EXPECT_GT(all.size(), 50U);
  EXPECT_TRUE(std::ranges::find(all, "cleave submit") != all.end());
  std::string everything;
  for (const char* command :
       {"", "submit", "ps", "plan deploy", "simulate", "gpu-layout", "sim-node fault", "man"}) {
    const Outcome page = shell(fmt::format("cleave man {}", command));
    const Outcome help = shell(fmt::format("cleave {} --help", command));
    ASSERT_EQ(page.exit_code, 0) << page.err;
    std::string plain = std::regex_replace(page.out, std::regex("\\\\f[BIR]"), "");
    plain = std::regex_replace(plain, std::regex("\\\\-"), "-");
    const std::regex option("\n  (-[-a-z,]+)");
    for (std::sregex_iterator at(help.out.begin(), help.out.end(), option), end; at != end; ++at) {
      std::string names = (*at)[1];
      names = names.substr(names.find_last_of(',') + 1);
      EXPECT_NE(plain.find(names), std::string::npos) << command << " " << names;
    }
    EXPECT_NE(plain.find(".SH EXIT STATUS"), std::string::npos);
  }
  EXPECT_NE(shell("cleave man wait").out.find("125"), std::string::npos);
  const Outcome wrong = shell("cleave man subnit");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("did you mean 'submit'?"), std::string::npos);
}

TEST(Man, PagesAreWhatRoffUnderstands) {
  if (!there_is("groff")) GTEST_SKIP() << "there is no groff";
  std::string script;
  for (const std::string& page : pages())
    script += fmt::format("cleave man {} | groff -ww -man -Tutf8 > /dev/null\n",
                          page.substr(std::string("cleave").size()));
  const Outcome read = shell(script);
  EXPECT_EQ(read.err, "");
  EXPECT_EQ(read.exit_code, 0);
  const Outcome submit = shell("cleave man submit | groff -man -Tascii | sed 's/.\\x08//g'");
  EXPECT_NE(submit.out.find("--checkpoint-signal"), std::string::npos) << submit.out;
}

}  // namespace
}  // namespace cleave
