#include "daemon/page/page_keys.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstdio>

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "device/file_handle.hpp"

namespace cleave {

namespace {

constexpr const char* file_name = "page.json";
constexpr std::size_t most_file_bytes = 8 << 20;
constexpr Duration least_between_rounds = std::chrono::seconds(10);

Json json_of(const PageToken& token) {
  return {{"number", token.number},
          {"uid", token.uid},
          {"user", token.user},
          {"scope", name(token.scope)},
          {"made_at", utc_text(token.made)},
          {"expires_at", utc_text(token.until)},
          {"sha256", hex_of(token.digest)}};
}

Json json_of(const PageSession& session) {
  return {{"number", session.number},
          {"token", session.token},
          {"made_at", utc_text(session.made)},
          {"sha256", hex_of(session.digest)},
          {"proof_sha256", hex_of(session.proof)}};
}

Instant time_in(JsonReader& in, std::string_view key) {
  const auto time = parse_utc_text(in.text(key));
  if (!time) in.refuse(key, "expected a time");
  return time.value_or(Instant{});
}

Digest digest_in(JsonReader& in, std::string_view key = "sha256") {
  Digest digest{};
  if (!digest_of_hex(in.text(key), digest)) in.refuse(key, "expected 64 digits");
  return digest;
}

PageToken token_in(JsonReader& in) {
  PageToken token;
  token.number = in.integer("number", 1, INT64_MAX);
  token.uid = static_cast<std::uint32_t>(in.integer("uid", 1, UINT32_MAX - 1));
  token.user = in.text("user");
  const auto scope = parse_page_scope(in.text("scope"));
  if (!scope) in.refuse("scope", "expected view or act");
  token.scope = scope.value_or(PageScope::view);
  token.made = time_in(in, "made_at");
  token.until = time_in(in, "expires_at");
  token.digest = digest_in(in);
  return token;
}

PageSession session_in(JsonReader& in) {
  PageSession session;
  session.number = in.integer("number", 1, INT64_MAX);
  session.token = in.integer("token", 1, INT64_MAX);
  session.made = time_in(in, "made_at");
  session.digest = digest_in(in);
  session.proof = digest_in(in, "proof_sha256");
  return session;
}

/// Where the number is known, and the digest is that of the secret.
template <class Key>
const Key* find_shown(const std::map<std::int64_t, Key>& keys, std::string_view shown) {
  const ShownSecret parsed = parse_shown_secret(shown);
  const auto found = keys.find(parsed.number);
  if (found == keys.end() || !same_digest(digest_of(parsed.secret), found->second.digest))
    return nullptr;
  return &found->second;
}

}  // namespace

std::string_view name(PageScope scope) {
  return scope == PageScope::act ? "act" : "view";
}

std::optional<PageScope> parse_page_scope(std::string_view text) {
  for (const PageScope scope : {PageScope::view, PageScope::act})
    if (text == name(scope)) return scope;
  return std::nullopt;
}

PageKeys::PageKeys(const std::filesystem::path& folder, std::string& remark)
    : file_(folder / file_name) {
  const auto done = read();
  if (done) return;
  remark = fmt::format("{}; all have to ask for a token again", done.error().text());
  tokens_.clear();
  sessions_.clear();
  // Numbers that were given out before are not given again, so that no secret of then fits.
  next_ = std::chrono::system_clock::now().time_since_epoch() / std::chrono::seconds(1);
}

Result<void> PageKeys::read() {
  const auto file = FileHandle::open_if_there(file_, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return std::unexpected(file.error());
  if (!*file) return {};
  const auto text = file->read_from(0, file_);
  if (!text) return std::unexpected(text.error());
  if (text->size() > most_file_bytes)
    return fail(ErrorKind::bad_input, file_.string(), "it is too large");
  const auto document = parse_json(*text, file_.string());
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, file_.string(), error);
  next_ = in.integer("next", 1, INT64_MAX - 1);
  for (JsonReader& each : in.objects("tokens")) {
    PageToken token = token_in(each);
    if (token.number < next_) tokens_.emplace(token.number, std::move(token));
  }
  for (JsonReader& each : in.objects("sessions")) {
    const PageSession session = session_in(each);
    if (session.number < next_ && tokens_.contains(session.token))
      sessions_.emplace(session.number, session);
  }
  if (error) return std::unexpected(std::move(*error));
  return {};
}

/// Readers see the old file or the new one, whatever happens.
Result<void> PageKeys::write() {
  Json tokens = Json::array(), sessions = Json::array();
  for (const auto& [number, each] : tokens_) tokens.push_back(json_of(each));
  for (const auto& [number, each] : sessions_) sessions.push_back(json_of(each));
  const Json document{{"next", next_}, {"tokens", tokens}, {"sessions", sessions}};
  const std::filesystem::path next = file_.string() + ".new";
  {
    const auto file = FileHandle::open(next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    if (!file) return std::unexpected(file.error());
    const std::string text = document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (const auto done = file->write_whole(text, next); !done) return done;
    if (const auto done = file->sync(next); !done) return done;
  }
  if (std::rename(next.c_str(), file_.c_str()) != 0)
    return system_failure(file_, "cannot be replaced");
  return sync_directory(file_.parent_path());
}

void PageKeys::forget_token(std::int64_t token) {
  std::erase_if(sessions_, [&](const auto& each) { return each.second.token == token; });
  tokens_.erase(token);
  if (ended_) ended_(token, 0);
}

void PageKeys::drop_expired(Instant now) {
  std::vector<std::int64_t> over;
  for (const auto& [number, each] : tokens_)
    if (each.until <= now) over.push_back(number);
  for (const std::int64_t each : over) forget_token(each);
}

Result<NewPageKey> PageKeys::new_token(std::uint32_t uid, std::string user, PageScope scope,
                                       Duration lifetime, Instant now) {
  drop_expired(now);
  const auto own =
      std::ranges::count_if(tokens_, [uid](const auto& each) { return each.second.uid == uid; });
  if (static_cast<std::size_t>(own) >= most_per_user)
    return fail(ErrorKind::infeasible, "", fmt::format("there are {} tokens already", own),
                "end some that are not needed: cleave page --list, cleave page --revoke NUMBER");
  if (tokens_.size() >= most_tokens)
    return fail(ErrorKind::infeasible, "", "there are too many tokens of all users",
                "try again when some have expired");
  auto secret = new_secret();
  if (!secret) return std::unexpected(secret.error());
  const std::int64_t number = next_++;
  const PageToken token{
      number, uid, std::move(user), scope, now, now + lifetime, digest_of(*secret)};
  tokens_.emplace(number, token);
  if (const auto kept = write(); !kept) {
    tokens_.erase(number);
    return std::unexpected(kept.error());
  }
  return NewPageKey{fmt::format("{}.{}", number, *secret), {}, {token, 0}};
}

Result<std::optional<NewPageKey>> PageKeys::new_session(std::string_view shown, Instant now) {
  const auto found = find_token(shown, now);
  if (!found) return std::optional<NewPageKey>();
  drop_expired(now);
  std::vector<std::int64_t> own;  // by age
  for (const auto& [number, each] : sessions_)
    if (const auto of = tokens_.find(each.token);
        of != tokens_.end() && of->second.uid == found->token.uid)
      own.push_back(number);
  if (own.size() >= most_per_user) {
    if (now - sessions_[own.front()].made < least_between_rounds)
      return fail(ErrorKind::infeasible, "", "you open too many sessions", "wait ten seconds");
    const std::int64_t token = sessions_[own.front()].token;
    sessions_.erase(own.front());
    if (ended_) ended_(token, own.front());
  }
  auto secret = new_secret(), proof = new_secret();
  if (!secret || !proof) return std::unexpected((secret ? proof : secret).error());
  const std::int64_t number = next_++;
  sessions_.emplace(
      number, PageSession{number, found->token.number, now, digest_of(*secret), digest_of(*proof)});
  if (const auto kept = write(); !kept) {
    sessions_.erase(number);
    return std::unexpected(kept.error());
  }
  return std::optional(
      NewPageKey{fmt::format("{}.{}", number, *secret), std::move(*proof), {found->token, number}});
}

std::optional<PageKey> PageKeys::find_token(std::string_view secret, Instant now) {
  const PageToken* token = find_shown(tokens_, secret);
  if (token == nullptr || token->until <= now) return std::nullopt;
  return PageKey{*token, 0};
}

std::optional<PageKey> PageKeys::find_session(std::string_view secret, std::string_view proof,
                                              Instant now) {
  const PageSession* session = find_shown(sessions_, secret);
  if (session == nullptr || !same_digest(digest_of(proof), session->proof)) return std::nullopt;
  const auto token = tokens_.find(session->token);
  if (token == tokens_.end() || token->second.until <= now) return std::nullopt;
  return PageKey{token->second, session->number};
}

std::vector<PageToken> PageKeys::tokens(std::optional<std::uint32_t> uid, Instant now) {
  drop_expired(now);
  std::vector<PageToken> found;
  for (const auto& [number, each] : tokens_)
    if (!uid || each.uid == *uid) found.push_back(each);
  return found;
}

std::size_t PageKeys::sessions_of(std::int64_t token) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      sessions_, [token](const auto& each) { return each.second.token == token; }));
}

Result<void> PageKeys::revoke(std::int64_t token) {
  forget_token(token);
  return write();
}

Result<void> PageKeys::end_session(std::int64_t session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return {};
  const std::int64_t token = found->second.token;
  sessions_.erase(found);
  if (ended_) ended_(token, session);
  return write();
}

}  // namespace cleave
