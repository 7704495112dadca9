// Jobs of another user than the daemon's; only root can start these.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/format.hpp"
#include "runner/reports/memory_report_line.hpp"
#include "runner/supervisor/supervisor.hpp"
#include "runner/supervisor/supervisor_start.hpp"
#include "stand.hpp"

namespace cleave::supervised {
namespace {

constexpr uid_t nobody = 65534;

Launch as_nobody(Stand& stand, const std::string& script) {
  Launch launch = stand.launch(script);
  launch.uid = launch.gid = nobody;
  launch.groups = {nobody, 12345};
  return launch;
}

/// The result of `body` in a child of this user; it must not use the heap much.
template <class F>
int as_user(uid_t uid, F&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    if (::setgid(uid) != 0 || ::setuid(uid) != 0) ::_exit(99);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/// Where the daemon may write everything, the files for outputs are opened with the user's rights.
TEST(SupervisedUser, OpensTheFilesForItsOutputsWithItsOwnRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  Stand stand;
  const std::string own = stand.path("own"), closed = stand.path("closed");
  std::filesystem::create_directory(own);
  std::filesystem::create_directory(closed);
  ASSERT_EQ(::chown(own.c_str(), nobody, nobody), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0700), 0);
  std::ofstream(closed + "/roots") << "kept";
  // Of root's group, in which the daemon may be and the job is not.
  std::ofstream(stand.path("groups")) << "kept";
  ASSERT_EQ(::chmod(stand.path("groups").c_str(), 0660), 0);
  std::filesystem::create_symlink(closed + "/roots", own + "/link");

  Launch launch = as_nobody(stand, "echo out; echo err >&2");
  launch.output_file = own + "/deep/er.out";
  launch.error_file = own + "/errors";
  const JobKey key = stand.start(launch);
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_EQ(read_text(launch.output_file), "out\n");
  EXPECT_EQ(read_text(launch.error_file), "err\n");
  EXPECT_EQ(stand.text(key, "stdout.log"), "out\n");
  for (const std::string& file : {own + "/deep", launch.output_file}) {
    struct stat facts {};
    ASSERT_EQ(::stat(file.c_str(), &facts), 0) << file;
    EXPECT_EQ(facts.st_uid, nobody) << file;
    EXPECT_EQ(facts.st_mode & 022U, 0U) << file;
  }
  for (const std::string& file :
       {closed + "/new", closed + "/roots", own + "/link", stand.path("groups")}) {
    Launch refused = as_nobody(stand, "echo overwritten");
    refused.output_file = file;
    const JobKey other = stand.start(refused);
    const ProcessOutcome* outcome = stand.wait_for_end(other);
    ASSERT_NE(outcome, nullptr) << file;
    EXPECT_EQ(outcome->end, ProcessOutcome::End::not_started) << file;
    EXPECT_EQ(outcome->code, EACCES) << file;
    EXPECT_NE(outcome->reason.find("cannot be opened for the job's output"), std::string::npos)
        << outcome->reason;
  }
  EXPECT_EQ(read_text(closed + "/roots"), "kept");
  EXPECT_EQ(read_text(stand.path("groups")), "kept");
}

TEST(SupervisedUser, IsTheJobsInEveryRespect) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  Stand stand;
  const JobKey key = stand.start(as_nobody(stand,
                                           "grep -E '^(Uid|Gid|Groups|NoNewPrivs|CapPrm|CapEff)' "
                                           "/proc/self/status; touch /etc/x"));
  struct stat facts {};
  ASSERT_EQ(::stat(fmt::format("{}/launch.json", stand.folder(key)).c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 0U) << "nobody but the daemon's user writes what is started";
  EXPECT_EQ(facts.st_mode & 07777, 0600U);
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_EQ(
      stand.text(key, "stdout.log"),
      "Uid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534\nGroups:\t12345 65534 \n"
      "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n");
  ASSERT_EQ(::stat(stand.folder(key).c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 0U) << "nobody but the daemon's user changes what lies there";
  EXPECT_EQ(facts.st_mode & 07777, 0710U);
  ASSERT_EQ(::stat(stand.users_folder(key).c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, nobody);
  EXPECT_EQ(facts.st_mode & 07777, 0700U);
}

/// "Uid:" and what else `status` has of a process.
std::string status_of(pid_t pid) {
  return read_text(fmt::format("/proc/{}/status", pid));
}

TEST(SupervisedUser, CannotStopOrEndTheSupervisor) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  Stand stand;
  const JobKey key = stand.start(as_nobody(
      stand,
      "for s in STOP KILL TERM INT; do kill -$s $PPID && echo sent $s; done; "
      "renice 19 $PPID >/dev/null 2>&1 && echo reniced; prlimit --pid $PPID --nofile=3 "
      "2>/dev/null && echo limited; cat /proc/$PPID/environ && echo read; echo over; sleep 30"));
  ASSERT_TRUE(stand.wait_until([&] { return stand.text(key, "stdout.log").ends_with("over\n"); }));
  EXPECT_EQ(stand.text(key, "stdout.log"), "over\n");
  const std::string status = status_of(stand.supervisor(key));
  EXPECT_NE(status.find("Uid:\t0\t0\t0\t65534\n"), std::string::npos)
      << "only its files are the user's: " << status;
  EXPECT_NE(status.find("Gid:\t0\t0\t0\t65534\n"), std::string::npos) << status;
  ASSERT_TRUE(stand.runner().stop(key));
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_EQ(stand.outcome(key)->code, SIGTERM);
}

TEST(SupervisedUser, OwnsWhatIsKeptOfItsOutputs) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  Stand stand;
  Launch launch = as_nobody(stand, "head -c 9000 /dev/zero; echo late; echo err >&2");
  launch.log_limit = 4096;
  const JobKey key = stand.start(launch);
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  for (const char* file : {"stdout.log", "stdout.old.log", "stderr.log", "report"}) {
    struct stat facts {};
    ASSERT_EQ(::lstat(fmt::format("{}/{}", stand.users_folder(key), file).c_str(), &facts), 0)
        << file;
    EXPECT_EQ(facts.st_uid, nobody) << file;
    EXPECT_EQ(facts.st_gid, nobody) << file;
  }
}

/// Of no other test, whose processes would be stopped too.
constexpr uid_t stopping_user = 54321;

/// What a program of the user's does all the time to whatever it may.
pid_t start_stopper() {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(20);
  if (::setgid(stopping_user) != 0 || ::setuid(stopping_user) != 0) ::_exit(99);
  while (true) ::kill(-1, SIGSTOP);
}

TEST(SupervisedUser, WhoStopsAllProcessesHoldsUpNoOneElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  Stand stand;
  const pid_t stopper = start_stopper();
  std::vector<JobKey> stopped;
  for (int i = 0; i < 20; ++i) {
    Launch launch = stand.launch("exit 0");
    launch.uid = launch.gid = stopping_user;
    stopped.push_back(stand.start(launch));
  }
  const JobKey others = stand.start_script("exit 7");
  ASSERT_NE(stand.wait_for_end(others), nullptr);
  EXPECT_EQ(stand.outcome(others)->code, 7);
  for (const JobKey& key : stopped) {
    if (stand.outcome(key) != nullptr) continue;
    EXPECT_TRUE(stand.runner().stop(key));
  }
  for (const JobKey& key : stopped) EXPECT_NE(stand.wait_for_end(key), nullptr) << key.job;
  ::kill(stopper, SIGKILL);
  ::waitpid(stopper, nullptr, 0);
  EXPECT_TRUE(stand.processes(stopped).empty());
}

/// In a process with other settings than this one's, as a daemon has them that a service manager
/// spares, or that root has started from a login.
TEST(SupervisedUser, NothingOfTheDaemonReachesAJob) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    (void)::setpriority(PRIO_PROCESS, 0, -7);
    std::ofstream("/proc/self/oom_score_adj") << -600;
    const bool has_keys =
        ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0 &&
        ::syscall(SYS_add_key, "user", "cleave-test-secret", "x", 1, KEY_SPEC_SESSION_KEYRING) >= 0;
    Stand stand;
    const JobKey key = stand.start(as_nobody(
        stand, "nice; cat /proc/self/oom_score_adj; grep -c cleave-test-secret /proc/keys"));
    if (stand.wait_for_end(key) == nullptr) ::_exit(3);
    const std::string said = stand.text(key, "stdout.log");
    fmt::print("with keys: {}; {}", has_keys, said);
    ::_exit(said.starts_with("0\n0\n") && said.find("\n1\n") == std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SupervisedUser, OpensPathsWithTheirOwnRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  Stand stand;
  const std::string secret = stand.path("secret");
  ASSERT_EQ(::mkdir(secret.c_str(), 0700), 0);
  Launch launch = as_nobody(stand, "pwd");
  launch.working_directory = secret;
  const JobKey key = stand.start(launch);
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_EQ(stand.outcome(key)->reason,
            fmt::format("{}: cannot be entered: Permission denied", secret));
}

TEST(SupervisedUser, ReportsAndOrdersOfOthersAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  Stand stand;
  const JobKey key = stand.start(as_nobody(stand, "sleep 30"));
  const std::string report = fmt::format("{}/report", stand.users_folder(key));
  ASSERT_TRUE(stand.wait_until([&] { return stand.pid(key) > 0; }));
  // The folder keeps other users out; root gets in, but is not the job.
  EXPECT_EQ(as_user(1234,
                    [&] {
                      ReportSender sender(report);
                      sender.send({1, {}, MiB{1}, MiB{1}});
                      return static_cast<int>(sender.lost());
                    }),
            1);
  ReportSender sender(report);
  sender.send({1, {}, MiB{1}, MiB{1}});
  EXPECT_EQ(sender.sent(), 1);
  // Only root and the daemon's user may talk to the supervisor.
  const auto folder = open_folder(stand.folder(key));
  ASSERT_TRUE(folder);
  const auto asks = [&](const SupervisorAsk& ask) {
    const auto connection = connect_to_supervisor(folder->number());
    if (!connection) return 97;
    const std::string text = ask_text(ask);
    if (::send(connection->number(), text.data(), text.size(), 0) < 0) return 96;
    (void)::fcntl(connection->number(), F_SETFL, 0);
    char answer[longest_packet];
    const ssize_t got = ::recv(connection->number(), answer, sizeof answer, 0);
    if (got <= 0) return 95;
    const auto message = parse_message({answer, static_cast<std::size_t>(got)});
    if (!message) return 94;
    if (const auto* state = std::get_if<SupervisorState>(&*message))
      return static_cast<int>(state->reports_refused);
    const auto* said = std::get_if<SupervisorAnswer>(&*message);
    return said == nullptr ? 93 : said->refused.empty() ? 0 : 50;
  };
  for (const auto what :
       {SupervisorAsk::What::signal, SupervisorAsk::What::stop, SupervisorAsk::What::state})
    EXPECT_EQ(as_user(nobody, [&] { return asks({what, SIGTERM}); }), 97);
  EXPECT_EQ(asks({SupervisorAsk::What::state, 0}), 1) << "root's report was refused";
  EXPECT_EQ(asks({SupervisorAsk::What::stop, 0}), 0) << "root may";
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  for (const RunnerEvent& event : stand.events())
    EXPECT_FALSE(std::holds_alternative<JobReported>(event.what));
}

TEST(SupervisedUser, WithClosedOrDeepFoldersStillReports) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  Stand stand;
  ASSERT_EQ(::chmod(stand.path("jobs").c_str(), 0700), 0);
  const JobKey key = stand.start(as_nobody(
      stand,
      "echo $CLEAVE_REPORT; python3 -c \"\nimport os, socket\ns = socket.socket(socket.AF_UNIX, "
      "socket.SOCK_DGRAM)\n"
      "s.sendto(b'{\\\"iteration\\\":7,\\\"requested_bytes\\\":1,\\\"allocated_bytes\\\":1}', "
      "os.environ['CLEAVE_REPORT'])\n\""));
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_TRUE(stand.text(key, "stdout.log").starts_with("/proc/")) << stand.text(key, "stdout.log");
  ASSERT_EQ(stand.outcome(key)->reports.size(), 1U) << stand.text(key, "stderr.log");
  EXPECT_EQ(stand.outcome(key)->reports[0].report.iteration, 7);
}

TEST(SupervisedUser, TricksWithTheirFolderHarmNoOtherJob) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  Stand stand;
  const std::string precious = stand.path("precious");
  ASSERT_EQ(::mkdir(precious.c_str(), 0755), 0);
  const auto in_folder = [&](const std::string& tricks) {
    const JobKey key{static_cast<std::int64_t>(stand.started()) + 1, 1};
    return stand.start(
        as_nobody(stand, fmt::format("cd {} && {}", stand.users_folder(key), tricks)));
  };
  const JobKey forged =
      in_folder("mkdir outcome.json.new.d; ln -s /etc/passwd outcome.json; exec sleep 0.05");
  const JobKey linked = in_folder(
      fmt::format("rm stdout.log; ln -s {} stdout.log; ln -s {} deep; exit 0", precious, precious));
  const JobKey fifo =
      in_folder("rm -f outcome.json.new lock; mkfifo outcome.json.new lock; exec sleep 0.05");
  const JobKey closed = in_folder("chmod 500 .; exit 0");
  const JobKey in_place = in_folder("mkdir -p outcome.json/d; exit 0");
  const auto all = {forged, linked, fifo, closed, in_place};
  for (const JobKey& key : all)
    EXPECT_TRUE(stand.wait_until([&] { return stand.outcome(key) != nullptr || stand.lost(key); }));
  for (const JobKey& key : all) EXPECT_NE(stand.outcome(key), nullptr) << directory_name(key);
  (void)stand.begin_again();
  for (const JobKey& key : all) EXPECT_TRUE(stand.runner().forget(key));
  EXPECT_TRUE(stand.wait_until([&] { return std::filesystem::is_empty(stand.path("jobs")); }));
  EXPECT_EQ(::access(precious.c_str(), F_OK), 0) << "a link was followed";
}

/// The files that the daemon trusts, holds and connects to. Each trick is tried by path, through a
/// folder of the job's own and through the supervisor's descriptors, and also by a program outside
/// the job.
TEST(SupervisedUser, CannotReplaceFilesTheDaemonTrusts) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  Stand stand;
  const JobKey victim = stand.start_script("exec sleep 30");
  ASSERT_TRUE(stand.wait_until([&] { return stand.pid(victim) > 0; }));
  const JobKey key{static_cast<std::int64_t>(stand.started()) + 1, 1};
  const std::string script = fmt::format(
      "for d in {0} {0}/user/.. /proc/$$/cwd /proc/$PPID/cwd/.. /proc/$PPID/fd/*; do "
      "for f in lock control outcome.json launch.json user; do "
      "[ $f = user ] || cat $d/$f && echo read $d/$f; mv $d/$f $d/other && echo moved $d/$f; "
      "rm -f $d/$f && ! [ $d = /proc/$$/cwd ] && ! [ -e $d/$f ] && [ -e $d/user ] && echo removed "
      "$d/$f; "
      "ln -sf {1}/$f $d/$f && [ $d != /proc/$$/cwd ] && echo linked $d/$f; (exec 8<$d/$f) && echo "
      "opened "
      "$d/$f; "
      "done; touch $d/new && [ $d != /proc/$$/cwd ] && echo made $d/new; done 2>/dev/null; echo "
      "over; exec "
      "sleep 0.2",
      stand.folder(key), stand.folder(victim));
  Launch launch = as_nobody(stand, script);
  launch.working_directory = "/";
  (void)stand.start(launch);
  ASSERT_NE(stand.wait_for_end(key), nullptr)
      << "alive as long as its supervisor lives, and no longer";
  const std::string said = stand.text(key, "stdout.log");
  for (const char* file : {"lock", "control", "outcome.json", "launch.json"})
    for (const char* did : {"read", "moved", "removed", "linked", "opened"})
      EXPECT_EQ(said.find(fmt::format("{} {}/{}", did, stand.folder(key), file)), std::string::npos)
          << said;
  EXPECT_TRUE(said.ends_with("over\n")) << said;
  EXPECT_EQ(said.find("made"), std::string::npos) << said;
  for (const char* file : {"lock", "control", "outcome.json"}) {
    struct stat facts {};
    ASSERT_EQ(::lstat(fmt::format("{}/{}", stand.folder(key), file).c_str(), &facts), 0) << file;
    EXPECT_EQ(facts.st_uid, 0U) << file;
    EXPECT_EQ(facts.st_mode & 077, 0U) << file;
    EXPECT_FALSE(S_ISLNK(facts.st_mode)) << file;
  }
  EXPECT_TRUE(is_alive(stand.pid(victim)));
  ASSERT_TRUE(stand.runner().stop(victim));
  ASSERT_NE(stand.wait_for_end(victim), nullptr);
}

TEST(SupervisedUser, TheDaemonSpeaksWithItsOwnSupervisorsOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  Stand stand;
  const std::string path = stand.path("his");
  ASSERT_EQ(::mkdir(path.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    if (::setgid(nobody) != 0 || ::setuid(nobody) != 0 || ::chdir(path.c_str()) != 0) ::_exit(99);
    const auto listener = listen_for_peers();
    ::pause();
    ::_exit(listener ? 0 : 1);
  }
  const auto folder = open_folder(path);
  ASSERT_TRUE(folder);
  std::string refused;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (refused.find("another user") == std::string::npos &&
         std::chrono::steady_clock::now() < until) {
    const auto connection = connect_to_supervisor(folder->number());
    ASSERT_FALSE(connection);
    refused = connection.error().text();
  }
  EXPECT_NE(refused.find("a process of another user listens"), std::string::npos) << refused;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(SupervisedUser, FilesInTheirFolderCountAndAreRemovedInTime) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts jobs of another user";
  Stand stand;
  const auto fills = [&](const std::string& python) {
    const JobKey key{static_cast<std::int64_t>(stand.started()) + 1, 1};
    const Launch launch =
        as_nobody(stand, fmt::format("cd {} && exec python3 -c \"\nimport os\n{}\"",
                                     stand.users_folder(key), python));
    (void)stand.start(launch);
    return key;
  };
  const JobKey large = fills("os.mkdir('d')\nopen('d/f', 'wb').write(b'x' * 3000000)\n");
  const JobKey many = fills("for i in range(3000): open(str(i), 'w')\n");
  const JobKey deep = fills("for i in range(1000):\n    os.mkdir('d')\n    os.chdir('d')\n");
  for (const JobKey& key : {large, many, deep}) {
    ASSERT_NE(stand.wait_for_end(key), nullptr);
    EXPECT_EQ(stand.outcome(key)->code, 0) << stand.text(key, "stderr.log");
  }
  EXPECT_GE(stand.runner().kept_bytes(large), 3'000'000);
  EXPECT_LE(stand.runner().kept_bytes(large), 4'000'000);
  for (const JobKey& key : {many, deep})
    EXPECT_GE(stand.runner().kept_bytes(key), std::int64_t{1} << 40);
  for (const JobKey& key : {large, many, deep}) {
    ASSERT_TRUE(stand.runner().forget(key));
    EXPECT_NE(::access(stand.folder(key).c_str(), F_OK), 0) << "at once";
    EXPECT_EQ(stand.runner().kept_bytes(key), 0);
  }
  (void)stand.begin_again();
  EXPECT_TRUE(stand.wait_until([&] { return std::filesystem::is_empty(stand.path("jobs")); }))
      << "the next one goes on with it";
}

}  // namespace
}  // namespace cleave::supervised
