#pragma once
// Where the metrics are served over TCP, as the configuration says it.

#include <string>

namespace cleave {

/// Settings of the listener; all texts are empty where they are not given.
struct MetricsSettings {
  std::string address;           // ADDRESS:PORT; empty: there is no listener
  std::string certificate, key;  // PEM files; both or neither
  std::string credentials;       // a file
  friend bool operator==(const MetricsSettings&, const MetricsSettings&) = default;
};

/// What an answer with that text is.
inline constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace cleave
