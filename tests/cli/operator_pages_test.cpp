// The operator's pages word by word: every command that docs/service.md, docs/daemon.md and
// docs/cleaved.md have their readers type is typed here, on simulated GPUs and without root. What
// stands in for the machine: `sudo` runs its arguments, `systemctl` starts and stops the daemon as
// its unit does, folders such as /etc/cleave are in a folder of the test's own.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/text.hpp"
#include "program.hpp"

namespace cleave::testing_program {
namespace {

/// The commands of the fenced blocks of a page that are to be typed, one a line, without what
/// follows #.
std::vector<std::string> typed_in(const std::string& page) {
  std::vector<std::string> commands;
  bool fenced = false;
  const std::string text = text_of(source_dir() + "/docs/" + page);
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("```")) {
      fenced = line == "```sh";
      continue;
    }
    if (!fenced) continue;
    for (const std::string_view part : split(line.substr(0, line.find(" #")), ';'))
      if (!trimmed(part).empty()) commands.emplace_back(trimmed(part));
  }
  return commands;
}

/// The commands in the second column of the page's first table, as they stand in back quotes.
std::vector<std::string> in_the_table(const std::string& page) {
  static const std::regex call("`((?:sudo |systemctl |cleaved? |apt |cmake )[^`]*)`");
  std::vector<std::string> commands;
  const std::string text = text_of(source_dir() + "/docs/" + page);
  for (const std::string_view row : split(text, '\n')) {
    if (!row.starts_with("| ")) continue;
    const std::string line(row);
    for (std::sregex_iterator match(line.begin(), line.end(), call), end; match != end; ++match)
      commands.push_back((*match)[1]);
  }
  return commands;
}

/// A machine that has Cleave's programs and nothing of systemd.
class Operator : public testing::Test {
 protected:
  Operator() {
    for (const char* folder : {"bin", "etc", "lib", "backup", "elsewhere"})
      std::filesystem::create_directory(scratch_.path(folder));
    script("sudo", "exec \"$@\"\n");
    script("cleaved", R"(case "$1" in
  check | backup) what=$1; shift; exec "$PROGRAMS/cleaved" "$what" --state "$HERE/lib" "$@" ;;
  --sample-config) exec "$PROGRAMS/cleaved" "$@" ;;
  --check-config) exec "$PROGRAMS/cleaved" --check-config "${2:-$HERE/etc/cleaved.toml}" ;;
esac
case "$*" in *--simulate*) ;; *) set -- --simulate 2xA100-40GB "$@" ;; esac
exec "$PROGRAMS/cleaved" --config "$HERE/etc/cleaved.toml" --state "$HERE/lib" \
  --socket "$HERE/sock" "$@" > "$HERE/log" 2>&1
)");
    script("systemctl", R"(pid=$(cat "$HERE/pid" 2> /dev/null)
stop() {
  kill "$pid"
  while kill -0 "$pid" 2> /dev/null; do sleep 0.02; done
}
start() {
  "$HERE/bin/cleaved" &
  echo $! > "$HERE/pid"
  soon "cleave ps"
}
case "$*" in
  daemon-reload) ;;
  "enable --now cleaved" | "start cleaved") start ;;
  "reload cleaved") kill -HUP "$pid" ;;
  "restart cleaved") stop; start ;;
  "stop cleaved") stop ;;
  *) echo "systemctl $*: not known here" >&2; exit 1 ;;
esac
)");
    script("soon",  // soon 'COMMAND': until it succeeds
           "for i in $(seq 500); do sh -c \"$1\" > \"$HERE/last\" 2>&1 && exit 0; sleep 0.04; "
           "done\n"
           "echo \"never: $1\" >&2; cat \"$HERE/last\" \"$HERE/log\" >&2; exit 1\n");
  }
  ~Operator() override {
    shell(
        in_place("cleave ps && cleave cancel --all --now && cleave wait --all; "
                 "pid=$(cat \"$HERE/pid\") && kill $pid && "
                 "while kill -0 $pid; do sleep 0.02; done"));
  }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  [[nodiscard]] std::string in_place(const std::string& command) const {
    return fmt::format(
        "export HERE='{0}' PROGRAMS='{1}/bin' CLEAVE_SOCKET='{0}/sock'; PATH=\"$HERE/bin:$PATH\"; "
        "{2}",
        scratch_.path(""), binary_dir(), command);
  }

  /// As a page has it, in the folders of this machine; fails the test unless it exits with 0.
  std::string ran(std::string command) const {
    for (const auto& [of_page, here] : std::vector<std::pair<std::string, std::string>>{
             {"/etc/cleave", scratch_.path("etc")},
             {"/var/lib/cleave", scratch_.path("lib")},
             {"/backup", scratch_.path("backup")},
             {"/elsewhere", scratch_.path("elsewhere")}})
      command = std::regex_replace(command, std::regex(of_page + "(?![a-z])"), here);
    const Outcome outcome = shell(in_place(command));
    EXPECT_EQ(outcome.exit_code, 0) << command << '\n' << outcome.out << outcome.err << log();
    return outcome.out + outcome.err;
  }
  [[nodiscard]] std::string log() const { return text_of(scratch_.path("log")); }
  [[nodiscard]] std::string path(const std::string& name) const { return scratch_.path(name); }

  /// "set managed_gpus": the comment behind the command, followed.
  void name_gpus() const {
    std::string config = text_of(path("etc/cleaved.toml"));
    config = std::regex_replace(config, std::regex("#managed_gpus = .*"), "managed_gpus = [0, 1]");
    std::ofstream(path("etc/cleaved.toml")) << config;
  }

 private:
  void script(const std::string& name, const std::string& text) const {
    const std::string file = scratch_.path("bin/" + name);
    std::ofstream(file) << "#!/bin/sh\n" << text;
    ::chmod(file.c_str(), 0755);
  }

  Scratch scratch_;
};

/// What is left of `commands`, without this one, which must be among them.
void take(std::vector<std::string>& commands, const std::string& command) {
  const auto found = std::ranges::find(commands, command);
  ASSERT_NE(found, commands.end()) << "the page no longer has: " << command;
  commands.erase(found);
}

TEST_F(Operator, SetsUpAndTendsTheServiceAsThePageSays) {
  for (const std::string& command : typed_in("service.md")) {
    const std::string said = ran(command);
    if (command.contains("--sample-config")) name_gpus();
    EXPECT_TRUE(!command.contains("--check-config") || said.contains("it can be used")) << said;
  }
  EXPECT_TRUE(ran("systemctl daemon-reload").empty());
  ran("cleave submit --name long -- sleep 1000");
  ran("soon 'cleave ps | grep running'");

  std::vector<std::string> table = in_the_table("service.md");
  const auto typed = [&](const std::string& command, const std::string& also = "") {
    take(table, command);
    return ran(command + also);
  };
  ran("sed -i 's/#early_restarts_a_day = .*/early_restarts_a_day = 7/' /etc/cleave/cleaved.toml");
  typed("systemctl reload cleaved", "; soon 'grep early_restarts_a_day $HERE/log'");
  typed("cleave pause");
  EXPECT_TRUE(ran("cleave top --once").contains("PAUSED")) << "the reader sees it";
  ran("cleave resume");
  typed("systemctl restart cleaved");
  EXPECT_TRUE(ran("cleave ps").contains("long")) << "jobs keep running";
  take(table, "cleaved backup FILE");
  ran("cleaved backup /backup/monday.db");
  typed("cleaved check");
  typed("cleave purge --older 1d --user all");
  typed("cleave cancel --now", " 1; cleave wait 1 || true");
  EXPECT_TRUE(ran("cleave show 1").contains("cancelled"));
  typed("systemctl stop cleaved");
  ran("systemctl start cleaved");
  EXPECT_TRUE(ran("cleave ps --all").contains("long")) << "the next daemon knows it";
  // What changes the machine itself: tools/try-packages.sh does it, on one of its own.
  for (const char* elsewhere :
       {"apt install", "cmake --install", "systemctl edit cleaved", "systemctl stop cleave-jobs",
        "apt remove cleaved", "systemctl disable --now cleaved cleave-jobs"})
    take(table, elsewhere);
  EXPECT_TRUE(table.empty()) << table.front() << " is not tried";
}

TEST_F(Operator, StartsADaemonAndLooksAtJobsAsThePageSays) {
  std::vector<std::string> page = typed_in("daemon.md");
  std::ofstream(path("etc/cleaved.toml")) << "";
  ASSERT_TRUE(page.front().starts_with("cleaved --simulate ")) << page.front();
  ASSERT_TRUE(page.front().ends_with("&")) << page.front();
  ran(fmt::format("cd '{}'; {} echo $! > \"$HERE/pid\"; soon 'cleave ps'", path(""), page.front()));
  page.erase(page.begin());
  for (const std::string& command : page) {
    if (command == "cleave top") {
      ran("cleave top --once");  // it stays until it is left
    } else if (command.contains("train.py")) {
      ran("cleave submit --application resnet --batch 64 -- python3 -c pass");
    } else if (command == "cleave logs -f 1") {
      ran("cleave wait 1 & cleave cancel --now 1 > /dev/null; wait; cleave logs -f 1");
    } else {
      ran(command);
    }
    if (command.contains("--sample-config")) name_gpus();
  }
}

TEST_F(Operator, ChecksBacksUpAndRestoresAsThePageSays) {
  std::vector<std::string> page = typed_in("cleaved.md");
  ran("cleaved --sample-config > /etc/cleave/cleaved.toml");
  name_gpus();
  take(page, "cleaved --simulate 4xA100-40GB");
  ran("systemctl start cleaved; cleave submit --name kept --wait -- true");
  std::string restore;
  for (std::string command : page) {
    if (command == "cd /var/lib/cleave") restore = "systemctl stop cleaved; rm \"$HERE/pid\"";
    if (!restore.empty()) {
      restore += command.starts_with("mv ") ? " && " : "; ";       // never elsewhere
      if (command.starts_with("mv ")) command += " 2> /dev/null";  // "what is there of them"
      if (command == "cleaved check") command += " || true";       // it lists what is lacking
      if (command.contains("--accept-loss"))
        command += " & echo $! > \"$HERE/pid\"; soon 'cleave ps'";
      restore += command;
      continue;
    }
    command = std::regex_replace(
        command, std::regex(" FILE$"),
        command.contains("backup") ? " /backup/other.db" : " /etc/cleave/cleaved.toml");
    ran(command);
  }
  ran("cleave submit --name later --wait -- true");
  const std::string restored = ran(restore);
  const std::string jobs = ran("cleave ps --all");
  EXPECT_TRUE(jobs.contains("kept")) << jobs;
  EXPECT_FALSE(jobs.contains("later")) << "the backup was made before it:\n"
                                       << jobs << restored << log();
  EXPECT_EQ(ran("cleave submit -- true"), "job 3\n") << "its number is not given again";
}

}  // namespace
}  // namespace cleave::testing_program
