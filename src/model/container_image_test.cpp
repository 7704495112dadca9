#include "model/container_image.hpp"

#include <gtest/gtest.h>

#include <string>

#include "model/job_spec.hpp"

namespace cleave {
namespace {

TEST(ContainerImage, IsAFolderAnArchiveOrAName) {
  EXPECT_EQ(image_kind("/images/train"), ImageKind::folder);
  EXPECT_EQ(image_kind("/images/train.sif"), ImageKind::archive);
  EXPECT_EQ(image_kind("localhost/train:2"), ImageKind::name);
  for (const char* good : {"", "/images/train", "/i/a.sif", "train", "docker.io/library/debian:12",
                           "train@sha256:abc", "a_b-c.d"})
    EXPECT_FALSE(wrong_image(good)) << good;
  for (const char* bad : {"-v", "--privileged", "./train", "a b", "a\nb", "/images/../etc",
                          "/images/a:b", "/images/a,b", "/images/\"a", "\xc3\xa9", ":1"})
    EXPECT_TRUE(wrong_image(bad)) << bad;
}

TEST(ContainerImage, BindsAreReadInAllTheirForms) {
  EXPECT_EQ(parse_bind("/data"), (BindMount{"/data", "/data", false}));
  EXPECT_EQ(parse_bind("/data:ro"), (BindMount{"/data", "/data", true}));
  EXPECT_EQ(parse_bind("/data:/in"), (BindMount{"/data", "/in", false}));
  EXPECT_EQ(parse_bind("/data:/in:ro"), (BindMount{"/data", "/in", true}));
  for (const char* bad : {"", "data", "/data:", "/data:in", "/data:/in:rw", "/data:/in:ro:ro",
                          "/a/../b", "/data:/usr", "/data:/", "/proc", "/data:/etc/", ":/in"})
    EXPECT_FALSE(parse_bind(bad)) << bad;
}

TEST(ContainerImage, FoldersOfTheSystemAreTheImagesOwn) {
  for (const char* own : {"/", "/usr", "/usr/", "/etc", "/proc", "/dev"})
    EXPECT_FALSE(is_shared_folder(own)) << own;
  for (const char* shared : {"/home/ann", "/scratch", "/usr/local/data", "/root", "/tmp"})
    EXPECT_TRUE(is_shared_folder(shared)) << shared;
}

}  // namespace
}  // namespace cleave
