#pragma once
// The metrics over TCP, for a Prometheus: GET /metrics and GET /healthz, with TLS and passwords
// where they are configured, and nothing else of the daemon. On its event loop: no connection waits
// for another.
//
// Anybody may connect to it, so what a connection takes is bounded: 64 connections, 16 of one
// address, 200 new ones in a second, 8 KiB of header, no body, seconds for a request. A connection
// beyond that is closed, or waits.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/metrics/metrics_access.hpp"

namespace boost::asio {
class io_context;
}

namespace cleave {

/// What the listener answers with.
struct MetricsAnswers {
  std::function<std::shared_ptr<const std::string>()> metrics;
  std::function<bool()> well;  // whether nothing is wrong: /healthz says no more
};

/// Listens until it is destroyed.
class MetricsListener {
 public:
  /// Fails where the settings are wrong, or the address cannot be had. `settings.address` is given.
  [[nodiscard]] static Result<std::unique_ptr<MetricsListener>> open(
      boost::asio::io_context& loop, const MetricsSettings& settings, MetricsAnswers answers);
  ~MetricsListener();
  MetricsListener(const MetricsListener&) = delete;
  MetricsListener& operator=(const MetricsListener&) = delete;

  /// "https://127.0.0.1:9844/metrics", with the port that it has.
  [[nodiscard]] std::string url() const;

  class Inside;

 private:
  explicit MetricsListener(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}
  std::shared_ptr<Inside> inside_;
};

}  // namespace cleave
