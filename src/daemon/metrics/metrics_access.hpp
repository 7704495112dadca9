#pragma once
// Who may read the metrics over TCP: the address, users with passwords, and what a configuration
// means for the network.

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "daemon/metrics/metrics_settings.hpp"

namespace cleave {

/// "127.0.0.1:9844" or "[::1]:9844"; port 0 is any that is free.
[[nodiscard]] Result<boost::asio::ip::tcp::endpoint> parse_metrics_address(std::string_view text);

/// Users with their passwords.
class MetricsUsers {
 public:
  /// Nobody is asked for a password.
  MetricsUsers() = default;
  /// A line for each: user:password. Empty lines and those that begin with # are skipped.
  [[nodiscard]] static Result<MetricsUsers> parse(std::string_view text, const std::string& place);
  /// A file that others than its owner and its group can read is refused.
  [[nodiscard]] static Result<MetricsUsers> read(const std::string& file);
  /// By the header Authorization (RFC 7617); takes as long for a wrong password as for a right one.
  [[nodiscard]] bool admit(std::string_view authorization) const;
  [[nodiscard]] bool anybody() const { return accepted_.empty(); }

 private:
  std::vector<std::string> accepted_;  // as clients send it: the name and the password in Base64
};

/// What is wrong with the settings, as far as can be said without listening.
[[nodiscard]] Result<void> check_metrics(const MetricsSettings& settings);
/// What they let others on the network do, one line each; the settings must be right.
[[nodiscard]] std::vector<std::string> metrics_remarks(const MetricsSettings& settings);

}  // namespace cleave
