// The record that processes share, and files that are none.

#include "cudatrace/core/record.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "base/temporary_folder_test.hpp"
#include "cudatrace/core/report_line.hpp"

namespace cleave::cuda {
namespace {

TEST(Record, IsSharedByAllWhoMapIt) {
  const TemporaryFolder folder;
  Record* const one = map_record((folder.path() / "record").c_str());
  Record* const other = map_record((folder.path() / "record").c_str());
  ASSERT_NE(one, nullptr);
  ASSERT_NE(other, nullptr);
  one->peak.reach(5);
  one->peak.reach(3);
  EXPECT_EQ(other->peak.value(), 5);
  unmap_record(one);
  unmap_record(other);
}

TEST(Record, OtherFilesAreLeftAlone) {
  const TemporaryFolder folder;
  std::mt19937 random(11);
  for (const std::size_t size :
       {std::size_t{1}, sizeof(Record) - 1, sizeof(Record), sizeof(Record) + 1}) {
    std::string noise(size, 0);
    for (char& c : noise) c = static_cast<char>(random() % 255 + 1);
    const std::string file = folder.path() / "noise";
    std::ofstream(file, std::ios::binary) << noise;
    EXPECT_EQ(map_record(file.c_str()), nullptr) << size;
    EXPECT_EQ(errno, EPROTO);
    std::string after;
    std::getline(std::ifstream(file, std::ios::binary), after, '\0');
    EXPECT_EQ(after, noise) << "it was changed";
  }
  EXPECT_EQ(map_record("/proc/self/mem"), nullptr);
  EXPECT_EQ(map_record((folder.path() / "no/such/folder").c_str()), nullptr);
  std::filesystem::create_symlink(folder.path() / "target", folder.path() / "link");
  EXPECT_EQ(map_record((folder.path() / "link").c_str()), nullptr) << "links are not followed";
}

TEST(Record, WhatTheDeadHeldIsTakenOff) {
  Record* const record = private_record();
  ASSERT_NE(record, nullptr);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  const auto hold = [&](std::size_t row, pid_t pid, std::int64_t bytes) {
    record->process[row].pid = pid;
    record->process[row].held[0] = bytes;
    record->held += bytes;
    record->held_of[0] += bytes;
  };
  hold(0, ::getpid(), 100);
  hold(1, child, 1000);
  sweep_dead(*record);
  EXPECT_EQ(record->held, 100);
  EXPECT_EQ(record->held_of[0], 100);
  EXPECT_EQ(record->process[0].pid, ::getpid());
  EXPECT_EQ(record->process[1].pid, 0) << "the row is free again";
  unmap_record(record);
}

TEST(Record, AProcessThatNobodyWaitedForYetHoldsNothing) {
  Record* const record = private_record();
  ASSERT_NE(record, nullptr);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  ASSERT_EQ(::kill(child, 0), 0) << "its number is still taken";
  const auto hold = [&](std::size_t row, pid_t pid, std::uint64_t started) {
    record->process[row].pid = pid;
    record->process[row].started = started;
    record->process[row].held[0] = 1000;
    record->held += 1000;
  };
  const std::uint64_t own_start = start_of(::getpid()).value_or(0);
  ASSERT_GT(own_start, 1U);
  hold(0, ::getpid(), own_start);
  hold(1, child, 0);
  hold(2, ::getpid(), own_start - 1);
  sweep_dead(*record);
  EXPECT_EQ(record->held, 1000);
  EXPECT_EQ(record->process[0].pid, ::getpid());
  EXPECT_EQ(record->process[1].pid, 0);
  EXPECT_EQ(record->process[2].pid, 0) << "an earlier process had this number";
  ::waitpid(child, nullptr, 0);
  unmap_record(record);
}

TEST(ReportLine, IsWholeOrNothing) {
  char room[512];
  EXPECT_EQ(write_report_line({7, 1048576, 314572800}, room),
            "{\"iteration\":7,\"requested_bytes\":1048576,\"allocated_bytes\":1048576,"
            "\"context_bytes\":314572800,\"workspace_bytes\":0}");
  EXPECT_EQ(write_report_line({7, 0, 0, 9}, room),
            "{\"iteration\":7,\"iterations\":9,\"requested_bytes\":0,\"allocated_bytes\":0,"
            "\"context_bytes\":0,\"workspace_bytes\":0}");
  EXPECT_EQ(write_report_line({10, 0, 0, 9}, room).find("iterations"), std::string_view::npos)
      << "it takes longer than was expected";
  EXPECT_EQ(write_report_line({7, 1048576, 314572800}, std::span(room, 100)), "");
  EXPECT_FALSE(send_report("/no/such/socket", "{}"));
  EXPECT_FALSE(send_report(std::string(200, 'a').c_str(), "{}"));
}

}  // namespace
}  // namespace cleave::cuda
