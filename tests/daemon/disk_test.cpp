// A small disk that users fill, with the programs themselves. Only root can mount one and be users.

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fstream>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {
namespace {

/// Both are users of every Debian, and no other test's.
constexpr uid_t ann = 38, bob = 39;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::int64_t free_bytes(const std::string& path) {
  struct statvfs facts {};
  return ::statvfs(path.c_str(), &facts) == 0
             ? static_cast<std::int64_t>(facts.f_bavail * facts.f_frsize)
             : -1;
}

/// A script that fills the folder of its own job, in files of 1 MiB.
constexpr const char* fills =
    "cd $(dirname $CLEAVE_REPORT) && i=0; while dd if=/dev/zero of=f$i bs=1M count=1 2>/dev/null; "
    "do i=$((i+1)); done; sleep 1000";

std::string submission(const std::string& script, const std::string& word = {}) {
  return Json{{"command", {"/bin/sh", "-c", script, word}},
              {"environment", {"PATH=/usr/bin:/bin"}},
              {"directory", "/"}}
      .dump();
}

/// What a user is answered over the socket.
struct Answered {
  bool taken = false;
  std::string body;  // or the error
};

class SmallDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root mounts a small disk, and is other users";
    if (::mount("cleave-test", disk(), "tmpfs", MS_NOSUID, "size=64m,mode=0755") != 0)
      GTEST_SKIP() << "a small tmpfs cannot be mounted here";
    mounted_ = true;
  }
  ~SmallDisk() override {
    stand_.reset();
    if (mounted_) ::umount2(disk(), MNT_DETACH);
  }
  void begin(const std::string& config, bool state_there = true) {
    StandOptions options;
    if (state_there) options.state = std::string(disk()) + "/state";
    options.config = "allow_unfenced_users = true\n" + config;
    stand_.emplace(options);
  }
  [[nodiscard]] const char* disk() const { return folder_.path().c_str(); }
  DaemonStand& stand() { return *stand_; }

  /// Asks as this user.
  Answered ask_as(uid_t uid, const std::string& method, const std::string& target,
                  const std::string& body = {}) {
    int ends[2];
    if (::pipe(ends) != 0) return {};
    const int code = as_user(uid, [&] {
      ApiClient client(std::vector{SocketPlace{stand().socket(), true}});
      const auto answer = client.ask(method, target, body);
      const std::string said = answer ? answer->body : answer.error().text();
      const std::string start = said.substr(0, 4000);
      (void)!::write(ends[1], start.data(), start.size());
      return answer ? 0 : 1;
    });
    ::close(ends[1]);
    Answered answered{code == 0, std::string(4000, '\0')};
    answered.body.resize(static_cast<std::size_t>(
        std::max<ssize_t>(::read(ends[0], answered.body.data(), answered.body.size()), 0)));
    ::close(ends[0]);
    return answered;
  }
  std::int64_t submit_as(uid_t uid, const std::string& script) {
    const Answered answered = ask_as(uid, "POST", "/v1/jobs", submission(script));
    EXPECT_TRUE(answered.taken) << answered.body;
    const Json job = Json::parse(answered.body, nullptr, false);
    return job.is_object() ? job["id"].get<std::int64_t>() : 0;
  }
  bool takes(uid_t uid) { return ask_as(uid, "POST", "/v1/jobs", submission("true")).taken; }

 private:
  TemporaryFolder folder_{quick_folder()};
  bool mounted_ = false;
  std::optional<DaemonStand> stand_;
};

TEST_F(SmallDisk, AJobThatFillsItIsCancelledAndOthersGoOn) {
  begin("");
  const std::int64_t fills_it = submit_as(ann, fills);
  const Json over = stand().over(fills_it);
  EXPECT_EQ(over["state"], "cancelled");
  EXPECT_TRUE(has(over["reason"], "its folder takes") && has(over["reason"], "job_files_mib"))
      << over["reason"];
  // What it left is an ended job like others.
  EXPECT_TRUE(stand().wait_until([&] { return takes(bob); }));
  EXPECT_TRUE(stand().wait_until([&] { return stand().get("/healthz")["status"] == "ok"; }))
      << stand().get("/healthz").dump();
  EXPECT_GT(free_bytes(disk()), 8 << 20) << "it was stopped long before it was full";
}

TEST_F(SmallDisk, OnAFullDiskACancelIsWrittenAndRoomIsMade) {
  begin("job_files_mib = 0\n");
  const std::int64_t other = submit_as(bob, "sleep 1000");
  ASSERT_TRUE(stand().wait_for_state(other, "running"));
  const std::int64_t fills_it = submit_as(ann, fills);
  ASSERT_TRUE(stand().wait_until([&] { return free_bytes(disk()) < 1 << 20; }));
  ASSERT_TRUE(stand().wait_until([&] { return stand().get("/healthz")["status"] == "degraded"; }));
  const std::string troubles = stand().get("/healthz")["troubles"].dump();
  EXPECT_TRUE(has(troubles, "MiB free") && has(troubles, "cleave purge")) << troubles;
  const Answered refused = ask_as(bob, "POST", "/v1/jobs", submission("true"));
  EXPECT_FALSE(refused.taken);
  EXPECT_TRUE(has(refused.body, "cleave purge")) << refused.body;
  // The disk is full to the last byte, and what follows is written all the same.
  EXPECT_EQ(stand().state_of(fills_it), "running");
  EXPECT_TRUE(ask_as(bob, "POST", fmt::format("/v1/jobs/{}/cancel", other)).taken);
  EXPECT_EQ(stand().over(other)["state"], "cancelled");
  EXPECT_EQ(free_bytes(disk()) < 2 << 20, true);
  EXPECT_EQ(stand().run(fmt::format("cancel {}", fills_it)).exit_code, 0);
  EXPECT_TRUE(stand().wait_until([&] { return takes(bob); }));
  EXPECT_TRUE(has(stand().events(), "the disk has too little room")) << stand().events();
  EXPECT_FALSE(has(stand().log(), "the store cannot be written")) << "it had room";
}

TEST_F(SmallDisk, WithoutMarksItsUserPurgesIt) {
  begin("job_files_mib = 0\nforget_below_percent = 0\nrefuse_below_percent = 0\n");
  const std::int64_t fills_it = submit_as(ann, fills);
  ASSERT_TRUE(stand().wait_until([&] { return free_bytes(disk()) < 1 << 20; }));
  EXPECT_TRUE(ask_as(ann, "POST", fmt::format("/v1/jobs/{}/cancel", fills_it)).taken);
  EXPECT_EQ(stand().over(fills_it)["state"], "cancelled");
  EXPECT_FALSE(ask_as(bob, "POST", fmt::format("/v1/jobs/{}/purge", fills_it)).taken);
  const auto would = stand().run("purge --all --user all --dry-run");
  EXPECT_TRUE(has(would.out, fmt::format("job {}\n", fills_it))) << would.out;
  EXPECT_TRUE(has(would.out, "1 ended job would be forgotten")) << would.out << would.err;
  EXPECT_LT(free_bytes(disk()), 2 << 20);
  EXPECT_TRUE(ask_as(ann, "POST", fmt::format("/v1/jobs/{}/purge", fills_it)).taken);
  EXPECT_TRUE(stand().wait_until([&] { return free_bytes(disk()) > 40 << 20; }));
  EXPECT_TRUE(takes(bob));
  EXPECT_NE(stand().run("purge").exit_code, 0);
  EXPECT_EQ(stand().run("purge --older 1d --user all").out,
            "0 ended jobs are forgotten, 0.0 MiB\n");
}

/// 100 MiB over one connection, or a fifth where each takes longer.
TEST_F(SmallDisk, SubmittingAndCancellingDoesNotFillIt) {
  begin("keep_user_mib = 8\n");
  const std::string large = submission("true", std::string(100'000, 'x'));
  EXPECT_EQ(as_user(ann,
                    [&] {
                      ApiClient client(std::vector{SocketPlace{stand().socket(), true}});
                      int taken = 0;
                      for (int i = 0; i < (sanitized ? 200 : 1000); ++i) {
                        const auto job = client.ask_json("POST", "/v1/jobs", large);
                        if (!job) continue;
                        ++taken;
                        (void)client.ask("POST", fmt::format("/v1/jobs/{}/cancel",
                                                             (*job)["id"].get<std::int64_t>()));
                      }
                      return taken > 100 ? 0 : 1;
                    }),
            0)
      << "none or few were taken";
  EXPECT_GT(free_bytes(disk()), 8 << 20);
  const auto listed = stand().get("/v1/jobs?all=1&user=all")["jobs"].size();
  EXPECT_LT(listed, 90U);
  EXPECT_TRUE(takes(bob));
  EXPECT_EQ(stand().get("/healthz")["status"], "ok") << stand().get("/healthz").dump();
}

TEST_F(SmallDisk, JobsMayBeThereAndTheStateElsewhere) {
  const std::string place = std::string(disk()) + "/jobs";
  begin(fmt::format("jobs_directory = \"{}\"\n", place), false);
  const std::int64_t runs = submit_as(ann, "echo word; sleep 1000");
  ASSERT_TRUE(stand().wait_for_state(runs, "running"));
  EXPECT_TRUE(std::filesystem::exists(fmt::format("{}/{}.1/outcome.json", place, runs)));
  EXPECT_FALSE(std::filesystem::exists(stand().state() + "/jobs"));
  EXPECT_TRUE(stand().wait_until(
      [&] { return stand().run(fmt::format("logs {}", runs)).out == "word\n"; }));
  stand().kill();
  stand().start();
  ASSERT_TRUE(stand().wait_until_ready()) << stand().log();
  EXPECT_EQ(stand().state_of(runs), "running") << "it is found";
  EXPECT_EQ(stand().stop(), 0);
  std::ofstream(stand().path("cleaved.toml")) << "scheduler = \"online\"\n";
  stand().start();
  EXPECT_EQ(stand().wait_for_end(), 1);
  EXPECT_TRUE(has(stand().log(), fmt::format("folders of jobs are still in {}", place)))
      << stand().log();
}

}  // namespace
}  // namespace cleave::whole
