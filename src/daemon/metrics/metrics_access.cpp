#include "daemon/metrics/metrics_access.hpp"

#include <sys/stat.h>

#include <boost/asio/ip/address.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/metrics/metrics_tls.hpp"
#include "daemon/page/secret.hpp"

namespace cleave {

namespace {

namespace ip = boost::asio::ip;

constexpr std::size_t most_credentials = 64 << 10;
constexpr std::string_view basic = "Basic ";

std::string base64(std::string_view text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string all;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8U | (i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      all += i + k > text.size() ? '=' : digits[group >> (18 - 6 * k) & 63U];
  }
  return all;
}

/// Takes as long wherever they differ.
bool same(std::string_view a, std::string_view b) {
  return same_digest(digest_of(a), digest_of(b));
}

bool begins_with_basic(std::string_view text) {
  return text.size() > basic.size() && lowercase(text.substr(0, basic.size())) == lowercase(basic);
}

}  // namespace

Result<ip::tcp::endpoint> parse_metrics_address(std::string_view text) {
  const auto wrong = [&] {
    return fail(ErrorKind::bad_input, "metrics",
                fmt::format("'{}' is not an address with a port", shown(text)),
                "such as \"127.0.0.1:9844\", \"0.0.0.0:9844\" or \"[::]:9844\"");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  boost::system::error_code failed;
  const ip::address address = ip::make_address(std::string(host), failed);
  std::uint16_t port = 0;
  const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool is_port =
      bad == std::errc() && !digits.empty() && end == digits.data() + digits.size();
  if (failed || !is_port || address.is_v6() != brackets) return wrong();
  return ip::tcp::endpoint(address, port);
}

Result<MetricsUsers> MetricsUsers::parse(std::string_view text, const std::string& place) {
  MetricsUsers users;
  int number = 0;
  for (const std::string_view each : split(text, '\n')) {
    ++number;
    const std::string_view line = each.ends_with('\r') ? each.substr(0, each.size() - 1) : each;
    if (trimmed(line).empty() || line.starts_with('#')) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == line.size())
      return fail(ErrorKind::bad_input, fmt::format("{}:{}", place, number),
                  "the line is not a user and a password", "write user:password");
    users.accepted_.push_back(base64(line));
  }
  if (users.accepted_.empty())
    return fail(ErrorKind::bad_input, place, "it names no user",
                "write a line user:password for each");
  return users;
}

Result<MetricsUsers> MetricsUsers::read(const std::string& file) {
  struct stat facts {};
  std::ifstream in(file, std::ios::binary);
  if (!in || ::stat(file.c_str(), &facts) != 0)
    return fail(ErrorKind::bad_input, file,
                fmt::format("metrics_credentials cannot be read: {}", std::strerror(errno)));
  if ((facts.st_mode & S_IRWXO) != 0)
    return fail(ErrorKind::bad_input, file, "everybody on this machine can read its passwords",
                fmt::format("chmod 600 {}", file));
  std::string text(most_credentials + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > most_credentials)
    return fail(ErrorKind::bad_input, file, "it is larger than 64 KiB");
  return parse(text, file);
}

bool MetricsUsers::admit(std::string_view authorization) const {
  if (anybody()) return true;
  if (!begins_with_basic(authorization)) return false;
  const std::string_view sent = trimmed(authorization.substr(basic.size()));
  bool admitted = false;
  for (const std::string& each : accepted_) admitted |= same(each, sent);
  return admitted;
}

Result<void> check_metrics(const MetricsSettings& settings) {
  if (settings.address.empty()) {
    const bool more =
        !settings.certificate.empty() || !settings.key.empty() || !settings.credentials.empty();
    if (!more) return {};
    return fail(ErrorKind::bad_input, "metrics",
                "it is not set, and metrics_certificate, metrics_key or metrics_credentials is",
                "metrics = \"127.0.0.1:9844\"");
  }
  if (const auto address = parse_metrics_address(settings.address); !address)
    return std::unexpected(address.error());
  if (settings.certificate.empty() != settings.key.empty())
    return fail(ErrorKind::bad_input, settings.key.empty() ? "metrics_key" : "metrics_certificate",
                "it is not set, and TLS needs a certificate and its key");
  if (!settings.certificate.empty())
    if (const auto tls = MetricsTls::read(settings.certificate, settings.key); !tls)
      return std::unexpected(tls.error());
  if (settings.credentials.empty()) return {};
  const auto users = MetricsUsers::read(settings.credentials);
  return users ? Result<void>() : std::unexpected(users.error());
}

std::vector<std::string> metrics_remarks(const MetricsSettings& settings) {
  std::vector<std::string> all;
  if (settings.address.empty()) return all;
  const auto address = parse_metrics_address(settings.address);
  if (!address || address->address().is_loopback()) return all;
  if (settings.credentials.empty())
    all.push_back(
        fmt::format("metrics: anybody who reaches {} can read the metrics, and with them which "
                    "job numbers run where; metrics_credentials asks for a password",
                    settings.address));
  if (settings.certificate.empty())
    all.push_back(fmt::format(
        "metrics: what {} sends{} can be read on its way; metrics_certificate and metrics_key "
        "encrypt it",
        settings.address, settings.credentials.empty() ? "" : ", and the passwords it is sent,"));
  return all;
}

}  // namespace cleave
