// A reader of the log that stalls stops nothing, and what it lost is known.

#include "daemon/log_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

std::string line(int number) {
  return fmt::format("{:06} {}\n", number, std::string(92, 'x'));
}

/// What lies in the pipe or socket now.
std::string read_all(int descriptor) {
  std::string text(1 << 20, '\0');
  std::size_t have = 0;
  for (ssize_t got = 0;
       (got = ::recv(descriptor, text.data() + have, text.size() - have, MSG_DONTWAIT)) > 0 ||
       (got = ::read(descriptor, text.data() + have, text.size() - have)) > 0;)
    have += static_cast<std::size_t>(got);
  text.resize(have);
  return text;
}

void check_stalled_reader(int reader, int writer) {
  LogOutput output(writer);
  int taken = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) (output.write(line(i)) ? taken : refused) += 1;
  EXPECT_GT(refused, 0);
  EXPECT_GT(taken, 2000) << "there is some patience";
  EXPECT_EQ(output.take_dropped(), 0U) << "not while more would be dropped";
  std::string all;
  for (std::string some = read_all(reader); !some.empty(); some = read_all(reader)) {
    all += some;
    output.flush();
  }
  std::string expected;
  for (int i = 0; i < taken; ++i) expected += line(i);
  EXPECT_EQ(all, expected) << "what was kept comes whole and in order";
  EXPECT_EQ(output.take_dropped(), static_cast<std::size_t>(refused));
  EXPECT_EQ(output.take_dropped(), 0U);
  EXPECT_TRUE(output.write("more\n"));
  EXPECT_EQ(read_all(reader), "more\n");
}

TEST(LogOutput, APipeThatNobodyReadsStopsNothing) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Descriptor reader(ends[0]), writer(ends[1]);
  ASSERT_EQ(::fcntl(reader.number(), F_SETFL, O_NONBLOCK), 0);
  check_stalled_reader(reader.number(), writer.number());
  EXPECT_EQ(::fcntl(writer.number(), F_GETFL) & O_NONBLOCK, 0) << "others write there as before";
}

TEST(LogOutput, ASocketThatNobodyReadsStopsNothing) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor reader(ends[0]), writer(ends[1]);
  ASSERT_EQ(::fcntl(reader.number(), F_SETFL, O_NONBLOCK), 0);
  check_stalled_reader(reader.number(), writer.number());
}

TEST(LogOutput, AFileHasEveryLine) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "log").string();
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  LogOutput output(file.number());
  std::string expected;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_TRUE(output.write(line(i)));
    expected += line(i);
  }
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), expected);
}

TEST(LogOutput, AReaderThatIsGoneStopsNothing) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor writer(ends[1]);
  ::close(ends[0]);
  ::signal(SIGPIPE, SIG_IGN);
  LogOutput output(writer.number());
  for (int i = 0; i < 10'000; ++i) static_cast<void>(output.write(line(i)));
  EXPECT_FALSE(output.write(line(0)));
}

}  // namespace
}  // namespace cleave
