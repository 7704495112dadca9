#include "daemon/page/page_site.hpp"

#include <algorithm>

#include "api/documents.hpp"
#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/gzip.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "daemon/service/views.hpp"

namespace cleave {

namespace {

constexpr const char* ask_for_token = "`cleave page` prints an address with a new one";

PageFile page_file(std::string path, std::string type, std::string_view text) {
  PageFile file{std::move(path), std::move(type), std::string(text), gzipped(text), ""};
  file.tag = fmt::format("\"{}\"", hex_of(digest_of(text)).substr(0, 20));
  return file;
}

/// "gzip, deflate;q=0.5": whether it names gzip, and not as one that is refused.
bool takes_gzip(std::string_view encodings) {
  for (const std::string_view each : split(encodings, ',')) {
    const auto parts = split(each, ';');
    if (lowercase(trimmed(parts[0])) != "gzip") continue;
    for (const std::string_view part : parts) {
      const std::string_view weight = trimmed(part);
      if (weight.starts_with("q=") && parse_number(weight.substr(2)).value_or(1) == 0) return false;
    }
    return true;
  }
  return false;
}

bool is_known(std::string_view known_tags, std::string_view tag) {
  return std::ranges::any_of(split(known_tags, ','),
                             [&](std::string_view each) { return trimmed(each) == tag; });
}

HttpResponse no_session() {
  return http_error(401, name(ErrorKind::infeasible), "", "there is no session, or it has expired",
                    ask_for_token);
}

}  // namespace

std::vector<PageFile> page_files(std::string_view html, std::string_view script,
                                 std::string_view style) {
  std::vector<PageFile> files;
  files.push_back(page_file("/", "text/html; charset=utf-8", html));
  files.push_back(page_file("/live.js", "text/javascript; charset=utf-8", script));
  files.push_back(page_file("/live.css", "text/css; charset=utf-8", style));
  return files;
}

PageSite::PageSite(std::vector<PageFile> files, std::string cookie_name, Doors doors)
    : files_(std::move(files)), cookie_name_(std::move(cookie_name)), doors_(std::move(doors)) {}

void PageSite::serve(HttpRequest request, HttpAnswer answer) {
  switch (page_path(request.path)) {
    case PagePath::file:
      return answer(file(request));
    case PagePath::session:
      return answer(session(request));
    case PagePath::api:
      return doors_.api(std::move(request), std::move(answer));
  }
}

HttpResponse PageSite::file(const HttpRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD")
    return http_error(405, name(ErrorKind::bad_input), "",
                      fmt::format("{} is not possible here", shown(request.method)), "use GET");
  const auto found = std::ranges::find(files_, request.path, &PageFile::path);
  if (found == files_.end() || found->text.empty())
    return http_error(404, name(ErrorKind::bad_input), "",
                      fmt::format("this build has no {}", shown(request.path)));
  HttpResponse response;
  response.content_type = found->type;
  response.headers = {
      {"ETag", found->tag}, {"Cache-Control", "no-cache"}, {"Vary", "Accept-Encoding"}};
  if (request.web && is_known(request.web->head.known_tags, found->tag)) {
    response.status = 304;
    return response;
  }
  const bool small =
      request.web && !found->small.empty() && takes_gzip(request.web->head.encodings);
  if (small) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = small ? found->small : found->text;
  return response;
}

HttpResponse PageSite::session(const HttpRequest& request) {
  if (request.method == "GET" || request.method == "HEAD") {
    const auto& pass = request.web->pass;
    if (pass)
      for (const PageToken& each : doors_.keys.tokens(pass->peer.uid, doors_.now()))
        if (each.number == pass->token) return describe(each, pass->peer);
    return no_session();
  }
  AuditLine line{request.peer, request.method, request.path, 0, {}};
  HttpResponse response;
  if (request.method == "POST") {
    response = open_session(request, line);
  } else if (request.method == "DELETE") {
    response = end_session(request);
    if (request.web->pass) line.token = request.web->pass->token;
  } else {
    response = http_error(405, name(ErrorKind::bad_input), "",
                          fmt::format("{} is not possible here", shown(request.method)),
                          "use GET, POST or DELETE");
  }
  line.status = response.status;
  doors_.note(line);
  return response;
}

HttpResponse PageSite::open_session(const HttpRequest& request, AuditLine& line) {
  const auto document = parse_json(request.body, "request");
  if (!document)
    return http_error(400, name(document.error().kind), document.error().place,
                      document.error().message, document.error().remedy);
  std::optional<Error> error;
  JsonReader in(*document, "request", error);
  const std::string token = in.text("token");
  in.done();
  if (error) return http_error(400, name(error->kind), error->place, error->message, error->remedy);
  const auto opened = doors_.keys.new_session(token, doors_.now());
  if (!opened)
    return http_error(opened.error().kind == ErrorKind::infeasible ? 429 : 503,
                      name(opened.error().kind), opened.error().place, opened.error().message,
                      opened.error().remedy);
  const auto peer = *opened ? doors_.user((*opened)->key.token) : std::nullopt;
  if (!peer) {
    line.result = "not a token, or one that has expired";
    return http_error(401, name(ErrorKind::infeasible), "",
                      "this is not a token, or it has expired", ask_for_token);
  }
  const PageToken& of = (*opened)->key.token;
  line.peer = *peer;
  line.token = of.number;
  HttpResponse response = describe(of, *peer, (*opened)->proof);
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(of.until - doors_.now());
  response.headers.emplace_back("Set-Cookie",
                                fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict",
                                            cookie_name_, (*opened)->secret, left.count()));
  return response;
}

/// A token that was sent as such is no session, and stays.
HttpResponse PageSite::end_session(const HttpRequest& request) {
  const auto& pass = request.web->pass;
  if (!pass || pass->session == 0) return no_session();
  if (const auto ended = doors_.keys.end_session(pass->session); !ended)
    return http_error(503, name(ended.error().kind), ended.error().place, ended.error().message,
                      ended.error().remedy);
  HttpResponse response;
  response.body = "{\"ended\":true}\n";
  response.headers.emplace_back(
      "Set-Cookie", fmt::format("{}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict", cookie_name_));
  return response;
}

HttpResponse PageSite::describe(const PageToken& token, const HttpPeer& peer,
                                const std::string& proof) const {
  Json answer{{"user", token.user},
              {"uid", token.uid},
              {"scope", name(token.scope)},
              {"operates", doors_.operates(peer)},
              {"expires_at", utc_text(token.until)}};
  if (!proof.empty()) answer["proof"] = proof;
  HttpResponse response;
  response.body = api_text(answer) + "\n";
  return response;
}

}  // namespace cleave
