#include "api/client.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>
// Asio of 1.74 needs <utility> before it.
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "api/documents.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/run_until_called.hpp"
#include "base/text.hpp"

namespace cleave {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using std::chrono::milliseconds;
using Socket = asio::local::stream_protocol::socket;
using SystemError = boost::system::error_code;

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    if (plain)
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

std::string_view ApiAnswer::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (lowercase(key) == lowercase(name)) return value;
  return {};
}

/// The connection, and what was learned of the last failure.
class ApiClient::Connection {
 public:
  Connection(std::vector<SocketPlace> places, Settings settings)
      : places_(std::move(places)), settings_(std::move(settings)), socket_(context_) {}

  /// `key`: of a submission; may be empty.
  Result<ApiAnswer> ask(std::string_view method, const std::string& target, const std::string& body,
                        milliseconds patience, const std::string& key = {});
  Result<void> follow(const std::string& target, std::string& last_id,
                      const std::function<bool(const ServerEvent&)>& on_event);

  bool unreachable = false, stopped = false, may_be_taken = false;

 private:
  using Request = http::request<http::string_body>;
  using Clock = std::chrono::steady_clock;

  Result<void> connect();
  Result<void> connect_to(const SocketPlace& place);
  void close();
  /// Whether a kept connection is still good: the daemon has neither closed it nor said anything
  /// unasked.
  bool kept();
  Request request_of(std::string_view method, const std::string& target,
                     const std::string& body) const;
  /// Runs what was begun until it calls back, or the time is up, or somebody stops it.
  SystemError run(Clock::time_point until, const SystemError& outcome, const bool& done);
  SystemError write(const Request& request, Clock::time_point until);
  template <class Parser>
  SystemError read_header(Parser& parser, Clock::time_point until);
  template <class Parser>
  SystemError read_whole(Parser& parser, Clock::time_point until);
  std::unexpected<Error> broken(const SystemError& why, bool taken_perhaps);
  Result<void> read_events(http::response_parser<http::buffer_body>& parser, std::string& last_id,
                           const std::function<bool(const ServerEvent&)>& on_event);

  std::vector<SocketPlace> places_;
  Settings settings_;
  asio::io_context context_{1};
  Socket socket_;
  beast::flat_buffer buffer_;
  std::string where_;  // the socket in use
};

namespace {

/// A connected socket, or -1 and errno. Asio cannot say how long it may take, and a daemon that
/// hangs with a full queue would hold its clients for ever.
int connected_socket(const std::string& path) {
  constexpr struct timeval longest = {5, 0};
  struct sockaddr_un address {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::ranges::copy(path, &address.sun_path[0]);
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
  if (::connect(made, reinterpret_cast<const struct sockaddr*>(&address), sizeof address) == 0)
    return made;
  const int why = errno == EAGAIN ? ETIMEDOUT : errno;
  ::close(made);
  errno = why;
  return -1;
}

/// The kernel says the same of a file that is no socket and of a socket that nobody listens on.
std::string why_not_connected(const std::filesystem::path& path, int code) {
  std::error_code failed;
  if (code == ECONNREFUSED)
    return std::filesystem::is_socket(path, failed) ? "nobody listens there" : "it is not a socket";
  return std::generic_category().message(code);
}

}  // namespace

Result<void> ApiClient::Connection::connect_to(const SocketPlace& place) {
  const int made = connected_socket(place.path.string());
  if (made < 0) return fail(ErrorKind::infeasible, "", why_not_connected(place.path, errno));
  SystemError failed;
  socket_ = Socket(context_);
  (void)socket_.assign(asio::local::stream_protocol(), made, failed);  // `failed` says it
  if (failed) {
    ::close(made);
    return fail(ErrorKind::infeasible, "", failed.message());
  }
  struct ucred peer {};
  socklen_t size = sizeof peer;
  if (!place.chosen && (::getsockopt(made, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
                        (peer.uid != 0 && peer.uid != ::geteuid()))) {
    close();
    return fail(ErrorKind::infeasible, "",
                fmt::format("user {} listens there, who is not trusted", peer.uid));
  }
  where_ = shown(place.path.string(), 120);
  return {};
}

Result<void> ApiClient::Connection::connect() {
  std::string why;
  for (const SocketPlace& place : places_) {
    const auto connected = connect_to(place);
    if (connected) return {};
    why += fmt::format("{}{}: {}", why.empty() ? "" : ", nor at ", shown(place.path.string(), 120),
                       connected.error().message);
  }
  unreachable = true;
  return fail(ErrorKind::infeasible, "", fmt::format("no daemon answers at {}", why),
              "start one with `cleaved` or `cleaved --simulate 4xA100-40GB`, or name its socket "
              "with --socket");
}

void ApiClient::Connection::close() {
  SystemError ignored;
  (void)socket_.close(ignored);
  buffer_.consume(buffer_.size());
}

bool ApiClient::Connection::kept() {
  if (!socket_.is_open()) return false;
  char byte = 0;
  const ssize_t got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
  close();
  return false;
}

ApiClient::Connection::Request ApiClient::Connection::request_of(std::string_view method,
                                                                 const std::string& target,
                                                                 const std::string& body) const {
  Request request;
  request.version(11);
  request.method_string({method.data(), method.size()});
  request.target(target);
  request.set(http::field::host, "cleaved");
  request.set(http::field::user_agent, "cleave");
  if (!body.empty()) request.set(http::field::content_type, "application/json");
  request.body() = body;
  // Also where it is empty: a POST without a length is not understood everywhere.
  if (method != "GET") request.content_length(body.size());
  return request;
}

SystemError ApiClient::Connection::run(Clock::time_point until, const SystemError& outcome,
                                       const bool& done) {
  const auto stops = [this] { return stopped = settings_.stop && settings_.stop(); };
  if (!run_until_called(context_, done, until, stops, [this] { close(); }))
    return asio::error::timed_out;
  return outcome;
}

SystemError ApiClient::Connection::write(const Request& request, Clock::time_point until) {
  SystemError outcome;
  bool done = false;
  http::async_write(socket_, request, [&](const SystemError& error, std::size_t) {
    outcome = error;
    done = true;
  });
  return run(until, outcome, done);
}

template <class Parser>
SystemError ApiClient::Connection::read_header(Parser& parser, Clock::time_point until) {
  SystemError outcome;
  bool done = false;
  http::async_read_header(socket_, buffer_, parser, [&](const SystemError& error, std::size_t) {
    outcome = error;
    done = true;
  });
  return run(until, outcome, done);
}

template <class Parser>
SystemError ApiClient::Connection::read_whole(Parser& parser, Clock::time_point until) {
  SystemError outcome;
  bool done = false;
  http::async_read(socket_, buffer_, parser, [&](const SystemError& error, std::size_t) {
    outcome = error;
    done = true;
  });
  return run(until, outcome, done);
}

std::unexpected<Error> ApiClient::Connection::broken(const SystemError& why, bool taken_perhaps) {
  close();
  if (stopped) return fail(ErrorKind::infeasible, where_, "interrupted");
  unreachable = true;
  std::string remedy =
      taken_perhaps
          ? "the request may have been carried out: check with `cleave ps` before you try again"
          : "check that it still runs, and try again";
  if (why == asio::error::timed_out)
    return fail(ErrorKind::infeasible, where_, "the daemon does not answer in time",
                std::move(remedy));
  if (why == http::error::end_of_stream || why == http::error::partial_message ||
      why == asio::error::eof || why == asio::error::connection_reset ||
      why == asio::error::broken_pipe)
    return fail(ErrorKind::infeasible, where_, "the daemon ended the connection before it answered",
                std::move(remedy));
  unreachable = false;
  if (why == http::error::body_limit)
    return fail(ErrorKind::infeasible, where_, "the answer is too long to be the daemon's",
                "ask for less at a time");
  return fail(ErrorKind::infeasible, where_,
              fmt::format("what listens there is not the daemon: {}", why.message()),
              "name the daemon's socket with --socket");
}

Result<ApiAnswer> ApiClient::Connection::ask(std::string_view method, const std::string& target,
                                             const std::string& body, milliseconds patience,
                                             const std::string& key) {
  unreachable = stopped = may_be_taken = false;
  const bool may_be_repeated = method != "POST" || target != "/v1/jobs" || !key.empty();
  Request request = request_of(method, target, body);
  if (!key.empty()) request.set("Idempotency-Key", key);
  const auto until = Clock::now() + settings_.patience + patience;
  for (bool first = true;; first = false) {
    const bool was_kept = kept();
    if (!was_kept)
      if (const auto connected = connect(); !connected) return std::unexpected(connected.error());
    // The daemon may refuse in the middle of a request that is too large, and then says why.
    const SystemError written = write(request, until);
    http::response_parser<http::string_body> parser;
    parser.body_limit(settings_.most_bytes);
    // The head alone first: read at once, Beast 1.74 sets memory aside before it looks at the
    // limit.
    SystemError failed = written == asio::error::timed_out ? written : read_header(parser, until);
    if (!failed) failed = read_whole(parser, until);
    if (failed) {
      const bool again = first && was_kept && may_be_repeated && failed != asio::error::timed_out;
      auto error = broken(written && !stopped ? written : failed, !may_be_repeated);
      may_be_taken = unreachable;
      if (!again || !unreachable) return error;
      unreachable = false;
      continue;
    }
    ApiAnswer answer;
    answer.status = static_cast<int>(parser.get().result_int());
    for (const auto& field : parser.get())
      answer.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    answer.body = std::move(parser.get().body());
    if (!parser.keep_alive() || written) close();
    if (answer.status >= 400) return std::unexpected(read_error(answer.status, answer.body));
    return answer;
  }
}

Result<void> ApiClient::Connection::read_events(
    http::response_parser<http::buffer_body>& parser, std::string& last_id,
    const std::function<bool(const ServerEvent&)>& on_event) {
  EventStreamReader reader;
  std::array<char, 16384> bytes{};
  while (!parser.is_done()) {
    parser.get().body().data = bytes.data();
    parser.get().body().size = bytes.size();
    SystemError outcome;
    bool done = false;
    http::async_read_some(socket_, buffer_, parser, [&](const SystemError& error, std::size_t) {
      outcome = error;
      done = true;
    });
    SystemError failed = run(Clock::time_point::max(), outcome, done);
    if (failed == http::error::need_buffer) failed = {};
    if (failed) return broken(failed, false);
    const std::size_t got = bytes.size() - parser.get().body().size;
    for (const ServerEvent& event : reader.take({bytes.data(), got})) {
      if (!event.id.empty()) last_id = event.id;
      if (!on_event(event)) return {};
    }
    if (reader.too_long())
      return fail(ErrorKind::infeasible, where_, "an event is longer than any of the daemon's");
  }
  return broken(http::error::end_of_stream, false);
}

Result<void> ApiClient::Connection::follow(
    const std::string& target, std::string& last_id,
    const std::function<bool(const ServerEvent&)>& on_event) {
  unreachable = stopped = false;
  close();  // a stream has its connection for itself
  if (const auto connected = connect(); !connected) return std::unexpected(connected.error());
  Request request = request_of("GET", target, "");
  request.set(http::field::accept, "text/event-stream");
  if (!last_id.empty()) request.set("Last-Event-ID", last_id);
  const auto until = Clock::now() + settings_.patience;
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  SystemError failed = write(request, until);
  if (!failed) failed = read_header(parser, until);
  if (failed) return broken(failed, false);
  if (parser.get().result_int() >= 400) {
    http::response_parser<http::string_body> whole(std::move(parser));
    whole.body_limit(settings_.most_bytes);
    failed = read_whole(whole, until);
    const int status = static_cast<int>(whole.get().result_int());
    close();
    return std::unexpected(read_error(status, failed ? std::string() : whole.get().body()));
  }
  auto followed = read_events(parser, last_id, on_event);
  close();
  return followed;
}

ApiClient::ApiClient(std::vector<SocketPlace> places, Settings settings)
    : connection_(std::make_unique<Connection>(std::move(places), std::move(settings))) {}
ApiClient::ApiClient(std::vector<SocketPlace> places) : ApiClient(std::move(places), Settings{}) {}
ApiClient::~ApiClient() = default;
ApiClient::ApiClient(ApiClient&&) noexcept = default;
ApiClient& ApiClient::operator=(ApiClient&&) noexcept = default;

Result<ApiAnswer> ApiClient::ask(std::string_view method, const std::string& target,
                                 const std::string& body, milliseconds patience) {
  return connection_->ask(method, target, body, patience);
}

Result<Json> ApiClient::ask_json(std::string_view method, const std::string& target,
                                 const std::string& body, milliseconds patience) {
  const auto answer = ask(method, target, body, patience);
  if (!answer) return std::unexpected(answer.error());
  auto document = parse_json(answer->body, "the daemon's answer");
  if (!document) document.error().kind = ErrorKind::internal;
  return document;
}

Result<ApiAnswer> ApiClient::submit(const std::string& body, const std::string& key) {
  return connection_->ask("POST", "/v1/jobs", body, {}, key);
}

Result<ApiAnswer> ApiClient::submit_several(const std::string& body, const std::string& key) {
  return connection_->ask("POST", "/v1/submissions", body, {}, key);
}

Result<void> ApiClient::follow(const std::string& target, std::string& last_id,
                               const std::function<bool(const ServerEvent&)>& on_event) {
  return connection_->follow(target, last_id, on_event);
}

bool ApiClient::unreachable() const {
  return connection_->unreachable;
}

bool ApiClient::may_be_taken() const {
  return connection_->may_be_taken;
}

bool ApiClient::stopped() const {
  return connection_->stopped;
}

}  // namespace cleave
