#include "daemon/page/page_gate.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr const char* how_to_enter =
    "`cleave page` prints an address with a token; open it in a browser, or send the token as "
    "\"Authorization: Bearer\"";

bool only_reads(const HttpWebHead& head) {
  return head.method == "GET" || head.method == "HEAD";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> page_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
           "'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

std::optional<std::string_view> cookie_in(std::string_view header, std::string_view name) {
  std::optional<std::string_view> found;
  for (const std::string_view part : split(header, ';')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || trimmed(part.substr(0, equals)) != name) continue;
    if (found) return std::nullopt;
    found = trimmed(part.substr(equals + 1));
  }
  return found;
}

std::optional<std::string_view> bearer_in(std::string_view header) {
  constexpr std::string_view scheme = "bearer ";
  if (header.size() <= scheme.size() || lowercase(header.substr(0, scheme.size())) != scheme)
    return std::nullopt;
  return trimmed(header.substr(scheme.size()));
}

PagePath page_path(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/" || path == "/live.js" || path == "/live.css") return PagePath::file;
  return path == "/session" ? PagePath::session : PagePath::api;
}

PageGate::PageGate(const PageAddress& address, Doors doors)
    : doors_(std::move(doors)), cookie_name_(fmt::format("cleave-page-{}", address.port)) {
  for (const std::string& host :
       {address.host, std::string("localhost"), std::string("127.0.0.1")}) {
    hosts_.push_back(fmt::format("{}:{}", host, address.port));
    if (address.port == 80) hosts_.push_back(host);  // browsers leave it out
  }
}

HttpResponse PageGate::refused(const HttpWebHead& head, std::uint32_t uid, int status,
                               std::string_view message, std::string_view remedy) const {
  if (doors_.note) doors_.note(head, uid, status, std::string(message));
  return http_error(status, name(ErrorKind::infeasible), "", message, remedy);
}

/// What another site could have a browser send. What only reads may come from an address that
/// somebody typed ("none").
std::optional<HttpResponse> PageGate::refusal_of(const HttpWebHead& head) const {
  const auto no = [&](int status, std::string_view message, std::string_view remedy) {
    return refused(head, unknown_user, status, message, remedy);
  };
  const std::string host = lowercase(head.host.value_or(""));
  if (std::ranges::find(hosts_, host) == hosts_.end())
    return no(421, "this Host is not the page's", fmt::format("use http://{}/", hosts_.front()));
  if (head.origin && lowercase(*head.origin) != "http://" + host)
    return no(403, "the request comes from another site", "open the page itself");
  if (page_path(head.target) == PagePath::file) return std::nullopt;
  const std::string site = head.fetch_site.value_or("same-origin");
  if (site != "same-origin" && !(site == "none" && only_reads(head)))
    return no(403, "the request comes from another site", "open the page itself");
  if (!only_reads(head) && !head.origin && !head.page_mark)
    return no(403, "a request that changes something needs Origin, or \"X-Cleave-Page: 1\"",
              "add one");
  return std::nullopt;
}

std::optional<PageKey> PageGate::key_of(const HttpWebHead& head) const {
  if (head.authorization) {
    const auto token = bearer_in(*head.authorization);
    return token ? doors_.keys.find_token(*token, doors_.now()) : std::nullopt;
  }
  const auto session = head.cookie ? cookie_in(*head.cookie, cookie_name_) : std::nullopt;
  return session ? doors_.keys.find_session(*session, head.page_mark.value_or(""), doors_.now())
                 : std::nullopt;
}

HttpAdmission PageGate::admit(const HttpWebHead& head) const {
  if (auto refusal = refusal_of(head)) return {.pass = {}, .refusal = std::move(refusal)};
  const PagePath path = page_path(head.target);
  const auto key = key_of(head);
  const auto peer = key && key->token.uid != 0 ? doors_.user(key->token) : std::nullopt;
  if (!peer) {
    if (path != PagePath::api) return {};
    return {.pass = {},
            .refusal = refused(head, unknown_user, 401, "there is no session, or it has expired",
                               how_to_enter)};
  }
  HttpPass pass{*peer, key->token.number, key->session, {}};
  pass.until = doors_.steady() + (key->token.until - doors_.now());
  if (path == PagePath::api && !only_reads(head) && key->token.scope == PageScope::view)
    return {.pass = pass,
            .refusal = refused(head, peer->uid, 403, "this session may only look",
                               "`cleave page --scope act` makes one that may act")};
  return {.pass = pass, .refusal = {}};
}

}  // namespace cleave
