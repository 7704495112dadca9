// Where the socket is, by what is given, and which folders are trusted.

#include "api/socket_place.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

std::vector<std::string> asked(const SocketQuery& query) {
  const auto places = client_sockets(query);
  std::vector<std::string> paths;
  if (!places) return {places.error().text()};
  for (const SocketPlace& place : *places) paths.push_back(place.path.string());
  return paths;
}

SocketQuery query(uid_t uid) {
  return {.given = {},
          .environment = {},
          .runtime_directory = {},
          .uid = uid,
          .state_home = {},
          .home = {}};
}

TEST(SocketPlaces, AreTheUsersOwnAndThenTheSystems) {
  using Paths = std::vector<std::string>;
  SocketQuery user = query(1000);
  EXPECT_EQ(asked(user), (Paths{"/tmp/cleave-1000/cleaved.sock", "/run/cleave/cleaved.sock"}));
  user.runtime_directory = "/run/user/1000";
  EXPECT_EQ(asked(user), (Paths{"/run/user/1000/cleave/cleaved.sock", "/run/cleave/cleaved.sock"}));
  user.runtime_directory = "relative";
  EXPECT_EQ(asked(user), (Paths{"/tmp/cleave-1000/cleaved.sock", "/run/cleave/cleaved.sock"}));
  user.runtime_directory = "/" + std::string(120, 'x');
  EXPECT_EQ(asked(user), (Paths{"/tmp/cleave-1000/cleaved.sock", "/run/cleave/cleaved.sock"}));
  user = query(1000);
  user.home = "/home/ada";
  EXPECT_EQ(asked(user),
            (Paths{"/tmp/cleave-1000/cleaved.sock",
                   "/home/ada/.local/state/cleave/run/cleaved.sock", "/run/cleave/cleaved.sock"}));
  user.state_home = "/state";
  EXPECT_EQ(asked(user), (Paths{"/tmp/cleave-1000/cleaved.sock", "/state/cleave/run/cleaved.sock",
                                "/run/cleave/cleaved.sock"}));
  user.runtime_directory = "/run/user/1000";
  EXPECT_EQ(asked(user).size(), 2U) << "that one is the user's alone";
  SocketQuery root = query(0);
  root.runtime_directory = "/run/user/0";
  EXPECT_EQ(asked(root), Paths{"/run/cleave/cleaved.sock"});
}

TEST(SocketPlaces, ThatAreNamedAreTheOnlyOnes) {
  SocketQuery user = query(1000);
  user.environment = "/somewhere";
  EXPECT_EQ(asked(user), std::vector<std::string>{"/somewhere"});
  user.given = "here";
  EXPECT_EQ(asked(user), std::vector<std::string>{"here"});
  EXPECT_TRUE(daemon_sockets(user)->front().chosen);
  user.given = "";
  EXPECT_EQ(daemon_sockets(user).error().kind, ErrorKind::bad_usage);
  user.given = std::string(108, 'x');
  EXPECT_NE(daemon_sockets(user).error().message.find("107"), std::string::npos);
}

TEST(SocketFolders, AreMadeForTheirOwnerAndNoOthersAreTrusted) {
  const TemporaryFolder scratch;
  const SocketPlace place{scratch.path() / "cleave" / "s", false};
  const std::string folder = place.path.parent_path().string();
  ASSERT_TRUE(make_socket_folder(place));
  struct stat status {};
  ASSERT_EQ(::stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_TRUE(make_socket_folder(place)) << "it is there already";
  ::chmod(folder.c_str(), 0777);
  EXPECT_FALSE(make_socket_folder(place));
  ::chmod(folder.c_str(), 01777);
  EXPECT_FALSE(make_socket_folder(place));
  EXPECT_TRUE(make_socket_folder({place.path, true})) << "as /tmp is, and the user chose it";
  const auto link = scratch.path() / "link";
  std::filesystem::create_directory_symlink(folder, link);
  ::chmod(folder.c_str(), 0700);
  EXPECT_FALSE(make_socket_folder({link / "s", false}));
  EXPECT_TRUE(make_socket_folder({link / "s", true}));
  std::ofstream(scratch.path() / "file") << "x";
  EXPECT_FALSE(make_socket_folder({scratch.path() / "file" / "s", true}));
  EXPECT_FALSE(make_socket_folder({scratch.path() / "no" / "such" / "s", true}));
  if (::geteuid() != 0) GTEST_SKIP() << "folders of somebody else need root";
  ASSERT_EQ(::chown(folder.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(make_socket_folder(place));
}

}  // namespace
}  // namespace cleave
