// Which room may include which, and which library each may use: the map of the rooms, compared with
// the actual includes. A room is a folder under src/.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>

#include "source_tree.hpp"

namespace cleave::repository {
namespace {

/// What a room may include beside itself and the standard libraries, as words: rooms, single
/// headers of rooms, and libraries by the start of their headers' names.
struct Room {
  std::string_view name;
  std::string_view rooms;
  std::string_view libraries;
};

constexpr Room house[] = {
    {"base", "", "fmt/ nlohmann/ zlib.h"},
    {"model", "base", ""},
    {"graph", "base model", ""},
    {"physics", "base model", ""},
    {"forecast", "base model physics", "xgboost/"},
    {"placement", "base model graph", ""},
    {"planner", "base model graph physics placement", "coin/"},
    {"engine", "base model graph physics forecast placement planner", ""},
    {"slurm", "base model graph physics forecast placement planner engine", ""},
    {"kube", "base model graph placement", ""},
    // Nothing above this line touches the world.
    {"device", "base model", ""},
    {"nvmlsim", "base model graph physics", ""},
    {"smi", "base model device nvmlsim/monitors_abi.hpp", ""},
    {"certify",
     "base model device smi/nvml.hpp nvmlsim/monitors_abi.hpp nvmlsim/function_rows.hpp "
     "nvmlsim/sim_node.hpp",
     ""},
    {"cudatrace", "", ""},  // it is loaded into other people's programs
    {"simulate", "base model graph physics forecast placement planner engine", "zlib.h"},  // tests
    {"report", "base model graph physics placement planner simulate", ""},
    {"runner", "base model physics nvmlsim/sim_node.hpp", ""},
    {"control",
     "base model graph physics forecast placement planner engine device runner "
     "nvmlsim/sim_node.hpp",
     ""},
    {"api", "base model", "boost/beast boost/asio"},         // Beast's own faces speak of Asio
    {"kubeapi", "base", "boost/beast boost/asio openssl/"},  // OpenSSL itself in tests alone
    {"manual", "base", "CLI/"},
    {"kubenode", "base model kube kubeapi api runner nvmlsim/sim_node.hpp", ""},
    {"kubecontrol", "base model planner kube kubeapi kubenode", ""},
    {"kubelet", "base model kube kubeapi kubenode kubecontrol api manual",
     "grpcpp/ kubelet_protocol/"},
    {"daemon",
     "base model graph physics forecast placement planner engine device runner control api "
     "manual nvmlsim/sim_node.hpp nvmlsim/sim_holders.hpp",
     "boost/ sqlite3.h spdlog/ toml++/ prometheus/"},
    {"cli",
     "base model graph physics forecast placement planner engine device nvmlsim/sim_node.hpp "
     "nvmlsim/sim_host.hpp nvmlsim/host_writer.hpp certify simulate report runner control api "
     "manual cudatrace slurm",
     ""},
    {"study",
     "base model graph physics forecast placement planner engine device nvmlsim/sim_node.hpp "
     "simulate runner control api cli slurm",
     "coin/"},
};

/// What any *_test.cpp, and a *_test.hpp that several of them share, may use in addition.
constexpr std::string_view test_libraries = "gtest/ rapidcheck.h rapidcheck/";

/// Headers of POSIX, Linux and the processor that belong to no library of the table. Those of C++
/// need no list: their names have neither a dot nor a folder.
constexpr std::string_view system_folders = "sys/ linux/ netinet/ arpa/ net/";
constexpr auto system_headers = std::to_array<std::string_view>(
    {"aio.h",      "cxxabi.h",  "dirent.h", "dlfcn.h",     "elf.h",    "emmintrin.h", "errno.h",
     "fcntl.h",    "fnmatch.h", "ftw.h",    "getopt.h",    "glob.h",   "grp.h",       "libgen.h",
     "limits.h",   "link.h",    "locale.h", "malloc.h",    "netdb.h",  "poll.h",      "pty.h",
     "pthread.h",  "pwd.h",     "sched.h",  "semaphore.h", "signal.h", "spawn.h",     "stdint.h",
     "stdio.h",    "stdlib.h",  "string.h", "strings.h",   "syslog.h", "termios.h",   "time.h",
     "ucontext.h", "unistd.h",  "utime.h",  "wait.h"});

bool starts_with_one_of(std::string_view header, std::string_view words) {
  return std::ranges::any_of(words | std::views::split(' '), [&](const auto& word) {
    const std::string_view start(word.begin(), word.end());
    return !start.empty() && header.starts_with(start);
  });
}

bool is_system(std::string_view header) {
  if (header.find_first_of("./") == std::string_view::npos) return true;  // <vector>
  return std::ranges::find(system_headers, header) != system_headers.end() ||
         starts_with_one_of(header, system_folders);
}

bool names(std::string_view words, std::string_view one) {
  return std::ranges::any_of(words | std::views::split(' '), [&](const auto& word) {
    return std::string_view(word.begin(), word.end()) == one;
  });
}

struct Include {
  std::string header;
  bool quoted;
};

std::optional<Include> include_of(std::string_view line) {
  const auto skip = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(std::string_view("include").size());
  skip();
  if (!line.starts_with('"') && !line.starts_with('<')) return {};
  const bool quoted = line.front() == '"';
  const std::size_t end = line.find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos) return {};
  return Include{std::string(line.substr(1, end - 1)), quoted};
}

/// What is wrong with one include of a file of this room; empty if it is allowed.
std::string wrong(const Room& room, bool is_test, const Include& include) {
  const auto& [header, quoted] = include;
  const std::string name(room.name);
  if (!quoted) {
    if (is_system(header) || starts_with_one_of(header, room.libraries)) return {};
    if (is_test && starts_with_one_of(header, test_libraries)) return {};
    return name + "/ may not use <" + header + ">: its libraries are [" +
           std::string(room.libraries) + "]";
  }
  if (!std::filesystem::is_regular_file(root() / "src" / header))
    return "there is no src/" + header + "; includes in quotes are named from src/";
  const std::string_view other = std::string_view(header).substr(0, header.find('/'));
  if (other == room.name || names(room.rooms, other) || names(room.rooms, header)) return {};
  if (is_test && header.starts_with("base/") && header.ends_with("_test.hpp")) return {};
  return name + "/ may not include \"" + header + "\": it may include [" + std::string(room.rooms) +
         "]";
}

std::vector<std::string> wrong_includes(const SourceFile& file) {
  const std::string_view below =
      std::string_view(file.path).substr(std::string_view("src/").size());
  const std::string_view name = below.substr(0, below.find('/'));
  const auto* room = std::ranges::find(house, name, &Room::name);
  if (room == std::end(house))
    return {finding(
        file, 0,
        "no room is called " + std::string(name) + "; rooms are in the table of this test")};
  std::vector<std::string> findings;
  const bool is_test = file.ends_with("_test.cpp") || file.ends_with("_test.hpp");
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const auto include = include_of(file.lines[i]);
    if (!include) continue;
    if (const std::string what = wrong(*room, is_test, *include); !what.empty())
      findings.push_back(finding(file, i, what));
  }
  return findings;
}

TEST(Rooms, IncludeOnlyWhatTheyMay) {
  const std::vector<SourceFile> files = cpp_under({"src"});
  ASSERT_GT(files.size(), 50U) << "the sources were not found at " << root();
  std::vector<std::string> findings;
  for (const SourceFile& file : files)
    for (const std::string& each : wrong_includes(file)) findings.push_back(each);
  EXPECT_TRUE(findings.empty()) << listed(findings);
}

TEST(Rooms, ARoomThatReachesUpIsFound) {
  const auto findings = wrong_includes(made_up("src/model/upward.cpp",
                                               "#include \"model/job.hpp\"\n"
                                               "#include <vector>\n"
                                               "#include \"graph/state_graph.hpp\"\n"
                                               "#  include <fmt/format.h>\n"
                                               "#include \"base/no_such.hpp\"\n"
                                               "#include \"job.hpp\"\n"
                                               "#include <unistd.h>\n"));
  ASSERT_EQ(findings.size(), 4U) << listed(findings);
  EXPECT_EQ(findings[0],
            "src/model/upward.cpp:3: model/ may not include \"graph/state_graph.hpp\": it may "
            "include [base]");
  EXPECT_EQ(findings[1],
            "src/model/upward.cpp:4: model/ may not use <fmt/format.h>: its libraries are []");
  EXPECT_TRUE(findings[2].starts_with("src/model/upward.cpp:5: there is no src/base/no_such.hpp"));
  EXPECT_TRUE(findings[3].starts_with("src/model/upward.cpp:6: there is no src/job.hpp"));
}

TEST(Rooms, OnlyTestsUseTheTestLibraries) {
  constexpr std::string_view text = "#include <gtest/gtest.h>\n#include <rapidcheck.h>\n";
  EXPECT_TRUE(wrong_includes(made_up("src/graph/state_graph_test.cpp", text)).empty());
  EXPECT_EQ(wrong_includes(made_up("src/graph/state_graph.cpp", text)).size(), 2U);
  // A test has its room's rights and no more.
  EXPECT_EQ(wrong_includes(
                made_up("src/graph/state_graph_test.cpp", "#include \"placement/fleet.hpp\"\n"))
                .size(),
            1U);
}

TEST(Rooms, AnUnknownRoomIsFound) {
  EXPECT_EQ(wrong_includes(made_up("src/attic/box.cpp", "")).size(), 1U);
}

TEST(Rooms, OneHeaderOfARoomMayBeItsOnlyFace) {
  const auto* runner = std::ranges::find(house, "runner", &Room::name);
  EXPECT_TRUE(names(runner->rooms, "nvmlsim/sim_node.hpp"));
  EXPECT_FALSE(names(runner->rooms, "nvmlsim"));
}

}  // namespace
}  // namespace cleave::repository
