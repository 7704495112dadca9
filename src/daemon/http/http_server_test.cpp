#include "daemon/http/http_server.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>

#include "base/json.hpp"
#include "base/random.hpp"
#include "base/temporary_folder_test.hpp"
#include "daemon/http/http_users.hpp"
#include "daemon/http/long_reads.hpp"
#include "daemon/http/raw_client_test.hpp"
#include "daemon/http/socket_file.hpp"

namespace cleave {
namespace {

using Ms = std::chrono::milliseconds;

/// A server on a thread of its own that echoes, answers late, never or without end.
class TestServer {
 public:
  explicit TestServer(HttpLimits limits = {}) : file_(*SocketFile::listen({path(), true}, false)) {
    server_ = std::make_unique<HttpServer>(loop_, file_.number(), limits, ::geteuid(),
                                           [this](HttpRequest request, const HttpAnswer& answer) {
                                             serve(std::move(request), answer);
                                           });
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~TestServer() {
    on_loop([this] {
      late_.clear();
      streams.clear();
      server_.reset();
    });
    loop_.stop();
    thread_.join();
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  [[nodiscard]] std::string path() const { return (folder_.path() / "run" / "s.sock").string(); }
  void on_loop(const std::function<void()>& act) {
    std::atomic<bool> done = false;
    boost::asio::post(loop_, [&] {
      act();
      done = true;
      done.notify_one();
    });
    done.wait(false);
  }
  std::size_t connections() {
    std::size_t count = 0;
    on_loop([&] { count = server_->connections(); });
    return count;
  }
  bool comes_to(std::size_t wanted) {
    for (int i = 0; i < 1600; ++i, std::this_thread::sleep_for(Ms(5)))
      if (connections() == wanted) return true;
    return false;
  }
  HttpServer& server() { return *server_; }

  std::vector<std::shared_ptr<HttpStream>> streams;  // for on_loop() only
  std::atomic<int> served = 0;

 private:
  void serve(HttpRequest request, const HttpAnswer& answer) {
    ++served;
    if (request.path == "/never") return;
    if (request.path == "/throw") throw std::runtime_error("on purpose");
    if (request.path == "/late") {
      late_.push_back(answer);
      return;
    }
    if (request.path == "/now") {
      for (const HttpAnswer& each : late_)
        each({.status = 200, .headers = {}, .body = "late", .stream = {}});
      late_.clear();
    }
    HttpResponse response;
    if (request.path == "/stream") {
      response.content_type = "text/event-stream";
      response.stream = [this](std::shared_ptr<HttpStream> stream) {
        streams.push_back(std::move(stream));
      };
      return answer(std::move(response));
    }
    response.body =
        Json{{"method", request.method}, {"path", request.path},    {"bytes", request.body.size()},
             {"uid", request.peer.uid},  {"pid", request.peer.pid}, {"query", request.query.size()}}
            .dump();
    if (request.path == "/large") response.body = std::string(4 << 20, 'x');
    answer(std::move(response));
  }

  TemporaryFolder folder_;
  boost::asio::io_context loop_;
  SocketFile file_;
  std::vector<HttpAnswer> late_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST(HttpServer, AnswersAndKnowsTheUser) {
  TestServer server;
  RawClient client(server.path());
  const auto reply = client.ask("GET", "/a%20b?x=1&y");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  const Json body = Json::parse(reply->body);
  EXPECT_EQ(body["path"], "/a b");
  EXPECT_EQ(body["query"], 2);
  EXPECT_EQ(body["uid"], ::geteuid());
  EXPECT_EQ(body["pid"], ::getpid());
  // The connection is kept.
  const auto again = client.ask("POST", "/b", std::string(100'000, 'z'));
  ASSERT_TRUE(again);
  EXPECT_EQ(Json::parse(again->body)["bytes"], 100'000);
}

TEST(HttpServer, RequestsSentAheadAreAnsweredInOrder) {
  TestServer server;
  RawClient client(server.path());
  std::string all;
  for (int i = 0; i < 500; ++i) all += fmt::format("GET /{} HTTP/1.1\r\nHost: c\r\n\r\n", i);
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 500; ++i) {
    const auto reply = client.reply();
    ASSERT_TRUE(reply) << i;
    EXPECT_EQ(Json::parse(reply->body)["path"], fmt::format("/{}", i));
  }
}

TEST(HttpServer, AnswersLater) {
  TestServer server;
  RawClient waits(server.path()), other(server.path()), gone(server.path());
  ASSERT_TRUE(waits.send("GET /late HTTP/1.1\r\n\r\nGET /next HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(gone.send("GET /late HTTP/1.1\r\n\r\n"));
  while (server.served < 2) std::this_thread::sleep_for(Ms(1));
  gone.hang_up();
  EXPECT_TRUE(server.comes_to(2));
  EXPECT_FALSE(waits.receive(Ms(50)));
  ASSERT_TRUE(other.ask("GET", "/now"));
  const auto first = waits.reply(), second = waits.reply();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->body, "late");
  EXPECT_EQ(Json::parse(second->body)["path"], "/next");
}

TEST(HttpServer, ANegligentHandlerIsAnInternalError) {
  TestServer server;
  RawClient client(server.path());
  for (const char* path : {"/never", "/throw"}) {
    const auto reply = client.ask("GET", path);
    ASSERT_TRUE(reply) << path;
    EXPECT_EQ(reply->status, 500);
  }
  EXPECT_EQ(client.ask("GET", "/")->status, 200);
}

TEST(HttpServer, RefusesWhatBreaksTheRules) {
  HttpLimits limits;
  limits.body_bytes = 1000;
  limits.header_bytes = 2000;
  TestServer server(limits);
  const std::pair<std::string, int> cases[] = {
      {"no http at all\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\n\r\n", 400},
      {"GET nowhere HTTP/1.1\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\n\r\n", 400},
      {"GET /%00 HTTP/1.1\r\n\r\n", 400},
      {"GET /?a=1&a=2 HTTP/1.1\r\n\r\n", 400},
      {"GET /%ff HTTP/1.1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n" + std::string(5000, 'x'),
       413},
      {"GET / HTTP/1.1\r\nA: " + std::string(3000, 'a') + "\r\n\r\n", 431},
      {"GET / HTTP/1.1\r\nA: " + std::string(100'000, 'a'), 431},
  };
  for (const auto& [text, status] : cases) {
    RawClient client(server.path());
    client.send(text);
    const auto reply = client.reply();
    ASSERT_TRUE(reply) << text.substr(0, 80);
    EXPECT_EQ(reply->status, status) << text.substr(0, 80) << reply->body;
    EXPECT_TRUE(Json::parse(reply->body).contains("error"));
  }
  EXPECT_TRUE(server.comes_to(0));
}

TEST(HttpServer, TakesBodiesInPiecesAndAfterBeingAsked) {
  TestServer server;
  RawClient client(server.path());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"));
  ASSERT_TRUE(client.send("2\r\nde\r\n0\r\n\r\n"));
  auto reply = client.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(Json::parse(reply->body)["bytes"], 5);
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
  reply = client.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 100);
  ASSERT_TRUE(client.send("abcd"));
  reply = client.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(Json::parse(reply->body)["bytes"], 4);
}

TEST(HttpServer, AClientThatHasClosedItsSideIsStillAnswered) {
  TestServer server;
  RawClient client(server.path());
  ASSERT_TRUE(client.send("GET /last HTTP/1.1\r\n\r\n"));
  ::shutdown(client.number(), SHUT_WR);
  const auto reply = client.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  EXPECT_TRUE(client.ends_within(Ms(3000)));
}

TEST(HttpServer, SlowClientsLoseTheirConnectionAndDelayNoOther) {
  HttpLimits limits;
  limits.request_time = Ms(400);
  limits.idle_time = Ms(900);
  TestServer server(limits);
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(std::make_unique<RawClient>(server.path()));
    slow.back()->send(i % 2 == 0 ? "GET / HTTP/1.1\r\nA: "
                                 : "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n");
  }
  RawClient silent(server.path());
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 10; ++round) {
    for (const auto& each : slow) each->send("a");  // a byte now and then helps nobody
    RawClient quick(server.path());
    const auto before = std::chrono::steady_clock::now();
    ASSERT_TRUE(quick.ask("GET", "/"));
    EXPECT_LT(std::chrono::steady_clock::now() - before, Ms(300));
    std::this_thread::sleep_for(Ms(30));
  }
  for (const auto& each : slow) {
    const auto reply = each->reply();
    ASSERT_TRUE(reply);
    EXPECT_TRUE(reply->status == 408 || reply->status == 200);
    if (reply->status == 408) {
      EXPECT_TRUE(each->ends_within(Ms(3000)));
    }
  }
  EXPECT_TRUE(silent.ends_within(Ms(3000)));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, Ms(600));
}

TEST(HttpServer, AClientThatDoesNotReadIsClosed) {
  HttpLimits limits;
  limits.idle_time = Ms(300);
  limits.bytes_per_user = 10 << 20;
  TestServer server(limits);
  std::vector<std::unique_ptr<RawClient>> deaf;
  for (int i = 0; i < 20; ++i) {
    deaf.push_back(std::make_unique<RawClient>(server.path()));
    ASSERT_TRUE(deaf.back()->send("GET /large HTTP/1.1\r\n\r\n"));
  }
  // Their answers fill the user's share; one more is refused.
  int refused = 0;
  for (const auto& each : deaf) {
    const auto reply = each->reply(Ms(100));
    refused += reply && reply->status == 429 ? 1 : 0;
  }
  EXPECT_GT(refused, 10);
  EXPECT_TRUE(server.comes_to(0));
}

TEST(HttpServer, ConnectionsAndRequestsOfAUserAreBounded) {
  HttpLimits limits;
  limits.connections_per_user = 4;  // and 16 more, since this user is the server's own
  limits.requests_per_s = 1;
  limits.burst = 30;
  TestServer server(limits);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 21; ++i) clients.push_back(std::make_unique<RawClient>(server.path()));
  const auto turned_away = clients[20]->reply();
  ASSERT_TRUE(turned_away);
  EXPECT_EQ(turned_away->status, 429);
  int served = 0, refused = 0;
  for (int i = 0; i < 50; ++i) {
    const auto reply = clients[0]->ask("GET", "/");
    ASSERT_TRUE(reply);
    (reply->status == 200 ? served : refused) += 1;
  }
  EXPECT_GE(served, 29);
  EXPECT_LE(served, 33);
  clients.clear();
  EXPECT_TRUE(server.comes_to(0));
}

TEST(HttpServer, StreamsReachAllAndStuckClientsSlowNoOther) {
  HttpLimits limits;
  limits.stream_bytes = 64 << 10;
  limits.heartbeat = Ms(100);
  TestServer server(limits);
  std::vector<std::unique_ptr<RawClient>> readers;
  for (int i = 0; i < 200; ++i) {
    readers.push_back(std::make_unique<RawClient>(server.path()));
    ASSERT_TRUE(readers.back()->send("GET /stream HTTP/1.1\r\n\r\n"));
  }
  while (server.served < 200) std::this_thread::sleep_for(Ms(1));
  // The first 100 never read. 600 KiB are far beyond what a socket and the queue take. To the
  // others it is told no faster than they read, however the test's own threads get their turns.
  constexpr int events = 600;
  const auto keep_up = [&] {
    std::size_t most = 0;
    for (std::size_t i = 100; i < 200; ++i) most = std::max(most, server.streams[i]->waiting());
    return most < (32U << 10);
  };
  std::thread talks([&] {
    for (int i = 0; i < events; ++i) {
      const auto text = std::make_shared<const std::string>(
          fmt::format("id: {}\ndata: {}\n\n", i, std::string(1000, 'e')));
      bool told = false;
      while (!told) {
        server.on_loop([&] {
          if (!keep_up()) return;
          told = true;
          for (const auto& stream : server.streams) (void)stream->send(text);
        });
        if (!told) std::this_thread::sleep_for(Ms(1));
      }
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  const std::string last = fmt::format("id: {}\n", events - 1);
  std::size_t whole = 0;
  while (whole < 100 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(60)) {
    whole = 0;
    for (std::size_t i = 100; i < 200; ++i) {
      while (readers[i]->receive(Ms(0))) {
      }
      whole += readers[i]->have().find(last) != std::string::npos ? 1U : 0U;
    }
  }
  talks.join();
  EXPECT_EQ(whole, 100U);
  std::size_t closed = 0;
  server.on_loop([&] {
    for (const auto& stream : server.streams) closed += stream->closed() ? 1U : 0U;
  });
  EXPECT_EQ(closed, 100U);
  // The stuck ones read at last, up to the last comment and no further.
  while (readers[0]->receive(Ms(2000))) {
  }
  EXPECT_NE(readers[0]->have().find(": too slow; ask again with the last id\n\n"),
            std::string::npos);
  EXPECT_EQ(readers[0]->have().find(last), std::string::npos);
  // A stream without events sends heartbeats.
  RawClient quiet(server.path());
  ASSERT_TRUE(quiet.send("GET /stream HTTP/1.1\r\n\r\n"));
  for (int i = 0; i < 300 && quiet.have().find("\r\n\r\n:\n\n") == std::string::npos; ++i)
    (void)quiet.receive(Ms(10));
  EXPECT_NE(quiet.have().find("\r\n\r\n:\n\n"), std::string::npos);
}

/// A request, damaged: bytes changed, left out, doubled, or pieces of others in between.
std::string mutated(Random& random) {
  static const std::vector<std::string> seeds = {
      "GET /v1/jobs?all=1&limit=10 HTTP/1.1\r\nHost: c\r\nAccept: */*\r\n\r\n",
      "POST /v1/jobs HTTP/1.1\r\nContent-Length: 20\r\nContent-Type: "
      "application/json\r\n\r\n{\"command\":[\"true\"]}",
      "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n1;a=b\r\ne\r\n0\r\nX: "
      "y\r\n\r\n",
      "PUT /v1/scheduler HTTP/1.1\r\nConnection: keep-alive\r\nExpect: "
      "100-continue\r\nContent-Length: "
      "2\r\n\r\n{}",
      "HEAD / HTTP/1.0\r\n\r\n",
      "GET /stream HTTP/1.1\r\nLast-Event-ID: 3\r\n\r\n",
      "GET /late HTTP/1.1\r\n\r\nGET /now HTTP/1.1\r\n\r\n",
  };
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random.below(n)); };
  std::string text = seeds[below(seeds.size())];
  for (std::size_t changes = below(6); changes > 0; --changes) {
    const std::size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 1:
        text.erase(at, below(20));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
      case 3:
        text.insert(at, std::string(below(30'000), static_cast<char>(below(256))));
        break;
      case 4:
        text.insert(at, seeds[below(seeds.size())]);
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
    }
  }
  if (below(4) == 0) text.resize(below(text.size() + 1));
  return text;
}

TEST(HttpServer, DamagedRequestsDoNoHarm) {
  HttpLimits limits;
  limits.request_time = Ms(500);
  // A reader of a stream that has closed one way may only be found to be gone by writing to it.
  limits.heartbeat = Ms(500);
  limits.body_bytes = 50'000;
  limits.requests_per_s = limits.burst = 1e9;
  TestServer server(limits);
  Random random(20261121);
  RawClient steady(server.path());
  std::vector<std::unique_ptr<RawClient>> open;
  for (int i = 0; i < 8000; ++i) {
    auto client = std::make_unique<RawClient>(server.path());
    ASSERT_TRUE(client->connected()) << i;
    const std::string text = mutated(random);
    const std::size_t cut = static_cast<std::size_t>(random.below(text.size() + 1));
    client->send(std::string_view(text).substr(0, cut), Ms(200));
    client->send(std::string_view(text).substr(cut), Ms(200));
    if (random.below(3) == 0) ::shutdown(client->number(), SHUT_WR);
    while (client->receive(Ms(0))) {
    }
    open.push_back(std::move(client));
    if (open.size() > 100) open.erase(open.begin(), open.begin() + 50);
    if (i % 50 == 0) {
      const auto reply = steady.ask("GET", "/steady");
      ASSERT_TRUE(reply) << "after " << i;
      EXPECT_EQ(reply->status, 200);
    }
  }
  open.clear();
  EXPECT_TRUE(server.comes_to(1)) << server.connections();
}

TEST(HttpServer, StopsWithWhatIsGoingOn) {
  TestServer server;
  RawClient idle(server.path()), busy(server.path()), stream(server.path());
  ASSERT_TRUE(idle.ask("GET", "/"));
  ASSERT_TRUE(busy.send("GET /late HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(stream.send("GET /stream HTTP/1.1\r\n\r\n"));
  while (server.served < 3) std::this_thread::sleep_for(Ms(1));
  server.on_loop([&] { server.server().stop(); });
  EXPECT_TRUE(idle.ends_within(Ms(2000)));
  EXPECT_TRUE(stream.ends_within(Ms(2000)));
  EXPECT_FALSE(busy.ends_within(Ms(100)));
  EXPECT_TRUE(server.comes_to(1));
}

TEST(HttpUsers, AConnectionBecomesItsUsers) {
  HttpLimits limits;
  limits.connections = 3;
  limits.connections_per_user = 2;
  limits.unknown_connections = 2;
  HttpUsers users(limits, 99);
  const Duration now = std::chrono::seconds(1);
  ASSERT_TRUE(users.connect(unknown_user, now));
  ASSERT_TRUE(users.connect(unknown_user, now));
  EXPECT_FALSE(users.connect(unknown_user, now)) << "few may be anybody's";
  EXPECT_TRUE(users.move(unknown_user, 5, now));
  EXPECT_TRUE(users.connect(unknown_user, now)) << "one of them is a user's now";
  EXPECT_TRUE(users.move(unknown_user, 5, now)) << "also while all are taken";
  EXPECT_FALSE(users.move(unknown_user, 5, now)) << "a user has no more than the share";
  EXPECT_EQ(users.connections(), 3U);
  users.disconnect(unknown_user);
  users.disconnect(5);
  users.disconnect(5);
  EXPECT_EQ(users.connections(), 0U);
}

TEST(HttpUsers, SharesAreKeptApartAndForgotten) {
  HttpLimits limits;
  limits.connections = 3;
  limits.connections_per_user = 2;
  limits.burst = 2;
  limits.requests_per_s = 1;
  limits.bytes_per_user = 100;
  HttpUsers users(limits, 1000);
  const Duration now = std::chrono::seconds(5);
  EXPECT_TRUE(users.connect(1, now));
  EXPECT_TRUE(users.connect(1, now));
  EXPECT_FALSE(users.connect(1, now)) << "two of two";
  EXPECT_TRUE(users.connect(2, now));
  EXPECT_FALSE(users.connect(3, now)) << "all three";
  EXPECT_TRUE(users.connect(0, now)) << "root gets in";
  EXPECT_TRUE(users.request(1, now));
  EXPECT_TRUE(users.request(1, now));
  EXPECT_FALSE(users.request(1, now));
  EXPECT_TRUE(users.request(2, now));
  EXPECT_TRUE(users.request(1, now + std::chrono::seconds(1)));
  EXPECT_FALSE(users.request(1, now)) << "a clock that goes back gives nothing";
  EXPECT_TRUE(users.hold(1, 0, 100));
  EXPECT_FALSE(users.hold(1, 0, 1));
  EXPECT_TRUE(users.hold(1, 100, 0));
  for (const std::uint32_t uid : {0U, 1U, 1U, 2U}) users.disconnect(uid);
  EXPECT_EQ(users.connections(), 0U);
  users.tidy(now + std::chrono::seconds(100));
  EXPECT_EQ(users.known(), 0U);
}

TEST(HttpUsers, ReadNoMoreOfAUserThanIsTheirs) {
  HttpLimits limits;
  limits.bytes_per_s = 1'000'000;
  HttpUsers users(limits, 1000);
  const Duration now = std::chrono::seconds(5);
  ASSERT_TRUE(users.connect(1, now));
  ASSERT_TRUE(users.connect(2, now));
  EXPECT_EQ(users.rest(1, now), Duration{});
  users.received(1, 240'000, now);
  EXPECT_EQ(users.rest(1, now), Duration{}) << "a quarter of a second's worth at once";
  users.received(1, 2'060'000, now);
  const Duration rest = users.rest(1, now);
  EXPECT_GT(rest, std::chrono::seconds(2));
  EXPECT_LT(rest, Ms(2100));
  EXPECT_EQ(users.rest(2, now), Duration{}) << "others have theirs";
  EXPECT_GT(users.rest(1, now + std::chrono::seconds(1)), Duration{});
  EXPECT_EQ(users.rest(1, now + rest), Duration{});
  for (const std::uint32_t uid : {1U, 2U}) users.disconnect(uid);
  users.tidy(now + std::chrono::seconds(1));
  EXPECT_EQ(users.known(), 1U) << "one that rests is not forgotten";
  users.tidy(now + std::chrono::seconds(4));
  EXPECT_EQ(users.known(), 0U);
}

TEST(LongReads, GoOneAfterTheOther) {
  LongReads reads;
  const int a = 0, b = 0, c = 0, other = 0;
  std::string resumed;
  const auto enter = [&](std::uint32_t uid, const int& who, const char* name) {
    return reads.enter(uid, &who, [&resumed, name] { resumed += name; });
  };
  EXPECT_TRUE(enter(1, a, "a"));
  EXPECT_TRUE(enter(1, a, "a")) << "it reads on";
  EXPECT_FALSE(enter(1, b, "b"));
  EXPECT_FALSE(enter(1, c, "c"));
  EXPECT_TRUE(enter(2, other, "other")) << "each user has a line";
  reads.leave(1, &b);
  EXPECT_EQ(resumed, "") << "it only waited";
  reads.leave(1, &a);
  EXPECT_EQ(resumed, "c");
  EXPECT_FALSE(enter(1, a, "a"));
  reads.leave(1, &c);
  reads.leave(1, &a);
  EXPECT_EQ(resumed, "ca");
  EXPECT_TRUE(enter(1, b, "b"));
  reads.leave(3, &b);
}

TEST(HttpServer, ReadsTheNextLongRequestOfAUserWhenOneIsAnswered) {
  TestServer server;
  const std::string body(300 << 10, 'x');
  RawClient first(server.path()), second(server.path()), small(server.path());
  const std::string head =
      fmt::format("POST /late HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.size());
  ASSERT_TRUE(first.send(head + body));
  for (int i = 0; i < 1000 && server.served != 1; ++i) std::this_thread::sleep_for(Ms(2));
  ASSERT_EQ(server.served, 1);
  std::thread sends([&] { EXPECT_TRUE(second.send(head + body)); });
  std::this_thread::sleep_for(Ms(150));
  EXPECT_EQ(server.served, 1) << "it is not read whole";
  const auto reply = small.ask("POST", "/now", "{}");
  ASSERT_TRUE(reply) << "short ones are";
  EXPECT_EQ(first.reply()->body, "late");
  for (int i = 0; i < 1000 && server.served != 3; ++i) std::this_thread::sleep_for(Ms(2));
  EXPECT_EQ(server.served, 3);
  ASSERT_TRUE(small.ask("POST", "/now", "{}"));
  EXPECT_EQ(second.reply()->body, "late");
  sends.join();
}

TEST(HttpServer, LongRequestsOfAUserComeInAtTheirRate) {
  HttpLimits limits;
  limits.body_bytes = 200 << 10;
  limits.bytes_per_s = 1 << 20;
  TestServer server(limits);
  const auto begin = std::chrono::steady_clock::now();
  const std::string body(200 << 10, 'x');
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      RawClient client(server.path());
      const auto reply = client.ask("POST", "/", body);
      if (reply && reply->status == 200) ++answered;
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(answered, 6) << "they wait, and none is refused";
  EXPECT_GE(std::chrono::steady_clock::now() - begin, Ms(800))
      << "1200 KiB, of which 256 come in at once";
}

TEST(SocketFile, IsOursAlone) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "run" / "s.sock").string();
  {
    auto first = SocketFile::listen({path, true}, false);
    ASSERT_TRUE(first) << first.error().text();
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
    ASSERT_EQ(::stat((folder.path() / "run").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0700U);
    const auto second = SocketFile::listen({path, true}, false);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().text().find("another daemon"), std::string::npos);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "it is gone with its daemon";
  {
    // A program that does not use the lock listens there.
    const Descriptor other(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    ASSERT_EQ(::bind(other.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    ASSERT_EQ(::listen(other.number(), 1), 0);
    EXPECT_FALSE(SocketFile::listen({path, true}, false));
  }
  // It has ended and left its file, which is stale.
  const auto third = SocketFile::listen({path, true}, true);
  ASSERT_TRUE(third) << third.error().text();
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0666U);
}

TEST(SocketFile, IsMadeAnewWhereItWasRemoved) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "run" / "s.sock").string();
  auto file = SocketFile::listen({path, true}, false);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->is_there());
  std::filesystem::remove_all(folder.path() / "run");
  EXPECT_FALSE(file->is_there());
  ASSERT_TRUE(file->renew());
  EXPECT_TRUE(file->is_there());
  EXPECT_FALSE(SocketFile::listen({path, true}, false)) << "with its lock";
  // Another program listens there by now: it stays, and nobody waits for it.
  std::filesystem::remove(path);
  const Descriptor other(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(other.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(other.number(), 1), 0);
  EXPECT_FALSE(file->is_there());
  EXPECT_FALSE(file->renew());
  file->remove();
  EXPECT_EQ(::access(path.c_str(), F_OK), 0) << "it is not ours";
}

TEST(SocketFile, RefusesPlacesThatCannotHoldIt) {
  const TemporaryFolder folder;
  EXPECT_FALSE(SocketFile::listen({folder.path() / std::string(200, 'x'), true}, false));
  const std::string file = (folder.path() / "file").string();
  ::close(::creat(file.c_str(), 0600));
  EXPECT_FALSE(SocketFile::listen({file, true}, false)) << "no socket";
  EXPECT_EQ(::access(file.c_str(), F_OK), 0) << "and it stays";
  const std::string open = (folder.path() / "open").string();
  ASSERT_EQ(::mkdir(open.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
  EXPECT_FALSE(SocketFile::listen({open + "/s", true}, false)) << "everybody may write there";
}

}  // namespace
}  // namespace cleave
