#include "kube/device_classes.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/places_test.hpp"

namespace cleave {
namespace {

TEST(DeviceClasses, AreThoseOfTheManifest) {
  std::stringstream text;
  text << std::ifstream(source_dir() + "/packaging/kubernetes/classes.yaml").rdbuf();
  EXPECT_EQ(text.str(), device_classes_yaml())
      << "write it anew: cleave-kube classes > packaging/kubernetes/classes.yaml";
}

TEST(DeviceClasses, HaveNamesThatResourcesMayHave) {
  EXPECT_EQ(resource_part("1g.10gb"), "mig-1g.10gb");
  EXPECT_EQ(resource_part("1g.10gb+me"), "mig-1g.10gb.me");
  EXPECT_EQ(resource_part("1g.24gb-me"), "mig-1g.24gb.without.me");
}

}  // namespace
}  // namespace cleave
