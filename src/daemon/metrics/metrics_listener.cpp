#include "daemon/metrics/metrics_listener.hpp"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <map>
#include <set>

#include "base/format.hpp"
#include "daemon/metrics/metric_families.hpp"
#include "daemon/metrics/metrics_tls.hpp"

namespace cleave {

namespace {

namespace ip = boost::asio::ip;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;

constexpr std::size_t most_connections = 64, most_of_an_address = 16, most_a_second = 200;
constexpr std::size_t most_header_bytes = 8 << 10;
constexpr auto time_for_handshake = std::chrono::seconds(10);
constexpr auto time_for_answer = std::chrono::seconds(10);
/// Between requests, and for the next to arrive: scrapers that come back within it keep theirs.
constexpr auto time_for_request = std::chrono::seconds(75);
constexpr auto time_to_close = std::chrono::seconds(1);
constexpr auto rest_when_full = std::chrono::milliseconds(100);  // when descriptors have run out

using PlainStream = boost::beast::tcp_stream;
using TlsStream = boost::beast::ssl_stream<PlainStream>;
using TextPart = http::span_body<const char>;

/// What is answered, before it is made HTTP.
struct Answer {
  http::status status = http::status::ok;
  std::string type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> text;
  http::field header{};  // besides the usual ones, where it has a value
  std::string value{};
};

Answer said(http::status status, std::string text) {
  Answer answer;
  answer.status = status;
  answer.text = std::make_shared<const std::string>(std::move(text) + "\n");
  return answer;
}

/// What connections share.
struct House {
  MetricsAnswers answers;
  MetricsUsers users;
  std::optional<MetricsTls> tls;
};

using Header = http::request_parser<http::empty_body>;

Answer answer_to(const Header& request, const House& house) {
  const auto& header = request.get();
  if (!house.users.admit(std::string(header[http::field::authorization]))) {
    Answer refused = said(http::status::unauthorized, "a user and a password are needed");
    refused.header = http::field::www_authenticate;
    refused.value = "Basic realm=\"cleave metrics\", charset=\"UTF-8\"";
    return refused;
  }
  const std::string target(header.target().substr(0, header.target().find('?')));
  if (target != "/metrics" && target != "/healthz")
    return said(http::status::not_found, "there are /metrics and /healthz");
  if (header.method() != http::verb::get && header.method() != http::verb::head) {
    Answer refused = said(http::status::method_not_allowed, "use GET");
    refused.header = http::field::allow;
    refused.value = "GET, HEAD";
    return refused;
  }
  if (target == "/healthz") {
    const bool well = house.answers.well();
    return said(well ? http::status::ok : http::status::service_unavailable,
                well ? "ok" : "degraded");
  }
  Answer page;
  page.type = metrics_type;
  page.text = house.answers.metrics();
  return page;
}

/// A connection, whatever it goes through.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void drop() = 0;
};

/// Reads requests and writes their answers, one after the other.
template <class Stream>
class Connection final : public Visitor, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  template <class... Arguments>
  Connection(std::shared_ptr<const House> house, std::function<void(Visitor*)> left,
             Arguments&&... arguments)
      : stream_(std::forward<Arguments>(arguments)...),
        house_(std::move(house)),
        left_(std::move(left)) {}

  void start() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      lowest().expires_after(time_for_handshake);
      stream_.async_handshake(ssl::stream_base::server,
                              [self = this->shared_from_this()](const error_code& failed) {
                                if (failed) return self->leave();
                                self->read();
                              });
    } else {
      read();
    }
  }
  void drop() override { lowest().close(); }

 private:
  PlainStream& lowest() { return boost::beast::get_lowest_layer(stream_); }

  void read() {
    request_.emplace();
    request_->header_limit(most_header_bytes);
    lowest().expires_after(time_for_request);
    http::async_read_header(stream_, in_, *request_,
                            [self = this->shared_from_this()](const error_code& failed,
                                                              std::size_t) { self->take(failed); });
  }

  void take(const error_code& failed) {
    if (failed == http::error::end_of_stream) return close();
    const bool malformed = failed.category() == make_error_code(http::error::bad_method).category();
    if (failed && !malformed) return leave();
    if (malformed)
      return write(said(http::status::bad_request, "this is not HTTP as it is spoken here"), false);
    const bool has_body = request_->chunked() || request_->content_length().value_or(0) > 0;
    const Answer answer = answer_to(*request_, *house_);
    write(answer,
          request_->keep_alive() && !has_body && answer.status != http::status::unauthorized);
  }

  void write(const Answer& answer, bool keep) {
    text_ = answer.text;
    response_.emplace();
    response_->result(answer.status);
    response_->set(http::field::content_type, answer.type);
    response_->set(http::field::cache_control, "no-store");
    if (!answer.value.empty()) response_->set(answer.header, answer.value);
    response_->keep_alive(keep);
    response_->content_length(text_->size());
    if (request_->get().method() != http::verb::head)
      response_->body() = boost::beast::span<const char>(text_->data(), text_->size());
    serializer_.emplace(*response_);
    lowest().expires_after(time_for_answer);
    http::async_write(stream_, *serializer_,
                      [self = this->shared_from_this(), keep](const error_code& bad, std::size_t) {
                        if (bad) return self->leave();
                        keep ? self->read() : self->close();
                      });
  }

  void close() {
    lowest().expires_after(time_to_close);
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      stream_.async_shutdown(
          [self = this->shared_from_this()](const error_code&) { self->leave(); });
    } else {
      error_code ignored;
      stream_.socket().shutdown(ip::tcp::socket::shutdown_send, ignored);
      linger();
    }
  }

  /// What still arrives is dropped, so that the client can read the last words.
  void linger() {
    lowest().async_read_some(
        boost::asio::buffer(dropped_),
        [self = this->shared_from_this()](const error_code& ended, std::size_t) {
          ended ? self->leave() : self->linger();
        });
  }

  void leave() {
    lowest().close();
    if (left_) std::exchange(left_, nullptr)(this);
  }

  Stream stream_;
  std::shared_ptr<const House> house_;
  std::function<void(Visitor*)> left_;
  boost::beast::flat_buffer in_;
  std::optional<Header> request_;
  std::optional<http::response<TextPart>> response_;
  std::optional<http::response_serializer<TextPart>> serializer_;
  std::shared_ptr<const std::string> text_;
  std::array<char, 1024> dropped_{};
};

}  // namespace

class MetricsListener::Inside : public std::enable_shared_from_this<MetricsListener::Inside> {
 public:
  Inside(boost::asio::io_context& loop, std::shared_ptr<const House> house)
      : acceptor_(loop), rest_(loop), house_(std::move(house)) {}

  Result<void> listen(const ip::tcp::endpoint& at) {
    error_code failed;
    (void)acceptor_.open(at.protocol(), failed);
    if (!failed) (void)acceptor_.set_option(ip::tcp::acceptor::reuse_address(true), failed);
    if (!failed) (void)acceptor_.bind(at, failed);
    if (!failed) (void)acceptor_.listen(boost::asio::socket_base::max_listen_connections, failed);
    if (!failed) (void)acceptor_.non_blocking(true, failed);
    if (failed)
      return fail(ErrorKind::infeasible, "metrics",
                  fmt::format("{}:{} cannot be listened at: {}", at.address().to_string(),
                              at.port(), failed.message()),
                  "see what has the port (ss -ltnp), or choose another");
    accept();
    return {};
  }

  void end() {
    ended_ = true;
    error_code ignored;
    (void)acceptor_.close(ignored);
    rest_.cancel();
    for (const auto& [visitor, from] : visitors_) visitor->drop();
  }

  [[nodiscard]] std::string url() const {
    error_code ignored;
    const ip::tcp::endpoint at = acceptor_.local_endpoint(ignored);
    const std::string host = at.address().to_string();
    return fmt::format("{}://{}:{}/metrics", house_->tls ? "https" : "http",
                       at.address().is_v6() ? fmt::format("[{}]", host) : host, at.port());
  }

 private:
  void accept() {
    acceptor_.async_accept(
        [self = shared_from_this()](const error_code& failed, ip::tcp::socket socket) {
          if (self->ended_) return;
          if (failed && failed != boost::asio::error::connection_aborted) return self->rest();
          if (!failed) self->welcome(std::move(socket));
          if (self->is_hurried()) return self->rest();
          self->accept();
        });
  }

  /// Handshakes take the loop's time: those beyond 200 in a second come ten a second.
  [[nodiscard]] bool is_hurried() {
    const auto now = std::chrono::steady_clock::now();
    if (now >= second_) {
      second_ = now + std::chrono::seconds(1);
      taken_ = 0;
    }
    return ++taken_ > most_a_second;
  }

  /// Out of descriptors or memory, or hurried: further connections stay in the backlog.
  void rest() {
    rest_.expires_after(rest_when_full);
    rest_.async_wait([self = shared_from_this()](const error_code& failed) {
      if (!failed && !self->ended_) self->accept();
    });
  }

  void welcome(ip::tcp::socket socket) {
    error_code failed;
    const ip::tcp::endpoint from = socket.remote_endpoint(failed);
    if (failed || visitors_.size() >= most_connections) return;
    if (by_address_[from.address()] >= most_of_an_address) return;
    ++by_address_[from.address()];
    const auto left = [self = weak_from_this()](Visitor* visitor) {
      if (const auto inside = self.lock()) inside->forget(visitor);
    };
    const auto begin = [&](const auto& connection) {
      visitors_.emplace(connection.get(), from.address());
      connection->start();
    };
    if (house_->tls)
      begin(std::make_shared<Connection<TlsStream>>(house_, left, PlainStream(std::move(socket)),
                                                    house_->tls->context()));
    else
      begin(std::make_shared<Connection<PlainStream>>(house_, left, std::move(socket)));
  }

  void forget(Visitor* visitor) {
    const auto found = visitors_.find(visitor);
    if (found == visitors_.end()) return;
    if (const auto count = by_address_.find(found->second); --count->second == 0)
      by_address_.erase(count);
    visitors_.erase(found);
  }

  ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer rest_;
  std::shared_ptr<const House> house_;
  std::map<Visitor*, ip::address> visitors_;  // each is kept by what it waits for
  std::map<ip::address, std::size_t> by_address_;
  std::chrono::steady_clock::time_point second_{};
  std::size_t taken_ = 0;  // in that second
  bool ended_ = false;
};

Result<std::unique_ptr<MetricsListener>> MetricsListener::open(boost::asio::io_context& loop,
                                                               const MetricsSettings& settings,
                                                               MetricsAnswers answers) {
  if (const auto right = check_metrics(settings); !right) return std::unexpected(right.error());
  const auto house = std::make_shared<House>();
  house->answers = std::move(answers);
  if (!settings.certificate.empty()) {
    auto tls = MetricsTls::read(settings.certificate, settings.key);
    if (!tls) return std::unexpected(tls.error());
    house->tls = std::move(*tls);
  }
  if (!settings.credentials.empty()) {
    auto users = MetricsUsers::read(settings.credentials);
    if (!users) return std::unexpected(users.error());
    house->users = std::move(*users);
  }
  const auto at = parse_metrics_address(settings.address);
  if (!at) return std::unexpected(at.error());
  auto inside = std::make_shared<Inside>(loop, house);
  if (const auto listens = inside->listen(*at); !listens) return std::unexpected(listens.error());
  return std::unique_ptr<MetricsListener>(new MetricsListener(std::move(inside)));
}

MetricsListener::~MetricsListener() {
  inside_->end();
}

std::string MetricsListener::url() const {
  return inside_->url();
}

}  // namespace cleave
