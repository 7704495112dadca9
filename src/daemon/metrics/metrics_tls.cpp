#include "daemon/metrics/metrics_tls.hpp"

#include <boost/asio/ssl/context.hpp>

#include "base/format.hpp"

namespace cleave {

namespace ssl = boost::asio::ssl;

Result<MetricsTls> MetricsTls::read(const std::string& certificate, const std::string& key) {
  boost::system::error_code failed;
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  (void)context->set_options(ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                                 ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 |
                                 ssl::context::no_compression,
                             failed);
  // A program that runs by itself has nobody to ask.
  if (!failed)
    (void)context->set_password_callback(
        [](std::size_t, ssl::context::password_purpose) { return std::string(); }, failed);
  if (!failed) (void)context->use_certificate_chain_file(certificate, failed);
  if (failed)
    return fail(ErrorKind::bad_input, certificate,
                fmt::format("metrics_certificate cannot be used: {}", failed.message()),
                "name a certificate in PEM, with those that signed it after it");
  (void)context->use_private_key_file(key, ssl::context::pem, failed);
  if (failed)
    return fail(ErrorKind::bad_input, key,
                fmt::format("metrics_key cannot be used: {}", failed.message()),
                "name the certificate's key in PEM, without a passphrase");
  return MetricsTls(std::move(context));
}

}  // namespace cleave
