#pragma once
// A certificate with its key, ready to be used by connections. Apart from the listener, so that few
// sources read OpenSSL's headers.

#include <memory>
#include <string>

#include "base/result.hpp"

namespace boost::asio::ssl {
class context;
}

namespace cleave {

/// What TLS connections are made with: version 1.2 or later.
class MetricsTls {
 public:
  /// PEM files: the certificate with those that signed it, and its key without a passphrase.
  [[nodiscard]] static Result<MetricsTls> read(const std::string& certificate,
                                               const std::string& key);
  [[nodiscard]] boost::asio::ssl::context& context() const { return *context_; }

 private:
  explicit MetricsTls(std::shared_ptr<boost::asio::ssl::context> context)
      : context_(std::move(context)) {}
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace cleave
