// Tokens for the live page. They are asked for over the unix socket, where the system says which
// user asks, and never over the page itself: a session cannot outlive its token by making another.

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "daemon/service/service.hpp"

namespace cleave {

namespace {

constexpr std::int64_t usual_lifetime_s = 8 * 3600;

Error no_page() {
  return {ErrorKind::infeasible, "page", "this daemon has no page",
          "set page = \"127.0.0.1:8790\" in cleaved.toml, or start it with --page 127.0.0.1:8790"};
}

struct TokenAsk {
  PageScope scope = PageScope::view;
  Duration lifetime{};
  std::optional<std::string> user;
};

Result<TokenAsk> read_ask(const std::string& body) {
  const auto document = parse_json(body.empty() ? "{}" : body, "token");
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, "token", error);
  TokenAsk ask;
  const auto scope = parse_page_scope(in.text_if("scope").value_or("view"));
  if (!scope) in.refuse("scope", "expected view or act");
  ask.scope = scope.value_or(PageScope::view);
  const auto seconds = [](Duration time) { return time / std::chrono::seconds(1); };
  ask.lifetime = std::chrono::seconds(
      in.integer_if("lifetime_s", seconds(PageKeys::shortest), seconds(PageKeys::longest))
          .value_or(usual_lifetime_s));
  ask.user = in.text_if("user");
  in.done();
  if (error) return std::unexpected(std::move(*error));
  return ask;
}

Json view_of(const PageToken& token, std::size_t sessions) {
  return {{"token", token.number},
          {"uid", token.uid},
          {"user", token.user},
          {"scope", name(token.scope)},
          {"made_at", utc_text(token.made)},
          {"expires_at", utc_text(token.until)},
          {"sessions", sessions}};
}

}  // namespace

/// Whose the token is to be: a browser that holds one may be left open, so it is never root's.
Result<std::uint32_t> Service::token_user(const ApiCallPtr& call,
                                          const std::optional<std::string>& named) {
  const std::uint32_t asks = call->request.peer.uid;
  std::optional<std::uint32_t> uid = asks;
  if (named && *named != call->user) {
    if (asks != 0)
      return fail(ErrorKind::infeasible, "token: user", "only root makes tokens for others",
                  "leave the user out");
    const auto number = parse_integer(*named);
    uid = number && *number >= 0 && *number < unknown_user
              ? std::optional(static_cast<std::uint32_t>(*number))
              : UserBook::uid_of(*named);
    if (!uid)
      return fail(ErrorKind::infeasible, "token: user",
                  fmt::format("there is no user {}", shown(*named)));
  }
  if (*uid == 0)
    return fail(ErrorKind::infeasible, "token: user", "the page is never root's",
                "ask as another user, or as root for one: cleave page --as USER");
  if (facts_.uid != 0 && *uid != facts_.uid)
    return fail(ErrorKind::infeasible, "token: user", "this daemon belongs to another user");
  return *uid;
}

void Service::make_token(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  const auto page = doors_.page ? doors_.page() : std::nullopt;
  if (doors_.page_keys == nullptr || !page) return call->refuse(no_page());
  const auto ask = read_ask(call->request.body);
  if (!ask) return call->refuse(ask.error());
  const auto uid = token_user(call, ask->user);
  if (!uid) return call->refuse(uid.error(), 403);
  const auto& user = users_.user(*uid, doors_.now().steady);
  const auto made = doors_.page_keys->new_token(*uid, user ? user->name : "", ask->scope,
                                                ask->lifetime, doors_.now().wall);
  if (!made) return call->refuse(made.error());
  const PageToken& token = made->key.token;
  call->reply(201,
              Json{{"number", token.number},
                   {"token", made->secret},
                   {"address", fmt::format("{}/#token={}", page->origin(), made->secret)},
                   {"uid", token.uid},
                   {"user", token.user},
                   {"scope", name(token.scope)},
                   {"expires_at", utc_text(token.until)}},
              fmt::format("token {} of user {}, {}, until {}", token.number, token.uid,
                          name(token.scope), utc_text(token.until)));
}

void Service::list_tokens(const ApiCallPtr& call) {
  const auto user = call->text("user");
  if (!call->query_is_fine()) return;
  const auto whose = user_meant(call, user);
  if (!whose) return;
  if (doors_.page_keys == nullptr) return call->refuse(no_page());
  Json list = Json::array();
  for (const PageToken& each : doors_.page_keys->tokens(*whose, doors_.now().wall))
    list.push_back(view_of(each, doors_.page_keys->sessions_of(each.number)));
  call->reply(200, Json{{"tokens", std::move(list)}});
}

void Service::revoke_token(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  if (doors_.page_keys == nullptr) return call->refuse(no_page());
  const auto number = parse_integer(call->parts[0]);
  const auto whose = call->operates ? std::nullopt : std::optional(call->request.peer.uid);
  for (const PageToken& each : doors_.page_keys->tokens(whose, doors_.now().wall)) {
    if (each.number != number) continue;
    const std::size_t sessions = doors_.page_keys->sessions_of(each.number);
    if (const auto done = doors_.page_keys->revoke(each.number); !done)
      return call->refuse(done.error(), 503);
    return call->reply(200, Json{{"token", each.number}, {"sessions", sessions}},
                       fmt::format("token {} of user {}", each.number, each.uid));
  }
  call->no_such("token", call->parts[0], "`cleave page --list` shows yours");
}

}  // namespace cleave
