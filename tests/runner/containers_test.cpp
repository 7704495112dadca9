// Attempts in containers, by podman and a root file system of Debian's packages. Where either is
// missing, or users may make no namespaces, these are skipped. As root, the jobs are another
// user's, to whom the image does not belong.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "container_image.hpp"
#include "runner/driver_root_test.hpp"
#include "runner/system_file.hpp"
#include "stand.hpp"

namespace cleave::supervised {
namespace {

namespace fs = std::filesystem;

constexpr uid_t nobody = 65534;

class Contained : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = contained::what_is_missing(nobody); !missing.empty())
      GTEST_SKIP() << missing;
    places_ = make_group_places();
    stand_.emplace(places_);
    fs::copy(contained::image_folder(), image(),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    fs::create_directory(stand().path("work"));
    ::chmod(stand().path("work").c_str(), 0777);
  }
  Stand& stand() { return *stand_; }
  [[nodiscard]] std::string image() const { return stand_->path("image"); }
  [[nodiscard]] std::string work() const { return stand_->path("work"); }

  Launch launch(const std::string& script, const std::string& image_name = {}) {
    Launch made = stand().launch(script);
    if (::geteuid() == 0) made.uid = made.gid = nobody;
    made.environment.clear();
    made.working_directory = work();
    made.container.emplace();
    made.container->program = find_container_runtimes("auto").podman;
    made.container->image = image_name.empty() ? image() : image_name;
    made.leftover_grace = std::chrono::seconds(2);
    made.stop_grace = std::chrono::seconds(10);
    return made;
  }
  /// Runs it to its end; fails the test where there is none.
  const ProcessOutcome& end_of(const JobKey& key) {
    static const ProcessOutcome none;
    const ProcessOutcome* outcome = stand().wait_for_end(key);
    EXPECT_NE(outcome, nullptr);
    return outcome == nullptr ? none : *outcome;
  }
  [[nodiscard]] std::string out(const JobKey& key) const { return stand_->text(key, "stdout.log"); }
  [[nodiscard]] std::string err(const JobKey& key) const { return stand_->text(key, "stderr.log"); }
  bool runs(const JobKey& key) {
    return stand().wait_until([&] { return stand().pid(key) > 0; });
  }
  /// Processes of this machine that have the word on their command line.
  static std::size_t processes_with(const std::string& word) {
    return static_cast<std::size_t>(
        std::ranges::count_if(all_processes(), [&](const ProcessFacts& each) {
          return !each.zombie &&
                 read_system_file(fmt::format("/proc/{}/cmdline", each.pid)).contains(word);
        }));
  }

  /// Processes that have the attempt's folder among their mounts: those in the container, and
  /// podman's own, which have no other mark.
  std::size_t processes_of(const JobKey& key) {
    const std::string mounted =
        fmt::format("{}/jobs/{}/", fs::path(stand().path("jobs")).parent_path().filename().string(),
                    directory_name(key));
    return static_cast<std::size_t>(
        std::ranges::count_if(all_processes(), [&](const ProcessFacts& each) {
          return !each.zombie &&
                 read_text(fmt::format("/proc/{}/mountinfo", each.pid)).contains(mounted);
        }));
  }

  GroupPlaces places_;
  std::optional<Stand> stand_;
};

TEST_F(Contained, RunsTheCommandInItsImage) {
  const JobKey key = stand().start(
      launch("cat /etc/cleave-test; id -u; echo $CLEAVE_JOB; pwd; echo told >&2; exit 7"));
  const ProcessOutcome& outcome = end_of(key);
  EXPECT_EQ(outcome.end, ProcessOutcome::End::exited) << outcome.reason;
  EXPECT_EQ(outcome.code, 7);
  EXPECT_EQ(out(key), fmt::format("made by tools/containers.sh\n{}\n{}\n{}\n",
                                  ::geteuid() == 0 ? nobody : ::geteuid(), key.job, work()));
  EXPECT_EQ(err(key), "told\n") << "and the container program says nothing";
  EXPECT_EQ(outcome.leftovers, 0);
  EXPECT_GT(stand().pid(key), 0);
}

TEST_F(Contained, HasNothingOfTheHostButWhatIsMounted) {
  std::ofstream(stand().path("secret")) << "x";
  ::chmod(stand().path("secret").c_str(), 0644);
  std::ofstream(stand().path("data")) << "given\n";
  Launch made = launch(fmt::format(
      "ls {0} 2>/dev/null || echo no secret; ls /etc/debian_version 2>/dev/null || echo no host; "
      "ls /proc/1/root/ >/dev/null 2>&1 || echo no root; cat /given; "
      "(echo y > /given) 2>/dev/null || echo read only; "
      "(echo y > /etc/x) 2>/dev/null || echo image read only; touch /tmp/x && echo tmp; "
      "touch made && echo work; grep -E 'CapPrm|NoNewPrivs' /proc/self/status",
      stand().path("secret")));
  made.container->mounts = {{stand().path("data"), "/given", true}};
  const JobKey key = stand().start(made);
  EXPECT_EQ(end_of(key).code, 0) << err(key) << end_of(key).reason;
  EXPECT_EQ(out(key),
            "no secret\nno host\nno root\ngiven\nread only\nimage read only\ntmp\nwork\n"
            "CapPrm:\t0000000000000000\nNoNewPrivs:\t1\n");
  EXPECT_TRUE(fs::exists(work() + "/made"));
  EXPECT_FALSE(fs::exists(image() + "/given")) << "the image's folder is as it was";
  EXPECT_FALSE(fs::exists(image() + "/etc/hosts"));
}

/// State directories are the daemon's own, and may have long names.
TEST_F(Contained, ItsFolderNeedNotBeReachable) {
  ::chmod(stand().path("jobs").c_str(), 0700);
  std::ofstream(stand().path("jobs") + "/library") << "x";
  Launch made = launch("cat /etc/cleave-test; ls -d /boot /opt/library 2>/dev/null; exit 5");
  made.container->instance.mounts = {{stand().path("jobs") + "/library", "/opt/library", true}};
  const JobKey key = stand().start(made);
  EXPECT_EQ(end_of(key).code, 5) << err(key) << end_of(key).reason;
  const bool reaches_it = ::geteuid() != 0;
  EXPECT_EQ(out(key),
            fmt::format("made by tools/containers.sh\n{}", reaches_it ? "/opt/library\n" : ""));
}

/// Of a gang one may be the first; a root that asks its own folder is no other.
TEST_F(Contained, IsTheSameForRootsOwnJobs) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has jobs of root";
  Launch made = launch("id -u; cat /etc/cleave-test; (echo y > /etc/x) 2>/dev/null; exit 3");
  made.uid = made.gid = 0;
  const JobKey key = stand().start(made);
  EXPECT_EQ(end_of(key).code, 3) << err(key) << end_of(key).reason;
  EXPECT_EQ(out(key), "0\nmade by tools/containers.sh\n");
  EXPECT_FALSE(fs::exists(image() + "/etc/x"));
}

TEST_F(Contained, EnvironmentsArriveWhole) {
  Launch made = launch("echo \"$A|$PATH|$HOME|$CONTAINER_HOST|$CUDA_VISIBLE_DEVICES\"");
  made.environment = {"A=x  y\nz=\"'$", "PATH=/bin:/x", "CONTAINER_HOST=tcp://nowhere"};
  const JobKey key = stand().start(made);
  EXPECT_EQ(end_of(key).code, 0) << err(key) << end_of(key).reason;
  EXPECT_EQ(out(key), "x  y\nz=\"'$|/bin:/x|/tmp|tcp://nowhere|MIG-0\n");
}

TEST_F(Contained, ItsReportsArrive) {
  Launch made = launch("/probe report");
  made.container->mounts = {{binary_dir() + "/bin/container_probe", "/probe", true}};
  // The build may lie where this user may not go.
  fs::copy(binary_dir() + "/bin/container_probe", stand().path("probe"));
  made.container->mounts[0].from = stand().path("probe");
  const JobKey key = stand().start(made);
  const ProcessOutcome& outcome = end_of(key);
  EXPECT_EQ(outcome.code, 0) << err(key) << outcome.reason;
  ASSERT_EQ(outcome.reports.size(), 1U);
  EXPECT_EQ(outcome.reports[0].report.iteration, 3);
}

TEST_F(Contained, SignalsReachTheJob) {
  const JobKey key =
      stand().start(launch("trap 'echo got; exit 3' TERM; trap 'echo saved' USR1; echo ready; "
                           "while :; do sleep 0.05; done"));
  ASSERT_TRUE(stand().wait_until([&] { return out(key).contains("ready"); })) << err(key);
  ASSERT_TRUE(stand().runner().signal(key, SIGUSR1));
  ASSERT_TRUE(stand().wait_until([&] { return out(key).contains("saved"); }));
  ASSERT_TRUE(stand().runner().stop(key));
  const ProcessOutcome& outcome = end_of(key);
  EXPECT_EQ(outcome.end, ProcessOutcome::End::exited);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(out(key), "ready\nsaved\ngot\n");
}

/// What podman wrote where the user may write says nothing of other people's processes.
TEST_F(Contained, ANumberThatTheUserWroteIsNotSignalled) {
  const pid_t other = ::fork();
  if (other == 0) {
    ::setpgid(0, 0);
    ::alarm(60);
    ::pause();
    ::_exit(0);
  }
  ::setpgid(other, other);
  const JobKey key =
      stand().start(launch("trap 'exit 4' TERM; echo ready; while :; do sleep 0.05; done"));
  const std::string file = stand().users_folder(key) + "/container.pid";
  ASSERT_TRUE(stand().wait_until([&] { return fs::exists(stand().users_folder(key)); }));
  ASSERT_FALSE(fs::exists(file)) << "podman takes longer";
  std::ofstream(file) << other;
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(file.c_str(), nobody, nobody), 0);
  }
  ASSERT_TRUE(stand().wait_until([&] { return out(key).contains("ready"); })) << err(key);
  EXPECT_NE(stand().pid(key), other);
  ASSERT_TRUE(stand().runner().stop(key));
  EXPECT_TRUE(end_of(key).stopped);
  EXPECT_EQ(::kill(other, 0), 0);
  int status = 0;
  EXPECT_EQ(::waitpid(other, &status, WNOHANG), 0) << "it lives";
  ::kill(other, SIGKILL);
  ::waitpid(other, &status, 0);
}

/// One that heeds no signal, and what it began, of which some left its environment and parents.
TEST_F(Contained, NothingIsLeftOfOneThatIsKilled) {
  Launch made = launch(
      "trap '' TERM; (setsid env -i /bin/sleep 31415.1 &); sleep 31415.2 & echo ready; "
      "while :; do sleep 0.05; done");
  made.stop_grace = std::chrono::milliseconds(200);
  const JobKey key = stand().start(made);
  ASSERT_TRUE(stand().wait_until([&] { return out(key).contains("ready"); })) << err(key);
  EXPECT_GE(processes_with("31415."), 2U);
  EXPECT_GE(processes_of(key), 4U) << "podman, conmon and the job's";
  ASSERT_TRUE(stand().runner().stop(key));
  EXPECT_TRUE(end_of(key).stopped);
  EXPECT_EQ(processes_with("31415."), 0U);
  EXPECT_EQ(processes_of(key), 0U) << "nor podman's own";
}

TEST_F(Contained, NothingIsLeftOfOneThatEnds) {
  const JobKey key =
      stand().start(launch("(setsid env -i /bin/sleep 31416.1 &); (sleep 31416.2 &); echo done"));
  EXPECT_EQ(end_of(key).code, 0) << err(key);
  EXPECT_GE(end_of(key).leftovers, 2);
  EXPECT_EQ(processes_with("31416."), 0U);
  EXPECT_EQ(processes_of(key), 0U);
  EXPECT_FALSE(fs::exists(stand().folder(key) + "/container"));
  EXPECT_EQ(fs::status(stand().users_folder(key)).permissions(), fs::perms::owner_all);
  EXPECT_FALSE(fs::exists(stand().users_folder(key) + "/container.pid"));
}

TEST_F(Contained, AForkBombHurtsItselfOnly) {
  if (places_.pids.empty()) GTEST_SKIP() << "there is no limit of processes here";
  Launch made = launch("b() { b | b & }; b 2>/dev/null; sleep 1; echo over");
  made.limits.most_processes = 60;
  made.stop_grace = std::chrono::milliseconds(200);
  const JobKey key = stand().start(made);
  ASSERT_TRUE(runs(key)) << err(key);
  ASSERT_TRUE(stand().runner().stop(key));
  (void)end_of(key);
  EXPECT_EQ(processes_of(key), 0U);
  EXPECT_TRUE(stand().processes(key).empty());
}

TEST_F(Contained, NothingIsLeftWhenItsSupervisorIsKilled) {
  if (places_.none()) GTEST_SKIP() << "this user may make no control groups here";
  const JobKey key =
      stand().start(launch("(setsid env -i /bin/sleep 31417.1 &); echo ready; sleep 31417.2"));
  ASSERT_TRUE(stand().wait_until([&] { return out(key).contains("ready"); })) << err(key);
  ::kill(stand().supervisor(key), SIGKILL);
  ASSERT_TRUE(stand().wait_until([&] { return stand().lost(key); }));
  EXPECT_EQ(processes_with("31417."), 0U);
  EXPECT_EQ(processes_of(key), 0U);
}

TEST_F(Contained, SaysWhyTheContainerWasNotSetUp) {
  const auto reason = [&](const Launch& made) {
    const JobKey key = stand().start(made);
    const ProcessOutcome& outcome = end_of(key);
    EXPECT_EQ(outcome.end, ProcessOutcome::End::not_started) << outcome.code << err(key);
    EXPECT_EQ(stand().pid(key), 0) << "it did not begin";
    return outcome.reason;
  };
  Launch absent = launch("true");
  absent.argv = {"no-such-program"};
  EXPECT_NE(reason(absent).find("executable file `no-such-program` not found"), std::string::npos);
  EXPECT_NE(reason(launch("true", "localhost/no-such-image:1")).find("image not known"),
            std::string::npos);
  EXPECT_NE(reason(launch("true", stand().path("nowhere"))).find("nowhere: cannot be mounted"),
            std::string::npos);
  Launch gone = launch("true");
  gone.container->mounts = {{stand().path("gone"), "/gone", false}};
  EXPECT_NE(reason(gone).find("gone"), std::string::npos);
}

/// Its exit code is the job's own, whichever the container program would have.
TEST_F(Contained, CodesOfItsOwnAreTheJobs) {
  const JobKey key = stand().start(launch("echo 'Error: mine' >&2; exit 125"));
  EXPECT_EQ(end_of(key).end, ProcessOutcome::End::exited) << end_of(key).reason;
  EXPECT_EQ(end_of(key).code, 125);
}

/// Stand-ins for the driver's nodes; the fence holds around the container as around any job.
class ContainedOnInstance : public Contained {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make device nodes";
    Contained::SetUp();
    if (IsSkipped()) return;
    driver_root::make(root(), 2);
    fs::create_directories(fs::path(root()) / "dev/nvidia-caps");
    const auto make = [&](const std::string& name, const DeviceNumber& number) {
      const std::string path = fmt::format("{}/dev/{}", root(), name);
      return ::mknod(path.c_str(), S_IFCHR | 0666, makedev(number.major, number.minor)) == 0 &&
             ::chmod(path.c_str(), 0666) == 0;
    };
    bool made = make("nvidiactl", {driver_root::gpu_major, driver_root::control_minor});
    for (std::uint32_t gpu : {0U, 1U})
      made = made && make(fmt::format("nvidia{}", gpu), {driver_root::gpu_major, gpu});
    for (const std::uint32_t instance : {1U, 2U})
      for (const DeviceNumber& each :
           {driver_root::capability(0, instance), driver_root::capability(0, instance, 0)})
        made = made && make(fmt::format("nvidia-caps/nvidia-cap{}", each.minor), each);
    if (!made) GTEST_SKIP() << "device nodes cannot be made in " << root();
  }
  [[nodiscard]] std::string root() const { return stand_->path("driver"); }
};

TEST_F(ContainedOnInstance, HasTheNodesOfItsInstanceOnly) {
  stand().give_from_now_on({DriverNodes::read(root()), {}});
  if (places_.fence()) stand().fence_from_now_on(DriverNodes::read(root()));
  Launch made = launch(
      "cd /dev; for each in nvidia* nvidia-caps/*; do case \"$( (: < $each) 2>&1)\" in "
      "*permitted*|*denied*) echo $each refused;; *) echo $each;; esac; done");
  made.devices = {JobDevice{0, JobDevice::Instance{2, 0}}};
  const JobKey key = stand().start(made);
  EXPECT_EQ(end_of(key).code, 0) << err(key) << end_of(key).reason;
  EXPECT_EQ(out(key), fmt::format("nvidia-caps\nnvidia0\nnvidiactl\nnvidia-caps/nvidia-cap{}\n"
                                  "nvidia-caps/nvidia-cap{}\n",
                                  driver_root::capability(0, 2).minor,
                                  driver_root::capability(0, 2, 0).minor));
  const auto cdi = parse_json(stand().text(key, "cdi.json"), "cdi.json");
  ASSERT_TRUE(cdi) << cdi.error().text();
  EXPECT_EQ((*cdi)["devices"][0]["containerEdits"]["deviceNodes"].size(), 4U);
}

}  // namespace
}  // namespace cleave::supervised
