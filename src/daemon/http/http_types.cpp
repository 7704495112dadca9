#include "daemon/http/http_types.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::pair<int, std::string_view> reasons[] = {
    {200, "OK"},
    {201, "Created"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
};

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const auto high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (!high || !low) return std::nullopt;
      c = static_cast<char>(*high * 16 + *low);
      i += 2;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return std::nullopt;
    plain += c;
  }
  if (!valid_utf8(plain)) return std::nullopt;
  return plain;
}

}  // namespace

std::string_view http_reason(int status) {
  const auto* found = std::ranges::find(reasons, status, &std::pair<int, std::string_view>::first);
  return found == std::end(reasons) ? std::string_view() : found->second;
}

HttpResponse http_error(int status, std::string_view kind, std::string_view place,
                        std::string_view message, std::string_view remedy) {
  const Json error{
      {"error", {{"kind", kind}, {"place", place}, {"message", message}, {"remedy", remedy}}}};
  HttpResponse response;
  response.status = status;
  response.body = error.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return response;
}

std::optional<HttpTarget> parse_http_target(std::string_view target) {
  if (!target.starts_with('/') || target.find('#') != std::string_view::npos) return std::nullopt;
  const std::size_t question = target.find('?');
  HttpTarget parsed;
  const auto path = decoded(target.substr(0, question));
  if (!path) return std::nullopt;
  parsed.path = *path;
  if (question == std::string_view::npos || question + 1 == target.size()) return parsed;
  for (const std::string_view part : split(target.substr(question + 1), '&')) {
    const std::size_t equals = part.find('=');
    const auto key = decoded(part.substr(0, equals));
    const auto value = equals == std::string_view::npos ? std::optional<std::string>(std::string())
                                                        : decoded(part.substr(equals + 1));
    if (!key || key->empty() || !value) return std::nullopt;
    if (!parsed.query.emplace(*key, *value).second) return std::nullopt;
  }
  return parsed;
}

}  // namespace cleave
