// Every scheduler spec, command line and configuration that help, man pages, documents and samples
// show is one that the programs take.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "../cli/program.hpp"
#include "base/format.hpp"
#include "base/places_test.hpp"
#include "shown.hpp"

namespace cleave {
namespace {

using namespace testing_shown;
using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

/// A text that users read, and whether it is help.
struct ShownText {
  std::string name, text;
  bool help = false;
};

std::string printed(const std::string& command) {
  const Outcome outcome = shell(command);
  EXPECT_EQ(outcome.exit_code, 0) << command << ": " << outcome.err;
  return outcome.out;
}

/// A man page without its markup.
std::string unmarked(std::string page) {
  for (const auto& [mark, plain] :
       {std::pair("\\-", "-"), {"\\&", ""}, {"\\(aq", "'"}, {"\\fB", ""}, {"\\fR", ""}})
    for (std::size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at))
      page.replace(at, std::string_view(mark).size(), plain);
  return page;
}

/// The help of a command and of all below it; of `cleave` the man pages too.
void add_help(const std::string& command, std::vector<ShownText>& texts) {
  const std::string help = printed(command + " --help");
  texts.push_back({command + " --help", help, true});
  if (command == "cleave" || command.starts_with("cleave ")) {
    const std::string page = "cleave man" + command.substr(std::string_view("cleave").size());
    texts.push_back({page, unmarked(printed(page)), true});
  }
  // Commands stand below headings of their own; options begin with a dash, arguments are capitals.
  std::stringstream stream(help);
  std::string heading;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.front() != ' ' && line.ends_with(':')) heading = line;
    if (heading.empty() || heading == "Example:" || !line.starts_with("  ") || line.size() < 3 ||
        !std::islower(static_cast<unsigned char>(line[2])))
      continue;
    add_help(command + " " + line.substr(2, line.find(' ', 2) - 2), texts);
  }
}

/// Without gRPC there is no cleave-kube, and what is shown of it cannot be tried.
bool has_cleave_kube() {
  return std::filesystem::exists(binary_dir() + "/bin/cleave-kube");
}

const std::vector<ShownText>& all_texts() {
  static const std::vector<ShownText> all = [] {
    std::vector<ShownText> texts;
    const auto add_file = [&](const std::filesystem::path& file) {
      std::stringstream text;
      text << std::ifstream(file).rdbuf();
      texts.push_back({file.filename().string(), text.str()});
    };
    for (const char* file : {"README.md", "ARCHITECTURE.md", "CHANGELOG.md"})
      add_file(std::filesystem::path(source_dir()) / file);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir() + "/docs"))
      if (entry.is_regular_file() &&
          (has_cleave_kube() || entry.path().filename() != "kubernetes.md"))
        add_file(entry.path());
    for (const char* command : {"cleaved --help", "cleave-job --help", "cleave schedulers",
                                "cleave forecasters", "cleave policies", "cleave workload list"})
      texts.push_back({command, printed(command), true});
    const std::string smi = binary_dir() + "/lib/cleave-nvmlsim/cleave-smi --help";
    texts.push_back({"nvidia-smi --help", printed(smi), true});
    add_help("cleave", texts);
    if (has_cleave_kube()) add_help("cleave-kube", texts);
    texts.push_back({"cleaved --man", unmarked(printed("cleaved --man")), true});
    texts.push_back({"cleaved --sample-config", printed("cleaved --sample-config")});
    return texts;
  }();
  return all;
}

// What is wrong with something that is shown, in words; empty where nothing is.

/// By using it: for a scheduler, a forecaster or a generator, whichever has the name.
std::string wrong_with_spec(const std::string& spec) {
  static const std::string schedulers = printed("cleave schedulers"),
                           forecasters = printed("cleave forecasters");
  const std::string heading = "\n" + spec.substr(0, spec.find(':')) + "\n";
  const auto lists = [&](const std::string& table) {
    return ("\n" + table).find(heading) != std::string::npos;
  };
  const std::string few =
      "cleave simulate --fleet 2xA100-40GB --generate 'normal-25:jobs=3' --scheduler ";
  const Outcome outcome = lists(schedulers)    ? shell(few + "'" + spec + "'")
                          : lists(forecasters) ? shell(few + "online --forecast '" + spec + "'")
                                               : shell("cleave workload generate '" + spec + "'");
  // 1: it was taken, and has no place for these jobs.
  return outcome.exit_code < 2 ? "" : outcome.err;
}

/// An option that stands alone must be one of some scheduler.
std::string wrong_with_option(const std::string& option) {
  static const std::string schedulers = printed("cleave schedulers");
  std::stringstream stream(schedulers);
  for (std::string line; std::getline(stream, line);)
    if (!line.empty() && line.find(' ') == std::string::npos &&
        wrong_with_spec(fmt::format("{}:{}", line, option)).empty())
      return {};
  return "no scheduler takes it";
}

/// Nothing is done: an option that does not exist ends the program when it has understood all
/// others.
std::string wrong_with_call(std::string call) {
  const std::string none = "--no-such-option";
  const std::size_t end = call.find(" -- ");
  call.insert(end == std::string::npos ? call.size() : end, " " + none);
  const Outcome outcome = shell(call);
  if (outcome.exit_code == 2 &&
      outcome.err.find("has no option '" + none + "'") != std::string::npos)
    return {};
  return outcome.err.empty() ? "it was done" : outcome.err;
}

std::string wrong_with_mention(const std::string& mention) {
  for (const std::string& command : commands_of(mention)) {
    const Outcome help =
        shell(command + (command.starts_with("cleave ") ? " --help-all" : " --help"));
    if (help.exit_code != 0) return help.err;
    const std::size_t usage = help.out.find("Usage: ") + 7;
    const std::string group = help.out.substr(usage, help.out.find(" [OPTIONS] COMMAND") - usage);
    if (command.starts_with(group + " ")) return group + " has no such command";
    for (const std::string& option : long_options_of(mention))
      if (help.out.find(option) == std::string::npos)
        return fmt::format("{} has no {}", command, option);
  }
  return {};
}

/// Checks each once.
template <class Find, class Wrong>
std::size_t check(const Find& find, const Wrong& wrong) {
  std::set<std::string> seen;
  for (const ShownText& text : all_texts())
    for (const std::string& each : find(text)) {
      if (!seen.insert(each).second) continue;
      const std::string what = wrong(each);
      EXPECT_EQ(what, "") << text.name << " shows " << each;
    }
  return seen.size();
}

TEST(Shown, SpecsAreTaken) {
  EXPECT_GE(check([](const ShownText& text) { return specs_in(text.text); }, wrong_with_spec), 8U);
  const auto of_schedulers = [](const ShownText& text) {
    return text.name == "schedulers.md" ? options_in(text.text) : std::vector<std::string>();
  };
  EXPECT_GT(check(of_schedulers, wrong_with_option), 2U);
}

TEST(Shown, CommandLinesAreUnderstood) {
  const auto find = [](const ShownText& text) { return calls_in(text.text, text.help); };
  EXPECT_GT(check(find, wrong_with_call), 60U);
}

TEST(Shown, CommandsInSentencesExist) {
  const auto find = [](const ShownText& text) { return mentions_in(text.text); };
  EXPECT_GT(check(find, wrong_with_mention), 40U);
}

TEST(Shown, OptionsInSentencesExist) {
  std::string helps;
  for (const ShownText& text : all_texts())
    if (text.help) helps += text.text;
  const auto find = [](const ShownText& text) { return lone_options_in(text.text); };
  const auto wrong = [&](const std::string& option) {
    // Followed by a type, a default or the end of the name, not by more of a longer name.
    for (const char* end : {" ", ",", "\n", ":", "="})
      if (helps.find(option + end) != std::string::npos) return std::string();
    return std::string("no program has it");
  };
  EXPECT_GT(check(find, wrong), 60U);
  EXPECT_EQ(wrong("--fleet"), "");
  EXPECT_NE(wrong("--flee"), "");
}

TEST(Shown, ASampleConfigurationCanBeUsed) {
  const Scratch scratch;
  const std::string sample = printed("cleaved --sample-config");
  const auto check = [&](const std::string& text) {
    return shell("cleaved --check-config " + scratch.write("cleaved.toml", text));
  };
  const Outcome outcome = check(with_values(sample));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(check(with_values(sample) + "no_such_key = 1\n").exit_code, 0);
  EXPECT_NE(check(with_values("#scheduler = \"online:order=priority\"\n")).exit_code, 0);
}

// The checks themselves.

TEST(Shown, WhatIsWrongIsFound) {
  EXPECT_EQ(specs_in("as in \"online:threshold=0.4\", or `miso:gain=1;reuse=on`."),
            (std::vector<std::string>{"online:threshold=0.4", "miso:gain=1;reuse=on"}));
  EXPECT_EQ(wrong_with_spec("online:threshold=0.4"), "");
  for (const char* spec : {"online:order=priority", "online:threshold=7", "onlin:threshold=0.4",
                           "trend:plateau=perhaps", "normal-25:job=3"})
    EXPECT_NE(wrong_with_spec(spec), "") << spec;
  EXPECT_EQ(wrong_with_option("shares=equal"), "");
  EXPECT_NE(wrong_with_option("shares=unequal"), "");

  const std::string text =
      "cleave not this\n```sh\n$ cleave gpu A30-24GB | cleave layout 'a;b' >x # cleave y\ncleaved "
      "--check-config 2> log &\n"
      "sudo X=1 cleave submit \\\n  -- python a.py\n```\n";
  EXPECT_EQ(calls_in(text, false),
            (std::vector<std::string>{"cleave gpu A30-24GB", "cleave layout 'a;b'",
                                      "cleaved --check-config", "cleave submit  -- python a.py"}));
  EXPECT_EQ(wrong_with_call("cleave submit --priority 3 -- python a.py"), "");
  for (const char* call : {"cleave simulat", "cleave simulate --flet 1xA30-24GB", "cleave place",
                           "cleave submit --priority high -- python a.py", "cleaved --simulate"})
    EXPECT_NE(wrong_with_call(call), "") << call;

  EXPECT_EQ(mentions_in("by `cleave plan deploy|compact --fleet F`, not `clover`"),
            std::vector<std::string>{"cleave plan deploy|compact --fleet F"});
  EXPECT_EQ(wrong_with_mention("cleave plan deploy|compact --fleet F"), "");
  EXPECT_NE(wrong_with_mention("cleave plan deploy|contract --fleet F"), "");
  EXPECT_NE(wrong_with_mention("cleave plan deploy --flet F"), "");

  EXPECT_EQ(with_values("# A key.\n#key = 1\nother = 2\n"), "# A key.\nkey = 1\nother = 2\n");
}

}  // namespace
}  // namespace cleave
