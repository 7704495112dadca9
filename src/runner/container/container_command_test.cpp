#include "runner/container/container_command.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/format.hpp"

namespace cleave {
namespace {

const ContainerPlaces places{"/jobs/1.1/container", "/jobs/1.1/container/fs",
                             "/jobs/1.1/user/report", "/jobs/1.1/user/container.pid"};

Container some_container(const std::string& image) {
  Container container;
  container.program = "/usr/bin/podman";
  container.image = image;
  container.home = "/home/ann";
  container.mounts = {{"/data", "/in", true}};
  container.instance.nodes = {{"/dev/nvidiactl", "/dev/nvidiactl"}};
  container.instance.mounts = {
      {"/usr/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", true}};
  container.instance.environment = {"CUDA_VISIBLE_DEVICES=MIG-1",
                                    "LD_LIBRARY_PATH=/usr/local/nvidia/lib64"};
  return container;
}

ContainedCommand some_command() {
  return {{"python3", "--version"},
          {"SECRET=x y\nz", "PATH=/opt/bin", "LD_LIBRARY_PATH=/opt/lib", "CONTAINER_HOST=evil",
           "CLEAVE_REPORT=/jobs/1.1/user/report", "NVIDIA_VISIBLE_DEVICES=MIG-1"},
          "/home/ann/work",
          1000,
          100};
}

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

std::string joined(const ContainerCommand& command) {
  return fmt::format("{}\n{}", fmt::join(command.argv, "\n"), fmt::join(command.environment, "\n"));
}

TEST(ContainerCommand, PodmanGetsTheFolderTheUserAndTheCommandLast) {
  const auto made = container_command(some_container("/images/a"), some_command(), places);
  const std::vector<std::string> last(made.argv.end() - 5, made.argv.end());
  EXPECT_EQ(last,
            (std::vector<std::string>{"--rootfs", "--", places.root, "python3", "--version"}));
  for (const char* each :
       {"--uidmap=1000:0:1", "--gidmap=100:0:1", "--user=1000:100", "--workdir=/home/ann/work",
        "--network=host", "--pid=host", "--cap-drop=all", "--security-opt=no-new-privileges",
        "--read-only", "--cgroups=no-conmon", "--cgroup-manager=cgroupfs", "--pull=never",
        "--pidfile=/jobs/1.1/user/container.pid", "--storage-driver=vfs"})
    EXPECT_TRUE(has(made.argv, each)) << each << "\n" << joined(made);
}

TEST(ContainerCommand, AnImageByNameIsInTheUsersStoreAndReadOnly) {
  const auto made = container_command(some_container("localhost/a:1"), some_command(), places);
  const std::vector<std::string> last(made.argv.end() - 4, made.argv.end());
  EXPECT_EQ(last, (std::vector<std::string>{"--", "localhost/a:1", "python3", "--version"}));
  for (const char* each :
       {"--user=0:0", "--entrypoint=", "--storage-driver=overlay", "--read-only",
        "--storage-opt=overlay.imagestore=/home/ann/.local/share/containers/storage"})
    EXPECT_TRUE(has(made.argv, each)) << each << "\n" << joined(made);
  EXPECT_FALSE(joined(made).contains("--rootfs"));
  Container without = some_container("localhost/a:1");
  without.home.clear();
  EXPECT_FALSE(joined(container_command(without, some_command(), places)).contains("imagestore"));
}

TEST(ContainerCommand, MountsAndNodesAreJustThese) {
  const auto made = container_command(some_container("/images/a"), some_command(), places);
  std::vector<std::string> given;
  for (const std::string& each : made.argv)
    if (each.starts_with("--volume=") || each.starts_with("--device=")) given.push_back(each);
  EXPECT_EQ(given,
            (std::vector<std::string>{
                "--volume=/dev/shm:/dev/shm:rw", "--volume=/home/ann/work:/home/ann/work:rw",
                "--volume=/usr/lib/libcuda.so.1:/usr/local/nvidia/lib64/libcuda.so.1:ro",
                "--volume=/data:/in:ro", "--volume=/jobs/1.1/user/report:/run/cleave/report:rw",
                "--device=/dev/nvidiactl:/dev/nvidiactl"}));
}

TEST(ContainerCommand, AFolderOfTheSystemIsNotMounted) {
  ContainedCommand what = some_command();
  what.working_directory = "/";
  const auto made = container_command(some_container("/images/a"), what, places);
  EXPECT_TRUE(has(made.argv, "--workdir=/"));
  EXPECT_FALSE(has(made.argv, "--volume=/:/:rw"));
}

TEST(ContainerCommand, SecretsAreOnNoCommandLine) {
  for (const ContainerProgram by : {ContainerProgram::podman, ContainerProgram::apptainer}) {
    Container container = some_container("/images/a");
    container.by = by;
    const auto made = container_command(container, some_command(), places);
    for (const std::string& each : made.argv) EXPECT_FALSE(each.contains("x y")) << each;
  }
}

/// Those that it reads itself would change it; they are given on its command line.
TEST(ContainerCommand, PodmanDoesNotReadTheJobsVariables) {
  const auto made = container_command(some_container("/images/a"), some_command(), places);
  EXPECT_TRUE(has(made.argv, "--env=SECRET"));
  EXPECT_TRUE(has(made.environment, "SECRET=x y\nz"));
  EXPECT_TRUE(has(made.argv, "--env=PATH=/opt/bin"));
  EXPECT_TRUE(has(made.argv, "--env=CONTAINER_HOST=evil"));
  EXPECT_FALSE(has(made.environment, "PATH=/opt/bin"));
  EXPECT_FALSE(has(made.environment, "CONTAINER_HOST=evil"));
  EXPECT_TRUE(has(made.environment, "HOME=/jobs/1.1/container/home"));
  EXPECT_TRUE(has(made.environment, "CONTAINERS_CONF=/jobs/1.1/container/containers.conf"));
}

TEST(ContainerCommand, TheJobsVariablesAreStrongerThanTheInstances) {
  const auto made = container_command(some_container("/images/a"), some_command(), places);
  EXPECT_TRUE(has(made.argv, "--env=LD_LIBRARY_PATH=/opt/lib:/usr/local/nvidia/lib64"));
  EXPECT_TRUE(has(made.environment, "CUDA_VISIBLE_DEVICES=MIG-1"));
  EXPECT_TRUE(has(made.environment, "CLEAVE_REPORT=/run/cleave/report"));
  EXPECT_FALSE(joined(made).contains("CLEAVE_REPORT=/jobs"));
  EXPECT_TRUE(has(made.environment, "NVIDIA_VISIBLE_DEVICES=void"));
  EXPECT_TRUE(has(made.argv, "--env=HOME=/tmp"));
}

TEST(ContainerCommand, Apptainer) {
  Container container = some_container("/images/a.sif");
  container.by = ContainerProgram::apptainer;
  container.program = "/usr/bin/apptainer";
  const auto made = container_command(container, some_command(), places);
  EXPECT_EQ(made.argv,
            (std::vector<std::string>{
                "/usr/bin/apptainer", "--silent", "exec", "--userns", "--contain", "--cleanenv",
                "--no-privs", "--pwd=/home/ann/work", "--bind=/dev/shm:/dev/shm:rw",
                "--bind=/home/ann/work:/home/ann/work:rw",
                "--bind=/usr/lib/libcuda.so.1:/usr/local/nvidia/lib64/libcuda.so.1:ro",
                "--bind=/data:/in:ro", "--bind=/jobs/1.1/user/report:/run/cleave/report:rw",
                "--bind=/dev/nvidiactl:/dev/nvidiactl", "/images/a.sif", "python3", "--version"}));
  EXPECT_TRUE(has(made.environment, "APPTAINERENV_SECRET=x y\nz"));
  EXPECT_TRUE(has(made.environment, "APPTAINERENV_PATH=/opt/bin"));
  EXPECT_TRUE(has(made.environment, "HOME=/home/ann"));
  EXPECT_FALSE(has(made.environment, "PATH=/opt/bin"));
}

TEST(ContainerFailure, IsNoneOnceTheJobsProgramRan) {
  for (const int code : {0, 1, 125, 126, 127})
    EXPECT_FALSE(container_failure(ContainerProgram::podman, true, code, "Error: x")) << code;
  EXPECT_FALSE(container_failure(ContainerProgram::apptainer, true, 1, "FATAL: x"));
  EXPECT_FALSE(container_failure(ContainerProgram::apptainer, true, 255, ""));
  EXPECT_FALSE(container_failure(ContainerProgram::apptainer, true, 255, "the job's last words"));
}

TEST(ContainerFailure, SaysWhatTheProgramSaidLast) {
  const auto failure =
      container_failure(ContainerProgram::podman, false, 125, "Error: a:1: image not known");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->reason, "the container was not set up: podman: a:1: image not known");
  EXPECT_EQ(failure->code, 0);
  const auto unmarked =
      container_failure(ContainerProgram::podman, false, 1, "runroot must be set");
  ASSERT_TRUE(unmarked);
  EXPECT_EQ(unmarked->reason, "the container was not set up: podman: runroot must be set");
  const auto silent = container_failure(ContainerProgram::podman, false, 2, "");
  ASSERT_TRUE(silent);
  EXPECT_NE(silent->reason.find("it ended with 2 and said nothing"), std::string::npos);
  const auto other =
      container_failure(ContainerProgram::apptainer, true, 255, "FATAL:   no such image");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->reason, "the container was not set up: apptainer: no such image");
}

TEST(ContainerFailure, AShortageIsOne) {
  const auto code_of = [](const std::string& text) {
    return container_failure(ContainerProgram::podman, false, 125, "Error: " + text)->code;
  };
  EXPECT_EQ(code_of("mkdir /a: No space left on device"), ENOSPC);
  EXPECT_EQ(code_of("fork/exec: resource temporarily unavailable"), EAGAIN);
  EXPECT_EQ(code_of("open /a: too many open files"), EMFILE);
  EXPECT_EQ(code_of("open /a: permission denied"), 0);
}

TEST(ContainerFailure, LastWordsBeginInTheProgramsOwnWay) {
  EXPECT_TRUE(is_last_word(ContainerProgram::podman, "Error: x"));
  EXPECT_FALSE(is_last_word(ContainerProgram::podman, "my program: Error: x"));
  EXPECT_TRUE(is_last_word(ContainerProgram::apptainer, "FATAL:   x"));
}

}  // namespace
}  // namespace cleave
