// Other users cannot see a job, and nothing that a user names harms the daemon.

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/text.hpp"
#include "daemon_stand.hpp"
#include "runner/control_groups.hpp"
#include "runner/driver_root_test.hpp"

namespace cleave::whole {
namespace {

using std::chrono::milliseconds;

constexpr uid_t nobody = 65534, daemon_user = 1;  // both are users of every system

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// `cleave` as that user; its output is in the file.
int cleave_as(uid_t uid, const DaemonStand& stand, const std::string& arguments,
              const std::string& said = "said") {
  const std::string file = stand.path(said);
  std::filesystem::remove(file);
  const std::string line =
      fmt::format("HOME=/ CLEAVE_SOCKET='{}' PATH='{}/bin':/usr/bin:/bin cleave {}", stand.socket(),
                  binary_dir(), arguments);
  const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const int code = as_user(uid, [&] {
    ::dup2(out, 1);
    ::dup2(out, 2);
    if (::chdir("/") != 0) return 97;
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    return 96;
  });
  ::close(out);
  return code;
}

/// Whether that user may run the programs where they were built.
bool reaches_programs(uid_t uid) {
  const std::string program = binary_dir() + "/bin/cleave";
  return as_user(uid, [&] { return ::access(program.c_str(), X_OK) == 0 ? 0 : 1; }) == 0;
}

class OtherUser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
    if (!reaches_programs(nobody)) GTEST_SKIP() << "the programs lie where other users do not come";
  }
};

TEST_F(OtherUser, FindsAJobNowhere) {
  StandOptions options;
  options.config = "allow_unfenced_users = true\n";
  DaemonStand stand(options);
  const std::int64_t job = stand.submit("--name secret -- sh -c 'echo word; sleep 20'");
  ASSERT_TRUE(stand.wait_for_state(job, "running"));
  for (const std::string what : {"show", "logs", "cancel", "wait"}) {
    EXPECT_NE(cleave_as(nobody, stand, fmt::format("{} {}", what, job)), 0) << what;
    const std::string said = text_of(stand.path("said"));
    EXPECT_TRUE(has(said, "no job") || has(said, "no such") || has(said, "not")) << said;
    EXPECT_FALSE(has(said, "secret") || has(said, "word")) << said;
  }
  EXPECT_EQ(cleave_as(nobody, stand, "ps --all"), 0);
  EXPECT_FALSE(has(text_of(stand.path("said")), "secret")) << text_of(stand.path("said"));
  EXPECT_EQ(cleave_as(nobody, stand, "events"), 0);
  EXPECT_FALSE(has(text_of(stand.path("said")), fmt::format("job {}", job)));
  for (const std::string what : {"pause", "drain 0", "scheduler static", "ps --user all"})
    EXPECT_NE(cleave_as(nobody, stand, what), 0) << what;
  EXPECT_EQ(stand.state_of(job), "running");
  // On the disk.
  const std::string folder = fmt::format("{}/jobs/{}.1", stand.state(), job);
  for (const std::string each : {"", "/user", "/user/stdout.log", "/launch.json", "/user/report",
                                 "/control", "/outcome.json"}) {
    const std::string path = folder + each;
    EXPECT_EQ(as_user(nobody,
                      [&] {
                        return ::open(path.c_str(), O_RDONLY) < 0 && ::chdir(path.c_str()) != 0 ? 0
                                                                                                : 1;
                      }),
              0)
        << path;
  }
  for (const std::string each : {"store.db", "audit.log"})
    if (std::filesystem::exists(stand.state() + "/" + each)) {
      const std::string path = stand.state() + "/" + each;
      EXPECT_EQ(as_user(nobody, [&] { return ::access(path.c_str(), R_OK) != 0 ? 0 : 1; }), 0)
          << each;
    }
  // Other users cannot report for it, even if they learn the name of the socket.
  const std::string report = folder + "/user/report";
  EXPECT_EQ(as_user(nobody,
                    [&] {
                      sockaddr_un address{};
                      address.sun_family = AF_UNIX;
                      report.copy(address.sun_path, sizeof address.sun_path - 1);
                      const int from = ::socket(AF_UNIX, SOCK_DGRAM, 0);
                      return ::connect(from, reinterpret_cast<sockaddr*>(&address),
                                       sizeof address) != 0
                                 ? 0
                                 : 1;
                    }),
            0);
  const Json supervisors = Json(stand.supervisors());
  for (const pid_t pid : stand.supervisors())
    EXPECT_EQ(as_user(nobody, [&] { return ::kill(pid, SIGTERM) != 0 ? 0 : 1; }), 0);
  EXPECT_EQ(stand.run(fmt::format("cancel {}", job)).exit_code, 0);
}

TEST_F(OtherUser, HasJobsOfTheirOwnOneUserAtATimeUnlessAllowed) {
  StandOptions options;
  DaemonStand stand(options);
  EXPECT_EQ(cleave_as(nobody, stand, "submit -- sh -c 'id -u; sleep 20'"), 0)
      << text_of(stand.path("said"));
  ASSERT_TRUE(stand.wait_for_state(1, "running"));
  EXPECT_EQ(stand.job(1)["uid"], nobody);
  EXPECT_TRUE(stand.wait_until([&] { return stand.run("logs 1").out == "65534\n"; }))
      << stand.run("logs 1").out;
  EXPECT_NE(cleave_as(daemon_user, stand, "submit -- true"), 0);
  EXPECT_TRUE(has(text_of(stand.path("said")), "allow_unfenced_users"))
      << text_of(stand.path("said"));
  EXPECT_NE(stand.run("submit -- true").exit_code, 0) << "nor root";
  EXPECT_EQ(cleave_as(nobody, stand, "cancel 1"), 0) << text_of(stand.path("said"));
  (void)stand.over(1);
  EXPECT_EQ(cleave_as(daemon_user, stand, "submit --wait -- true"), 0)
      << text_of(stand.path("said"));
  stand.reload("allow_unfenced_users = true\n");
  EXPECT_TRUE(
      stand.wait_until([&] { return has(stand.log(), "allow_unfenced_users: false -> true"); }));
  const std::int64_t roots = stand.submit("-- sleep 20");
  EXPECT_EQ(cleave_as(nobody, stand, "submit --wait -- true"), 0) << text_of(stand.path("said"));
  EXPECT_EQ(stand.run(fmt::format("cancel {}", roots)).exit_code, 0);
}

TEST_F(OtherUser, IsServedAsAMemberOfAnAllowedGroup) {
  StandOptions options;
  options.config = "allow_unfenced_users = true\nallowed_groups = [\"no-such-group\"]\n";
  DaemonStand stand(options);
  ASSERT_TRUE(stand.wait_until_ready());
  EXPECT_TRUE(has(stand.log(), "allowed_groups: there is no group 'no-such-group'")) << stand.log();
  for (const uid_t each : {nobody, daemon_user}) {
    EXPECT_NE(cleave_as(each, stand, "submit -- true"), 0);
    EXPECT_TRUE(has(text_of(stand.path("said")), "in none of the groups that are served"))
        << text_of(stand.path("said"));
  }
  EXPECT_EQ(stand.run("submit --wait -- true").exit_code, 0) << "but root is";
  stand.reload("allow_unfenced_users = true\nallowed_groups = [\"nogroup\"]\n");
  EXPECT_TRUE(stand.wait_until([&] { return has(stand.log(), "allowed_groups: "); }));
  EXPECT_TRUE(stand.wait_until([&] { return cleave_as(nobody, stand, "submit -- sleep 20") == 0; }))
      << text_of(stand.path("said"));
  EXPECT_NE(cleave_as(daemon_user, stand, "ps"), 0);
  EXPECT_TRUE(has(text_of(stand.path("said")), "allowed_groups: nogroup"))
      << text_of(stand.path("said"));
  // Who may no longer come leaves jobs behind, which go on.
  ASSERT_TRUE(stand.wait_for_state(2, "running"));
  stand.reload("allow_unfenced_users = true\nallowed_groups = [\"daemon\"]\n");
  EXPECT_TRUE(stand.wait_until([&] { return cleave_as(daemon_user, stand, "ps") == 0; }));
  EXPECT_NE(cleave_as(nobody, stand, "cancel 2"), 0);
  EXPECT_EQ(stand.state_of(2), "running");
  EXPECT_EQ(stand.run("cancel 2").exit_code, 0);
}

/// The lines of a job's output that end so.
std::vector<std::string> nodes_said(const std::string& output, std::string_view end) {
  std::vector<std::string> found;
  for (const std::string_view line : split(output, '\n'))
    if (line.ends_with(end)) found.emplace_back(line.substr(0, line.size() - end.size()));
  return found;
}

/// Stand-ins for the nodes of the driver, which the daemon finds described below a folder.
TEST_F(OtherUser, HasJobsBesideThoseOfOthersWhereNodesAreFenced) {
  if (!make_group_places().fence()) GTEST_SKIP() << "this system has no fences";
  const TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0755);
  const auto nodes = folder.path() / "dev";
  std::filesystem::create_directory(nodes);
  std::vector<DeviceNumber> all = {{driver_root::gpu_major, driver_root::control_minor}};
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    all.push_back({driver_root::gpu_major, gpu});
    for (std::uint32_t instance = 0; instance < driver_root::gpu_instances; ++instance)
      for (const auto& compute : {std::optional<std::uint32_t>(), std::optional(0U)})
        all.push_back(driver_root::capability(gpu, instance, compute));
  }
  for (const DeviceNumber& each : all)
    if (!driver_root::make_node(nodes, each)) GTEST_SKIP() << "no device nodes in " << nodes;
  driver_root::make(folder.path() / "root", 2);
  StandOptions options;
  options.config = fmt::format("driver_root = \"{}\"\n", (folder.path() / "root").string());
  DaemonStand stand(options);
  // A script, since its quotes would not survive the shells on the way.
  std::ofstream(folder.path() / "try.sh") << driver_root::tries(nodes) << "sleep 30\n";
  const std::string submit =
      fmt::format("submit --profile 1g.5gb -- sh {}", (folder.path() / "try.sh").string());
  ASSERT_EQ(cleave_as(nobody, stand, submit), 0) << text_of(stand.path("said"));
  ASSERT_EQ(cleave_as(daemon_user, stand, submit), 0) << text_of(stand.path("said"));
  std::vector<std::string> seen;
  for (const std::int64_t job : {1, 2}) {
    ASSERT_TRUE(stand.wait_until([&] {
      return std::ranges::count(stand.run(fmt::format("logs {}", job)).out, '\n') ==
             std::ssize(all);
    }));
    const auto open = nodes_said(stand.run(fmt::format("logs {}", job)).out, " open");
    ASSERT_EQ(open.size(), 4U) << "the control node, its GPU, its GPU and compute instance";
    EXPECT_EQ(std::ranges::count(open, "195:255"), 1);
    for (const std::string& each : open)
      if (each.starts_with("507:")) {
        EXPECT_EQ(std::ranges::count(seen, each), 0) << each << " is another's";
        seen.push_back(each);
      }
  }
  EXPECT_EQ(seen.size(), 4U);
  const std::string doctor = stand.run("doctor").out;
  EXPECT_TRUE(has(doctor, "device nodes of its own instance only")) << doctor;
  for (const std::int64_t job : {1, 2})
    EXPECT_EQ(stand.run(fmt::format("cancel --now {}", job)).exit_code, 0);
}

TEST_F(OtherUser, IsNotServedByAnothersDaemon) {
  StandOptions options;
  options.user = nobody;
  DaemonStand stand(options);
  EXPECT_EQ(cleave_as(nobody, stand, "submit --wait -- sh -c 'test $(id -u) = 65534'"), 0)
      << text_of(stand.path("said"));
  for (const std::string what : {"ps", "submit -- true", "show 1", "gpus"})
    if (what != "gpus") {
      EXPECT_NE(cleave_as(daemon_user, stand, what), 0) << what;
    }
  EXPECT_EQ(stand.run("ps --all --user all").exit_code, 0) << "root may look";
  EXPECT_NE(stand.run("submit -- true").exit_code, 0) << "and has no jobs there";
}

TEST(PathsOfUsers, DoNothingToTheDaemon) {
  DaemonStand stand;
  const std::string root = stand.path("paths");
  std::filesystem::create_directory(root);
  ::chmod(root.c_str(), 0777);
  ASSERT_EQ(::mkfifo((root + "/fifo").c_str(), 0666), 0);
  std::filesystem::create_symlink("/etc/shadow", root + "/link");
  std::filesystem::create_directory_symlink(root + "/circle", root + "/circle");
  for (const std::string& each : {root + "/fifo", root + "/link", root + "/circle",
                                  std::string("/dev/zero"), root + "/absent"}) {
    const std::int64_t job = stand.submit("-- true") + 1;
    const Json body{{"command", {"true"}}, {"environment", Json::array()}, {"directory", each}};
    const auto answer = stand.ask("POST", "/v1/jobs", body.dump());
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ((*answer)["id"], job);
    const Json over = stand.over(job);
    EXPECT_EQ(over["state"], "failed") << each << over.dump();
    EXPECT_TRUE(has(over["reason"], "could not be started")) << over["reason"];
  }
  // The job replaces files in its own folder: logs become a link, a FIFO, a device's name, a
  // folder.
  for (const std::string with :
       {"ln -sf /etc/shadow $d/stdout.log", "rm -f $d/stdout.log; mkfifo $d/stdout.log",
        "rm -f $d/stdout.log; mkdir $d/stdout.log", "rm -f $d/report; mkfifo $d/report",
        "mkfifo $d/outcome.json $d/lock; ln -s $d/.. $d/control; true",
        "ln -sf /dev/zero $d/stderr.log"}) {
    const std::int64_t job = stand.submit(fmt::format(
        "--stop-grace 0.5 -- sh -c 'd={}/jobs/$CLEAVE_JOB.1/user; {}; echo done; sleep 0.1'",
        stand.state(), with));
    const Json over = stand.over(job);
    EXPECT_TRUE(over["state"] == "finished" || over["state"] == "failed") << with << over.dump();
    for (const std::string stream : {"", "--stderr"}) {
      const Outcome logs = stand.run(fmt::format("logs {} {}", stream, job));
      EXPECT_FALSE(has(logs.out, "root:")) << with;
      EXPECT_LT(logs.out.size(), 1000U) << with;
    }
    EXPECT_TRUE(stand.runs()) << with;
  }
  EXPECT_EQ(stand.stop(), 0);
  stand.start();
  EXPECT_TRUE(stand.wait_until_ready()) << "what lies there does nothing to the next one either";
  EXPECT_EQ(stand.over(stand.submit("-- true"))["state"], "finished");
}

TEST(NamesOfUsers, DoNothingToTerminalsAndShells) {
  DaemonStand stand;
  const std::string marker = stand.path("should-not-be");
  const std::vector<std::string> names = {"\x1b[2J\x1b]0;title\x07",
                                          "a\nb",
                                          "a\rb",
                                          "$(touch " + marker + ")",
                                          "`touch " + marker + "`",
                                          "'; touch " + marker + "; '",
                                          "../../etc",
                                          "%n%n%s{}{0}",
                                          "\xE2\x80\xAE"
                                          "desrever",
                                          std::string(200, 'n')};
  std::vector<std::int64_t> taken;
  for (const std::string& name : names) {
    const Json body{
        {"command", {"sh", "-c", "printf '\\033[31mred\\007\\n'; true", name}},
        {"environment", {"PATH=/usr/bin:/bin", "X=" + name, "LD_PRELOAD=/nonexistent\x1b[0m"}},
        {"directory", "/"},
        {"name", name}};
    const auto answer = stand.ask("POST", "/v1/jobs", body.dump());
    if (answer) taken.push_back((*answer)["id"].get<std::int64_t>());
  }
  EXPECT_GE(taken.size(), 3U) << "names of a shell's characters are names";
  const Json plain{{"command", {"sh", "-c", "true", names[0]}},
                   {"environment", {"X=" + names[0]}},
                   {"directory", "/"}};
  const auto answer = stand.ask("POST", "/v1/jobs", plain.dump());
  if (answer) taken.push_back((*answer)["id"].get<std::int64_t>());
  const auto fine = [](const std::string& text) {
    for (const char c : text)
      if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) return false;
    return !has(text, "\xE2\x80\xAE") && !has(text, "\xC2\x9B");
  };
  for (const std::int64_t job : taken) {
    (void)stand.over(job);
    const Outcome shown = stand.run(fmt::format("show {}", job));
    EXPECT_TRUE(fine(shown.out)) << Json(shown.out);
  }
  for (const std::string what : {"ps --all", "events"}) {
    const Outcome said = stand.run(what);
    EXPECT_EQ(said.exit_code, 0);
    EXPECT_TRUE(fine(said.out)) << what << Json(said.out);
  }
  EXPECT_TRUE(fine(stand.log())) << Json(stand.log());
  EXPECT_FALSE(std::filesystem::exists(marker));
}

}  // namespace
}  // namespace cleave::whole
