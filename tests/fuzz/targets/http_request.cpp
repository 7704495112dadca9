// Requests as the daemon reads them: header, target, and a submission in the body with its key.

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "api/documents.hpp"
#include "base/json.hpp"
#include "daemon/http/http_types.hpp"
#include "daemon/service/submission_key.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::http_request_target {
namespace {

bool read_input(const std::string& text) {
  boost::beast::http::request_parser<boost::beast::http::string_body> parser;
  parser.header_limit(16384);
  parser.body_limit(1U << 20);
  parser.eager(true);
  boost::beast::error_code failed;
  std::size_t used = 0;
  while (used < text.size() && !parser.is_done()) {
    const std::size_t more =
        parser.put(boost::asio::buffer(text.data() + used, text.size() - used), failed);
    require(used + more <= text.size(), "no more is read than there is");
    used += more;
    if (failed || more == 0) break;
  }
  if (failed || !parser.is_done()) return false;
  const auto target = parser.get().target();
  const bool found = parse_http_target({target.data(), target.size()}).has_value();
  const auto document = parse_json(parser.get().body(), "request");
  if (!document) return found;
  (void)read_submission(*document, "request");
  const auto header = parser.get()[key_header];
  if (const auto key = read_submission_key({header.data(), header.size()}, *document)) {
    const auto again = read_submission_key("\"" + key->text + "\"", *document);
    require(again && *again == *key, "a key in quotes is the same");
  }
  return found;
}

}  // namespace
}  // namespace cleave::fuzz::http_request_target

CLEAVE_FUZZ_TARGET(http_request, counted)
