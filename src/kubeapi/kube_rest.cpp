#include "kubeapi/kube_rest.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>
// Asio of 1.74 needs <utility> before it.
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/format.hpp"
#include "base/read_text.hpp"
#include "base/run_until_called.hpp"
#include "base/text.hpp"
#include "kubeapi/line_splitter.hpp"

namespace cleave {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
namespace http = boost::beast::http;
using SystemError = boost::system::error_code;
using Clock = std::chrono::steady_clock;

std::string KubeAnswer::message() const {
  constexpr std::size_t longest = 300;
  std::string said = text.substr(0, longest);
  if (body.is_object())
    if (const auto found = body.find("message"); found != body.end() && found->is_string())
      said = found->get<std::string>();
  return fmt::format("{}{}{}", status, said.empty() ? "" : ": ", said);
}

/// The connection, its token, and how long things may take.
class KubeRest::Connection {
 public:
  Connection(KubeServer server, Settings settings)
      : server_(std::move(server)), settings_(std::move(settings)) {}

  Result<KubeAnswer> ask(std::string_view method, const std::string& target, const Json* body);
  Result<KubeStreamEnd> stream(const std::string& target,
                               const std::function<bool(const Json&)>& on_line,
                               KubeAnswer* refusal);

 private:
  using Request = http::request<http::string_body>;
  using Stream = ssl::stream<asio::ip::tcp::socket>;
  template <class Body>
  using Parser = http::response_parser<Body>;

  Result<void> connect(Clock::time_point until);
  Result<void> shake_hands(Clock::time_point until);
  void close();
  bool kept();
  Result<std::string> read_token() const;
  Result<Request> request_of(std::string_view method, const std::string& target,
                             const Json* body) const;
  /// Begins something, and runs it until it calls back or may not go on.
  template <class Begin>
  SystemError run(Clock::time_point until, const Begin& begin);
  SystemError write(const Request& request, Clock::time_point until);
  std::unexpected<Error> broken(const SystemError& why);
  Result<KubeAnswer> ask_once(const Request& request, bool& again);
  Result<KubeAnswer> whole_answer(Parser<http::buffer_body>&& parser, Clock::time_point until);
  Result<KubeStreamEnd> read_lines(Parser<http::buffer_body>& parser,
                                   const std::function<bool(const Json&)>& on_line);

  KubeServer server_;
  Settings settings_;
  asio::io_context context_{1};
  std::optional<ssl::context> tls_;
  std::optional<Stream> stream_;
  boost::beast::flat_buffer buffer_;
  bool stopped_ = false;
};

template <class Begin>
SystemError KubeRest::Connection::run(Clock::time_point until, const Begin& begin) {
  SystemError outcome;
  bool done = false;
  begin([&](const SystemError& error, auto&&...) {
    outcome = error;
    done = true;
  });
  const auto stops = [this] { return stopped_ = settings_.stop && settings_.stop(); };
  const auto end = [this] {
    SystemError ignored;
    if (stream_) (void)stream_->next_layer().close(ignored);
  };
  if (!run_until_called(context_, done, until, stops, end)) return asio::error::timed_out;
  return outcome;
}

std::unexpected<Error> KubeRest::Connection::broken(const SystemError& why) {
  close();
  const std::string where = fmt::format("https://{}:{}", server_.host, server_.port);
  if (stopped_) return fail(ErrorKind::infeasible, where, "interrupted");
  if (why == asio::error::timed_out)
    return fail(ErrorKind::infeasible, where, "the API server does not answer in time");
  return fail(ErrorKind::infeasible, where,
              fmt::format("no answer from the API server: {}", why.message()));
}

Result<void> KubeRest::Connection::connect(Clock::time_point until) {
  close();
  SystemError failed;
  tls_.emplace(ssl::context::tls_client);
  (void)tls_->set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, failed);
  (void)tls_->load_verify_file(server_.ca.string(), failed);
  if (failed)
    return fail(ErrorKind::bad_input, server_.ca.string(),
                fmt::format("this is no certificate to trust: {}", failed.message()));
  stream_.emplace(context_, *tls_);
  asio::ip::tcp::resolver resolver(context_);
  asio::ip::tcp::resolver::results_type found;
  failed = run(until, [&](const auto& done) {
    resolver.async_resolve(server_.host, server_.port,
                           [&, done](const SystemError& error, auto&& all) {
                             found = all;
                             done(error);
                           });
  });
  if (!failed)
    failed = run(
        until, [&](const auto& done) { asio::async_connect(stream_->next_layer(), found, done); });
  if (failed) return broken(failed);
  return shake_hands(until);
}

Result<void> KubeRest::Connection::shake_hands(Clock::time_point until) {
  SystemError failed;
  (void)stream_->next_layer().set_option(asio::ip::tcp::no_delay(true), failed);
  (void)stream_->set_verify_mode(ssl::verify_peer, failed);
  (void)stream_->set_verify_callback(ssl::host_name_verification(server_.host), failed);
  SystemError is_name;
  (void)asio::ip::make_address(server_.host, is_name);
  if (is_name) SSL_set_tlsext_host_name(stream_->native_handle(), server_.host.c_str());
  failed = run(until,
               [&](const auto& done) { stream_->async_handshake(ssl::stream_base::client, done); });
  if (failed) return broken(failed);
  return {};
}

void KubeRest::Connection::close() {
  SystemError ignored;
  if (stream_) (void)stream_->next_layer().close(ignored);
  stream_.reset();
  buffer_.consume(buffer_.size());
}

bool KubeRest::Connection::kept() {
  if (!stream_ || !stream_->next_layer().is_open()) return false;
  char byte = 0;
  const ssize_t got =
      ::recv(stream_->next_layer().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
  // A ticket for another session may lie there, or the end: a new connection is right for both.
  close();
  return false;
}

Result<std::string> KubeRest::Connection::read_token() const {
  const auto text = read_text(server_.token.string());
  if (!text) return std::unexpected(text.error());
  return std::string(trimmed(*text));
}

Result<KubeRest::Connection::Request> KubeRest::Connection::request_of(std::string_view method,
                                                                       const std::string& target,
                                                                       const Json* body) const {
  const auto token = read_token();
  if (!token) return std::unexpected(token.error());
  Request request;
  request.version(11);
  request.method_string({method.data(), method.size()});
  request.target(target);
  request.set(http::field::host, server_.host);
  request.set(http::field::user_agent, "cleave-kube");
  request.set(http::field::accept, "application/json");
  request.set(http::field::authorization, "Bearer " + *token);
  if (body != nullptr) {
    request.set(http::field::content_type,
                method == "PATCH" ? "application/merge-patch+json" : "application/json");
    request.body() = body->dump();
  }
  if (method != "GET") request.content_length(request.body().size());
  return request;
}

SystemError KubeRest::Connection::write(const Request& request, Clock::time_point until) {
  return run(until, [&](const auto& done) { http::async_write(*stream_, request, done); });
}

Result<KubeAnswer> KubeRest::Connection::whole_answer(Parser<http::buffer_body>&& head,
                                                      Clock::time_point until) {
  Parser<http::string_body> parser(std::move(head));
  parser.body_limit(settings_.most_bytes);
  const SystemError failed =
      run(until, [&](const auto& done) { http::async_read(*stream_, buffer_, parser, done); });
  if (failed) return broken(failed);
  KubeAnswer answer;
  answer.status = static_cast<int>(parser.get().result_int());
  const bool says_json = parser.get()[http::field::content_type].starts_with("application/json");
  auto document = parse_json(parser.get().body(), "the API server's answer");
  const bool cut = !document && says_json && answer.fine() && !parser.get().body().empty();
  if (document)
    answer.body = std::move(*document);
  else
    answer.text = std::move(parser.get().body());
  if (!parser.keep_alive()) close();
  if (cut) return std::unexpected(document.error());
  return answer;
}

Result<KubeAnswer> KubeRest::Connection::ask_once(const Request& request, bool& again) {
  const auto until = Clock::now() + settings_.patience;
  const bool was_kept = kept();
  again = was_kept && request.method() != http::verb::post;
  if (!was_kept)
    if (const auto connected = connect(until); !connected)
      return std::unexpected(connected.error());
  SystemError failed = write(request, until);
  Parser<http::buffer_body> parser;
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  if (!failed)
    failed = run(
        until, [&](const auto& done) { http::async_read_header(*stream_, buffer_, parser, done); });
  if (failed) {
    again = again && failed != asio::error::timed_out;
    return broken(failed);
  }
  again = false;
  return whole_answer(std::move(parser), until);
}

Result<KubeAnswer> KubeRest::Connection::ask(std::string_view method, const std::string& target,
                                             const Json* body) {
  stopped_ = false;
  auto request = request_of(method, target, body);
  if (!request) return std::unexpected(request.error());
  bool again = false;
  auto answer = ask_once(*request, again);
  if (!answer && again) answer = ask_once(*request, again);
  if (!answer || answer->status != 401) return answer;
  auto renewed = request_of(method, target, body);
  if (!renewed || (*renewed)[http::field::authorization] == (*request)[http::field::authorization])
    return answer;
  return ask_once(*renewed, again);
}

Result<KubeStreamEnd> KubeRest::Connection::read_lines(
    Parser<http::buffer_body>& parser, const std::function<bool(const Json&)>& on_line) {
  LineSplitter splitter(settings_.most_bytes);
  std::array<char, 16384> bytes{};
  while (!parser.is_done()) {
    parser.get().body().data = bytes.data();
    parser.get().body().size = bytes.size();
    SystemError failed = run(Clock::now() + settings_.quiet, [&](const auto& done) {
      http::async_read_some(*stream_, buffer_, parser, done);
    });
    if (failed == http::error::need_buffer) failed = {};
    if (failed && stopped_) return KubeStreamEnd::stopped;
    if (failed) return broken(failed);
    for (const std::string& line :
         splitter.take({bytes.data(), bytes.size() - parser.get().body().size})) {
      const auto document = parse_json(line, "a change");
      if (!document) return std::unexpected(document.error());
      if (!on_line(*document)) return KubeStreamEnd::stopped;
    }
    if (splitter.too_long())
      return fail(ErrorKind::infeasible, server_.host, "a line of changes is too long to be one");
  }
  return KubeStreamEnd::over;
}

Result<KubeStreamEnd> KubeRest::Connection::stream(const std::string& target,
                                                   const std::function<bool(const Json&)>& on_line,
                                                   KubeAnswer* refusal) {
  constexpr int gone = 410;
  stopped_ = false;
  const auto until = Clock::now() + settings_.patience;
  const auto request = request_of("GET", target, nullptr);
  if (!request) return std::unexpected(request.error());
  // A stream has its connection for itself.
  if (const auto connected = connect(until); !connected)
    return stopped_ ? Result<KubeStreamEnd>(KubeStreamEnd::stopped)
                    : std::unexpected(connected.error());
  SystemError failed = write(*request, until);
  Parser<http::buffer_body> parser;
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  if (!failed)
    failed = run(
        until, [&](const auto& done) { http::async_read_header(*stream_, buffer_, parser, done); });
  if (failed) return broken(failed);
  if (parser.get().result_int() >= 300) {
    auto answer = whole_answer(std::move(parser), until);
    close();
    if (!answer) return std::unexpected(answer.error());
    if (answer->status == gone) return KubeStreamEnd::gone;
    if (refusal != nullptr) *refusal = std::move(*answer);
    return KubeStreamEnd::refused;
  }
  auto ended = read_lines(parser, on_line);
  close();
  return ended;
}

KubeRest::KubeRest(KubeServer server, Settings settings)
    : connection_(std::make_unique<Connection>(std::move(server), std::move(settings))) {}
KubeRest::~KubeRest() = default;
KubeRest::KubeRest(KubeRest&&) noexcept = default;
KubeRest& KubeRest::operator=(KubeRest&&) noexcept = default;

Result<KubeAnswer> KubeRest::ask(std::string_view method, const std::string& target,
                                 const Json* body) {
  return connection_->ask(method, target, body);
}

Result<KubeStreamEnd> KubeRest::stream(const std::string& target,
                                       const std::function<bool(const Json&)>& on_line,
                                       KubeAnswer* refusal) {
  return connection_->stream(target, on_line, refusal);
}

}  // namespace cleave
