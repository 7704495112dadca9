// The listener on loopback, as scrapers and others meet it.

#include "daemon/metrics/metrics_listener.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/format.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"

namespace cleave {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr const char* get_metrics = "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// A listener with its loop on a thread of its own.
class ListenerStand {
 public:
  explicit ListenerStand(MetricsSettings settings = {}) {
    settings.address = "127.0.0.1:0";
    auto opened = MetricsListener::open(loop_, settings,
                                        {[this] {
                                           ++asked;
                                           return std::make_shared<const std::string>(page);
                                         },
                                         [this] { return well.load(); }});
    if (!opened) throw std::runtime_error(opened.error().text());
    listener_ = std::move(*opened);
    const std::string url = listener_->url();
    port_ = static_cast<std::uint16_t>(std::atoi(url.c_str() + url.rfind(':') + 1));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~ListenerStand() {
    asio::post(loop_, [this] {
      listener_.reset();
      guard_.reset();
    });
    thread_.join();
  }
  ListenerStand(const ListenerStand&) = delete;
  ListenerStand& operator=(const ListenerStand&) = delete;

  [[nodiscard]] tcp::socket connect() {
    tcp::socket socket(client_);
    error_code failed;
    socket.connect({asio::ip::address_v4::loopback(), port_}, failed);
    return socket;
  }
  /// Sends this on a connection of its own, and reads until the other end closes.
  std::string ask(const std::string& text) {
    tcp::socket socket = connect();
    error_code ignored;
    asio::write(socket, asio::buffer(text), ignored);
    std::string all;
    asio::read(socket, asio::dynamic_buffer(all), ignored);
    return all;
  }

  std::string page = "a 1\n";
  std::atomic<int> asked = 0;
  std::atomic<bool> well = true;

 private:
  asio::io_context loop_{1}, client_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> guard_{
      asio::make_work_guard(loop_)};
  std::unique_ptr<MetricsListener> listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string request(const std::string& line, const std::string& headers = "") {
  return line + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + headers + "\r\n";
}

TEST(MetricsListener, AnswersWithThePageAndNothingElse) {
  ListenerStand stand;
  const std::string page = stand.ask(get_metrics);
  EXPECT_TRUE(has(page, "HTTP/1.1 200 OK\r\n")) << page;
  EXPECT_TRUE(has(page, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n")) << page;
  EXPECT_TRUE(page.ends_with("\r\n\r\na 1\n")) << page;
  EXPECT_TRUE(has(stand.ask(request("GET /metrics?name[]=a")), " 200 OK"));
  const std::string head = stand.ask(request("HEAD /metrics"));
  EXPECT_TRUE(has(head, "Content-Length: 4\r\n")) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
  for (const char* other : {"GET /", "GET /v1/status", "GET /metrics/", "GET /v1/jobs"})
    EXPECT_TRUE(has(stand.ask(request(other)), " 404 ")) << other;
  const std::string post = stand.ask(request("POST /metrics", "Content-Length: 2\r\n") + "ab");
  EXPECT_TRUE(has(post, " 405 ")) << post;
  EXPECT_TRUE(has(post, "Allow: GET, HEAD\r\n")) << post;
  EXPECT_TRUE(has(stand.ask("nonsense\r\n\r\n"), " 400 "));
  EXPECT_TRUE(
      has(stand.ask(request("GET /metrics", "A: " + std::string(9000, 'a') + "\r\n")), " 400 "));
  EXPECT_EQ(stand.asked, 3);
}

TEST(MetricsListener, SaysWhetherTheDaemonIsWell) {
  ListenerStand stand;
  EXPECT_TRUE(has(stand.ask(request("GET /healthz")), " 200 OK"));
  stand.well = false;
  const std::string degraded = stand.ask(request("GET /healthz"));
  EXPECT_TRUE(has(degraded, " 503 ")) << degraded;
  EXPECT_TRUE(degraded.ends_with("degraded\n")) << degraded;
}

TEST(MetricsListener, KeepsConnectionsForTheNextScrape) {
  ListenerStand stand;
  tcp::socket socket = stand.connect();
  for (int i = 0; i < 3; ++i) {
    asio::write(socket, asio::buffer(std::string("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")));
    std::string answer;
    asio::read_until(socket, asio::dynamic_buffer(answer), "\r\n\r\na 1\n");
    EXPECT_TRUE(has(answer, "200 OK"));
  }
}

TEST(MetricsListener, AsksForAPassword) {
  TemporaryFolder folder;
  const std::string file = (folder.path() / "passwords").string();
  std::ofstream(file) << "ada:a:b\n";
  ::chmod(file.c_str(), 0600);
  ListenerStand stand({"", "", "", file});
  const std::string refused = stand.ask(get_metrics);
  EXPECT_TRUE(has(refused, " 401 ")) << refused;
  EXPECT_TRUE(has(refused, "WWW-Authenticate: Basic realm=")) << refused;
  EXPECT_TRUE(has(stand.ask(request("GET /healthz")), " 401 "));
  EXPECT_TRUE(
      has(stand.ask(request("GET /metrics", "Authorization: Basic YWRhOmE6Yw==\r\n")), " 401 "));
  EXPECT_EQ(stand.asked, 0);
  EXPECT_TRUE(
      has(stand.ask(request("GET /metrics", "Authorization: Basic YWRhOmE6Yg==\r\n")), " 200 "));
}

TEST(MetricsListener, SpeaksTlsWhereThereIsACertificate) {
  TemporaryFolder folder;
  const std::string key = (folder.path() / "key").string(), crt = (folder.path() / "crt").string();
  const std::string make = fmt::format(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
      "/CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout {} -out {} 2>/dev/null",
      key, crt);
  if (std::system(make.c_str()) != 0) GTEST_SKIP() << "the program openssl is missing";
  ListenerStand stand({"", crt, key, ""});
  asio::ssl::context trusting(asio::ssl::context::tls_client);
  trusting.load_verify_file(crt);
  trusting.set_verify_mode(asio::ssl::verify_peer);
  asio::ssl::stream<tcp::socket> stream(stand.connect(), trusting);
  stream.handshake(asio::ssl::stream_base::client);
  asio::write(stream, asio::buffer(std::string(get_metrics)));
  std::string answer;
  error_code end;
  asio::read(stream, asio::dynamic_buffer(answer), end);
  EXPECT_EQ(end, asio::error::eof) << end.message();
  EXPECT_TRUE(answer.ends_with("\r\n\r\na 1\n")) << answer;
  EXPECT_FALSE(has(stand.ask(get_metrics), "a 1")) << "nothing goes out in the clear";
  asio::ssl::context old(asio::ssl::context::tls_client);
  old.set_options(asio::ssl::context::no_tlsv1_2 | asio::ssl::context::no_tlsv1_3);
  asio::ssl::stream<tcp::socket> outdated(stand.connect(), old);
  outdated.handshake(asio::ssl::stream_base::client, end);
  EXPECT_TRUE(end) << "TLS before 1.2 is not spoken";
}

TEST(MetricsListener, OneAddressHasSixteenConnections) {
  ListenerStand stand;
  std::vector<tcp::socket> idle;
  for (int i = 0; i < 16; ++i) {
    idle.push_back(stand.connect());
    asio::write(idle.back(), asio::buffer(std::string("GET /me")));
  }
  EXPECT_EQ(stand.ask(get_metrics), "") << "closed without a word";
  idle.pop_back();
  std::string answer;
  for (int tries = 0; tries < 200 && answer.empty(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    answer = stand.ask(get_metrics);
  }
  EXPECT_TRUE(has(answer, "200 OK"));
}

TEST(MetricsListener, AnAddressThatSomebodyHasIsRefused) {
  ListenerStand stand;
  asio::io_context loop;
  const std::uint16_t port = stand.connect().remote_endpoint().port();
  const auto second =
      MetricsListener::open(loop, {fmt::format("127.0.0.1:{}", port), "", "", ""}, {});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text().find("cannot be listened at"), std::string::npos)
      << second.error().text();
}

}  // namespace
}  // namespace cleave
