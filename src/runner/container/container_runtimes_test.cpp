#include "runner/container/container_runtimes.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

class Runtimes : public ::testing::Test {
 protected:
  std::string program(const std::string& file) {
    const auto path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    ::chmod(path.c_str(), 0755);
    return path.string();
  }
  void setting(const std::string& file, const std::string& value) {
    const auto path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << value << "\n";
  }
  [[nodiscard]] ContainerRuntimes found(const std::string& wanted = "auto") const {
    return find_container_runtimes(wanted, folder_.path());
  }
  TemporaryFolder folder_;
};

TEST_F(Runtimes, AreFoundWhereTheyAre) {
  EXPECT_EQ(found().lack, "neither podman nor apptainer is installed");
  const std::string podman = program("usr/bin/podman");
  EXPECT_EQ(found().lack, "podman needs crun, which is not installed");
  program("usr/bin/crun");
  EXPECT_EQ(found(), (ContainerRuntimes{podman, "", ""}));
  const std::string apptainer = program("usr/local/bin/apptainer");
  EXPECT_EQ(found(), (ContainerRuntimes{podman, apptainer, ""}));
  EXPECT_NE(in_words(found()).find("podman (" + podman + ") and apptainer"), std::string::npos);
}

TEST_F(Runtimes, TheSettingNamesOneOrNone) {
  program("usr/bin/podman");
  program("usr/bin/crun");
  const std::string mine = program("opt/apptainer");
  EXPECT_EQ(found(mine), (ContainerRuntimes{"", mine, ""}));
  EXPECT_EQ(found("none").lack, "container_runtime is none");
  EXPECT_NE(found(program("opt/docker")).lack.find("neither podman nor apptainer"),
            std::string::npos);
  EXPECT_NE(found(folder_.path() / "opt/podman").lack.find("is not a program"), std::string::npos);
}

TEST_F(Runtimes, NeedUserNamespaces) {
  program("usr/bin/podman");
  program("usr/bin/crun");
  setting("proc/sys/user/max_user_namespaces", "1000");
  setting("proc/sys/kernel/unprivileged_userns_clone", "1");
  EXPECT_EQ(found().lack, "");
  setting("proc/sys/kernel/unprivileged_userns_clone", "0");
  EXPECT_NE(found().lack.find("sysctl kernel.unprivileged_userns_clone=1"), std::string::npos);
  setting("proc/sys/kernel/unprivileged_userns_clone", "1");
  setting("proc/sys/user/max_user_namespaces", "0");
  EXPECT_NE(found().lack.find("max_user_namespaces is 0"), std::string::npos);
}

TEST(RuntimeFor, EachKindOfImageHasItsOwn) {
  const ContainerRuntimes both{"/p", "/a", ""}, podman{"/p", "", ""}, apptainer{"", "/a", ""};
  const auto chosen = [](const ContainerRuntimes& of, const char* image) {
    const auto runtime = runtime_for(of, image);
    return runtime ? runtime->program : runtime.error().message;
  };
  EXPECT_EQ(chosen(both, "/images/a"), "/p");
  EXPECT_EQ(chosen(both, "/images/a.sif"), "/a");
  EXPECT_EQ(chosen(both, "a:1"), "/p");
  EXPECT_EQ(chosen(apptainer, "/images/a"), "/a");
  EXPECT_EQ(chosen(podman, "/images/a.sif"), "only apptainer runs .sif files, and it is not there");
  EXPECT_EQ(chosen(apptainer, "a:1"), "only podman runs images by name, and it is not there");
  EXPECT_EQ(chosen({"", "", "why"}, "/images/a"), "this daemon runs no containers: why");
}

}  // namespace
}  // namespace cleave
