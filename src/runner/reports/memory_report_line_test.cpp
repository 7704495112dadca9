// Reports as lines: written and read back, anything else refused, and a sender that never waits.

#include "runner/reports/memory_report_line.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "base/random.hpp"
#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

TEST(ReportLine, IsAsDocumented) {
  EXPECT_EQ(report_line({3, 100, MiB{4096}, MiB{4300}}),
            R"({"iteration":3,"iterations":100,)"
            R"("requested_bytes":4294967296,"allocated_bytes":4508876800})");
  EXPECT_EQ(report_line({1, {}, MiB{0}, MiB{1}}),
            R"({"iteration":1,"requested_bytes":0,"allocated_bytes":1048576})");
  EXPECT_EQ(report_line({3, 100, MiB{4096}, MiB{861}, MiB{615}, MiB{9}, MiB{1000}}),
            R"({"iteration":3,"iterations":100,)"
            R"("requested_bytes":4294967296,"allocated_bytes":902823936,)"
            R"("context_bytes":644874240,"workspace_bytes":9437184,"reserved_bytes":1048576000})");
}

TEST(ReportLine, WithoutAContextOfItsOwnAllocatedIncludesIt) {
  const auto older = parse_report_line(
      R"({"iteration":1,"requested_bytes":5242880,"allocated_bytes":7340032})", "report");
  ASSERT_TRUE(older);
  EXPECT_EQ(older->context, std::nullopt);
  EXPECT_EQ(older->held(), MiB{7});
  EXPECT_TRUE(older->beyond(MiB{4})) << "what was requested, before it was held";
  EXPECT_FALSE(older->beyond(MiB{5}));
  const auto newer =
      parse_report_line(R"({"iteration":1,"requested_bytes":104857600,"allocated_bytes":7340032,)"
                        R"("context_bytes":3145728,"workspace_bytes":1})",
                        "report");
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->held(), MiB{7 + 3 + 1});
  EXPECT_FALSE(newer->beyond(MiB{11})) << "requests of an iteration are a sum";
  EXPECT_TRUE(newer->beyond(MiB{10}));
}

TEST(ReportLine, KeysOfNewerJobsAreIgnored) {
  const auto report = parse_report_line(
      R"({"iteration":1,"requested_bytes":1,"allocated_bytes":1,"more":[1]})", "report");
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(*report, (MemoryReport{1, {}, MiB{1}, MiB{1}}));
}

TEST(ReportLine, GoesThereAndBack) {
  Random random(11);
  for (int i = 0; i < 10000; ++i) {
    MemoryReport report;
    report.iteration = static_cast<std::int64_t>(1 + random.below(1'000'000));
    if (random.below(2) == 0)
      report.iterations = report.iteration + static_cast<std::int64_t>(random.below(1'000'000));
    report.requested = MiB{static_cast<std::int64_t>(random.below(1 << 24))};
    report.allocated = MiB{static_cast<std::int64_t>(random.below(1 << 24))};
    for (const ReportPart& part : report_parts)
      if (random.below(2) == 0)
        report.*part.size = MiB{static_cast<std::int64_t>(random.below(1 << 24))};
    const std::string line = report_line(report);
    ASSERT_LE(line.size(), longest_report_line);
    const auto back = parse_report_line(line, "report");
    ASSERT_TRUE(back) << line << ": " << back.error().text();
    EXPECT_EQ(report, *back) << line;
  }
}

TEST(ReportLine, BytesAreRoundedUp) {
  const auto report = parse_report_line(
      R"({"iteration":1,"requested_bytes":1,"allocated_bytes":1048577})", "report");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->requested, MiB{1});
  EXPECT_EQ(report->allocated, MiB{2});
}

TEST(ReportLine, RefusesAnythingElse) {
  for (const char* line : {
           "",
           "{}",
           "[]",
           "3",
           R"({"iteration":1})",
           R"({"iteration":1,"requested_bytes":1})",
           R"({"iteration":0,"requested_bytes":1,"allocated_bytes":1})",
           R"({"iteration":2,"iterations":1,"requested_bytes":1,"allocated_bytes":1})",
           R"({"iteration":1,"requested_bytes":-1,"allocated_bytes":1})",
           R"({"iteration":1,"requested_bytes":1.5,"allocated_bytes":1})",
           R"({"iteration":1,"requested_bytes":"1","allocated_bytes":1})",
           R"({"iteration":1,"requested_bytes":1e30,"allocated_bytes":1})",
           R"({"iteration":1,"requested_bytes":1,"allocated_bytes":1,"context_bytes":-1})",
           R"({"iteration":1,"requested_bytes":1,"allocated_bytes":1,"workspace_bytes":"1"})",
           R"({"iteration":1,"requested_bytes":1,"allocated_bytes":1,"reserved_bytes":1e30})",
           R"({"iteration":1,"iteration":1,"requested_bytes":1,"allocated_bytes":1})",
           R"({"iteration":1,"requested_bytes":1,"allocated_bytes":1} {})",
       }) {
    const auto report = parse_report_line(line, "the report of job 7");
    ASSERT_FALSE(report) << line;
    EXPECT_TRUE(report.error().place.starts_with("the report of job 7")) << report.error().text();
    EXPECT_EQ(report.error().kind, ErrorKind::bad_input);
  }
  const std::string spaces(1000, ' ');
  EXPECT_FALSE(parse_report_line(report_line({1, 2, {}, {}}) + spaces, "report"));
}

class Reader {
 public:
  Reader() { open(); }
  ~Reader() { close(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void open() {
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  void close() {
    ::close(socket_);
    ::unlink(path().c_str());
  }
  [[nodiscard]] std::string path() const { return (folder_.path() / "reports").string(); }
  /// The next line, or empty.
  [[nodiscard]] std::string line() const {
    std::string text(2 * longest_report_line, '\0');
    const ssize_t size = ::recv(socket_, text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }

 private:
  TemporaryFolder folder_;
  int socket_ = -1;
};

TEST(ReportSender, SendsALineADatagram) {
  Reader reader;
  ReportSender sender(reader.path());
  sender.send({1, 2, MiB{5}, MiB{6}});
  sender.send({2, 2, MiB{7}, MiB{8}});
  EXPECT_EQ(reader.line(), report_line({1, 2, MiB{5}, MiB{6}}));
  EXPECT_EQ(reader.line(), report_line({2, 2, MiB{7}, MiB{8}}));
  EXPECT_EQ(sender.sent(), 2);
  EXPECT_EQ(sender.lost(), 0);
}

TEST(ReportSender, NeverWaitsForAReaderThatDoesNotRead) {
  Reader reader;
  ReportSender sender(reader.path());
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 1; i <= 5000; ++i) sender.send({i, 5000, MiB{1}, MiB{1}});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_GT(sender.sent(), 0);
  EXPECT_GT(sender.lost(), 0);
  EXPECT_EQ(sender.sent() + sender.lost(), 5000);
  while (!reader.line().empty()) {
  }
  const std::int64_t before = sender.sent();
  sender.send({5000, 5000, MiB{1}, MiB{1}});
  EXPECT_EQ(sender.sent(), before + 1) << "room again";
}

TEST(ReportSender, ComesThroughAReadersRestart) {
  Reader reader;
  ReportSender sender(reader.path());
  sender.send({1, 3, {}, {}});
  reader.close();
  sender.send({2, 3, {}, {}});
  reader.open();
  sender.send({3, 3, {}, {}});
  EXPECT_EQ(reader.line(), report_line({3, 3, {}, {}}));
  EXPECT_EQ(sender.lost(), 1);
}

TEST(ReportSender, NobodyIsNobody) {
  ReportSender none_asked("");
  none_asked.send({1, 1, {}, {}});
  EXPECT_EQ(none_asked.sent() + none_asked.lost(), 0);
  ReportSender too_long("/" + std::string(200, 'x'));
  too_long.send({1, 1, {}, {}});
  EXPECT_EQ(too_long.lost(), 1);
  ReportSender no_folder("/nonexistent/reports");
  no_folder.send({1, 1, {}, {}});
  EXPECT_EQ(no_folder.lost(), 1);
}

}  // namespace
}  // namespace cleave
