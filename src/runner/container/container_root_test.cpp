#include "runner/container/container_root.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace cleave {
namespace {

ReadLink links(std::map<std::string, std::string> all) {
  return [all = std::move(all)](const std::string& path) -> std::optional<std::string> {
    const auto found = all.find(path);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  };
}

RootFolder folder(std::map<std::string, RootFolder> inside) {
  return {false, std::move(inside)};
}
const RootFolder file{true, {}};

TEST(ContainerRoot, LinksOfTheImageLeadNoFurtherUpThanItsRoot) {
  const auto read = links(
      {{"/lib64", "usr/lib64"}, {"/var/run", "/run"}, {"/up", "../../../etc"}, {"/loop", "/loop"}});
  EXPECT_EQ(resolved_in_image("/lib64/a", read), "/usr/lib64/a");
  EXPECT_EQ(resolved_in_image("/var/run/x", read), "/run/x");
  EXPECT_EQ(resolved_in_image("/up/passwd", read), "/etc/passwd");
  EXPECT_EQ(resolved_in_image("/../../a//./b/", read), "/a/b");
  EXPECT_EQ(resolved_in_image("/loop/a", read), "/loop/a") << "an endless link ends";
  EXPECT_EQ(resolved_in_image("/", read), "/");
}

TEST(ContainerRoot, OnlyFoldersOnTheWayToAPointAreMadeAnew) {
  const std::vector<RootPoint> points = {{"/proc"}, {"/home/ann/work"}, {"/etc/hosts", false}};
  EXPECT_EQ(root_of(points, links({})),
            folder({{"proc", folder({})},
                    {"home", folder({{"ann", folder({{"work", folder({})}})}})},
                    {"etc", folder({{"hosts", file}})}}));
}

/// /etc/resolv.conf often is one that leads to what only the host has.
TEST(ContainerRoot, AFileThatIsALinkIsMadeInItsPlace) {
  const std::vector<RootPoint> points = {{"/etc/resolv.conf", false}, {"/home/x"}};
  EXPECT_EQ(
      root_of(points, links({{"/etc/resolv.conf", "/run/systemd/stub"}, {"/home", "/var/home"}})),
      folder({{"etc", folder({{"resolv.conf", file}})},
              {"var", folder({{"home", folder({{"x", folder({})}})}})}}));
}

}  // namespace
}  // namespace cleave
