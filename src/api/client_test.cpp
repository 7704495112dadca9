// The client against a socket that answers as a test says: kept and lost connections, answers that
// are no answers, time limits, events that go on where they were.

#include "api/client.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/stub_daemon_test.hpp"
#include "base/json.hpp"
#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Clients : public testing::Test {
 protected:
  [[nodiscard]] std::string socket() const { return (folder_.path() / "s").string(); }
  [[nodiscard]] ApiClient client(milliseconds patience = seconds(10),
                                 std::function<bool()> stop = {}) const {
    return ApiClient({{socket(), true}},
                     {.patience = patience, .most_bytes = 1U << 20, .stop = std::move(stop)});
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Clients, KeepTheirConnectionAndReconnectWhenItIsLost) {
  StubDaemon daemon(socket(), [](const StubRequest& request) {
    return StubReply{
        200, request.method + request.target + request.body, "Cleave-Offset: 5\r\n", false, {}, {}};
  });
  ApiClient asking = client();
  for (int i = 0; i < 3; ++i) {
    const auto answer = asking.ask("POST", "/v1/jobs", "{}");
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->body, "POST/v1/jobs{}");
    EXPECT_EQ(answer->header("cleave-offset"), "5");
    EXPECT_EQ(answer->header("none"), "");
  }
  EXPECT_EQ(daemon.connections(), 1);
  daemon.drop_connections();
  EXPECT_TRUE(asking.ask("POST", "/v1/jobs", "{}")) << "nothing was sent on the old connection";
  EXPECT_EQ(daemon.connections(), 2);
}

TEST_F(Clients, AskOnceMoreWhereThatDoesNoHarm) {
  std::atomic<int> times{0};
  StubDaemon daemon(socket(), [&](const StubRequest&) {
    // The second question finds a connection that ends without an answer.
    return ++times == 2 ? StubReply{200, {}, {}, false, "HTTP", {}}
                        : StubReply{200, "{}", {}, false, {}, {}};
  });
  ApiClient asking = client();
  EXPECT_TRUE(asking.ask("GET", "/v1/jobs"));
  EXPECT_TRUE(asking.ask("GET", "/v1/jobs"));
  EXPECT_EQ(times, 3);
  times = 0;
  EXPECT_TRUE(asking.ask("GET", "/v1/jobs"));
  const auto submitted = asking.ask("POST", "/v1/jobs", "{}");
  ASSERT_FALSE(submitted);
  EXPECT_NE(submitted.error().text().find("the request may have been carried out"),
            std::string::npos);
  EXPECT_TRUE(asking.unreachable());
  EXPECT_EQ(times, 2) << "not a second time";
}

TEST_F(Clients, SubmitWithAKeyOnceMore) {
  std::vector<std::string> heads;
  std::mutex heads_mutex;
  StubDaemon daemon(socket(), [&](const StubRequest& request) {
    const std::lock_guard lock(heads_mutex);
    heads.push_back(request.head);
    return heads.size() == 2 || heads.size() == 4 ? StubReply{200, {}, {}, false, "HTTP", {}}
                                                  : StubReply{201, "{}", {}, false, {}, {}};
  });
  ApiClient asking = client();
  EXPECT_TRUE(asking.submit("{}", "first"));
  EXPECT_TRUE(asking.submit("{}", "second")) << "the connection broke, and it was sent again";
  ASSERT_EQ(heads.size(), 3U);
  EXPECT_NE((heads[0] + "\r\n").find("Idempotency-Key: first\r\n"), std::string::npos) << heads[0];
  for (const std::size_t each : {1U, 2U})
    EXPECT_NE((heads[each] + "\r\n").find("Idempotency-Key: second\r\n"), std::string::npos)
        << heads[each];
  ApiClient fresh = client();
  EXPECT_FALSE(fresh.submit("{}", "third")) << "on a new connection the caller decides";
  EXPECT_TRUE(fresh.may_be_taken());
  EXPECT_TRUE(fresh.submit("{}", "third"));
  EXPECT_FALSE(fresh.may_be_taken());
  daemon.drop_connections();
}

TEST_F(Clients, SayWhatTheDaemonRefuses) {
  StubDaemon daemon(socket(), [](const StubRequest&) {
    return StubReply{404,
                     R"({"error": {"kind": "bad input", "place": "job 7",
                      "message": "no such job", "remedy": "ps"}})",
                     {},
                     true,
                     {},
                     {}};
  });
  ApiClient asking = client();
  const auto answer = asking.ask("GET", "/v1/jobs/7");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().text(), "job 7: no such job; ps");
  EXPECT_EQ(answer.error().kind, ErrorKind::bad_input);
  EXPECT_FALSE(asking.unreachable());
  EXPECT_FALSE(asking.ask("GET", "/v1/jobs/7"));
  EXPECT_EQ(daemon.connections(), 2) << "it was told that the connection ends";
}

TEST_F(Clients, SayThatNoDaemonIsThere) {
  ApiClient nowhere = client();
  const auto answer = nowhere.ask("GET", "/v1/status");
  ASSERT_FALSE(answer);
  const std::string text = answer.error().text();
  EXPECT_NE(text.find("no daemon answers at " + socket()), std::string::npos) << text;
  EXPECT_NE(text.find("cleaved --simulate 4xA100-40GB"), std::string::npos);
  EXPECT_TRUE(nowhere.unreachable());
}

TEST_F(Clients, TryOnePlaceAfterTheOther) {
  StubDaemon daemon(socket(), [](const StubRequest&) { return StubReply{}; });
  ApiClient asking({{socket() + "-none", false}, {socket(), false}});
  EXPECT_TRUE(asking.ask("GET", "/v1/status")) << "this process listens, which is trusted";
}

TEST_F(Clients, DoNotTrustAnotherUsersSocketUnlessTold) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  ASSERT_EQ(::chmod(socket().substr(0, socket().rfind('/')).c_str(), 0777), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    if (::setuid(12345) != 0) ::_exit(1);
    const StubDaemon daemon(socket(), [](const StubRequest&) { return StubReply{}; });
    ::pause();
    ::_exit(0);
  }
  ApiClient chosen = client();
  for (int i = 0; i < 1000 && !chosen.ask("GET", "/v1/status"); ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_TRUE(chosen.ask("GET", "/v1/status")) << "the user named it";
  const auto refused = ApiClient({{socket(), false}}).ask("POST", "/v1/jobs", "{}");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("user 12345 listens there"), std::string::npos);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

TEST_F(Clients, AreNotFooledByOtherServers) {
  const char* answers[] = {"SSH-2.0-OpenSSH_9\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
                           "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nab",
                           "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nab",
                           "\x16\x03\x01",
                           "HTTP/1.1 2"};
  for (const char* answer : answers) {
    StubDaemon daemon(
        socket(), [&](const StubRequest&) { return StubReply{200, {}, {}, false, answer, {}}; });
    EXPECT_FALSE(client().ask("GET", "/v1/status")) << answer;
  }
  StubDaemon daemon(socket(), [&](const StubRequest&) {
    return StubReply{200, "{\"jobs\": [", {}, false, {}, {}};
  });
  EXPECT_FALSE(client().ask_json("GET", "/v1/jobs"));
}

TEST_F(Clients, WaitNoLongerThanTheyAreTold) {
  std::atomic<bool> over{false};
  StubDaemon daemon(socket(), [&](const StubRequest&) {
    for (int i = 0; i < 1500 && !over; ++i) std::this_thread::sleep_for(milliseconds(1));
    return StubReply{};
  });
  const auto begin = std::chrono::steady_clock::now();
  ApiClient hasty = client(milliseconds(200));
  const auto answer = hasty.ask("GET", "/v1/status");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("in time"), std::string::npos);
  std::atomic<bool> stop{false};
  ApiClient stopped = client(seconds(60), [&] { return stop.load(); });
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(200));
    stop = true;
  });
  EXPECT_FALSE(stopped.ask("GET", "/v1/status"));
  EXPECT_TRUE(stopped.stopped());
  EXPECT_FALSE(stopped.unreachable());
  later.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1400));
  over = true;
}

TEST_F(Clients, FollowEventsAndGoOnWhereTheyWere) {
  StubDaemon daemon(socket(), [](const StubRequest& request) {
    StubReply reply;
    const bool again = request.head.find("Last-Event-ID: 2") != std::string::npos;
    reply.stream = [again](const std::function<bool(std::string_view)>& send) {
      send(again ? "id: 3\ndata: c\n\n" : ": hello\n\nid: 1\ndata: a\n\nid: 2\nda");
      std::this_thread::sleep_for(milliseconds(20));
      if (!again) send("ta: b\n\n");
    };
    return reply;
  });
  ApiClient asking = client();
  std::string last, seen;
  const auto see = [&](const ServerEvent& event) {
    seen += event.data;
    return event.data != "c";
  };
  EXPECT_FALSE(asking.follow("/v1/events", last, see)) << "the stream broke";
  EXPECT_TRUE(asking.unreachable());
  EXPECT_EQ(last, "2");
  EXPECT_TRUE(asking.follow("/v1/events", last, see)) << "it was enough";
  EXPECT_EQ(seen, "abc");
}

TEST_F(Clients, FollowChunkedEventsAndHearRefusals) {
  StubDaemon daemon(socket(), [](const StubRequest& request) {
    if (request.path() == "/refused")
      return StubReply{
          429, R"({"error": {"kind": "infeasible", "message": "too many"}})", {}, false, {}, {}};
    StubReply reply;
    reply.raw =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndata\r\n6\r\n: "
        "x\n\nd\r\n7\r\nata: "
        "y\n\r\n1\r\n\n\r\n0\r\n\r\n";
    return reply;
  });
  ApiClient asking = client();
  std::string last, seen;
  EXPECT_FALSE(asking.follow("/v1/events", last, [&](const ServerEvent& event) {
    seen += event.data;
    return true;
  })) << "no daemon ends its stream";
  EXPECT_EQ(seen, "xy");
  const auto refused = asking.follow("/refused", last, [](const ServerEvent&) { return true; });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "too many");
}

TEST(Targets, AreEncoded) {
  EXPECT_EQ(percent_encoded("GPU-1_a.b~"), "GPU-1_a.b~");
  EXPECT_EQ(percent_encoded("a b/c?d&e=\xff\n"), "a%20b%2Fc%3Fd%26e%3D%FF%0A");
}

}  // namespace
}  // namespace cleave
