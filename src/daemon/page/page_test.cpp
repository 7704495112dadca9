// The live page's parts without a network: secrets, keys, addresses, the gate, files and sessions.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/gzip.hpp"
#include "base/json.hpp"
#include "base/temporary_folder_test.hpp"
#include "daemon/page/page_address.hpp"
#include "daemon/page/page_gate.hpp"
#include "daemon/page/page_keys.hpp"
#include "daemon/page/page_site.hpp"

namespace cleave {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const Instant noon = Instant(hours(24 * 20'000 + 12));

TEST(PageSecret, DigestsAreThoseOfTheStandard) {
  EXPECT_EQ(hex_of(digest_of("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of(digest_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex_of(digest_of(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(PageSecret, SecretsDifferAndAreReadBack) {
  std::set<std::string> all;
  for (int i = 0; i < 100; ++i) {
    const auto secret = new_secret();
    ASSERT_TRUE(secret);
    EXPECT_EQ(secret->size(), 43U);
    const std::string shown = "7." + *secret;
    EXPECT_EQ(parse_shown_secret(shown).number, 7);
    EXPECT_EQ(parse_shown_secret(shown).secret, *secret);
    all.insert(*secret);
  }
  EXPECT_EQ(all.size(), 100U);
  const std::string good(43, 'x');
  for (const std::string& bad :
       {std::string(), good, "." + good, "0." + good, "-1." + good, "7." + good + "x",
        "7." + std::string(42, 'x') + " ", "99999999999999999999." + good, "7.." + good})
    EXPECT_EQ(parse_shown_secret(bad).number, 0) << bad;
  Digest one = digest_of("a"), two = one;
  EXPECT_TRUE(same_digest(one, two));
  two[31] ^= 1;
  EXPECT_FALSE(same_digest(one, two));
}

TEST(PageAddress, IsOfTheLoopbackInterface) {
  for (const auto& [text, host] :
       {std::pair("127.0.0.1:8790", "127.0.0.1"), std::pair("127.8.7.9:1", "127.8.7.9"),
        std::pair("localhost:0", "127.0.0.1"), std::pair("[::1]:8790", "[::1]")}) {
    const auto address = parse_page_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->host, host);
  }
  for (const char* text : {"", "8790", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
                           "127.0.0.1:-1", "0.0.0.0:8790", "10.0.0.1:8790", "[::]:8790",
                           "example.org:8790", ":8790", "127.1:8790", "[::ffff:127.0.0.1]:1"}) {
    const auto address = parse_page_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_FALSE(address.error().remedy.empty());
  }
}

TEST(PageAddress, ATakenOneIsRefused) {
  const auto first = PageListener::listen(*parse_page_address("127.0.0.1:0"));
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_GT(first->address.port, 0);
  const auto second = PageListener::listen(first->address);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().remedy.find("another program"), std::string::npos);
}

/// Keys in a folder of their own.
struct KeysAtHome {
  TemporaryFolder folder;
  std::string remark;
  std::optional<PageKeys> keys;
  std::vector<std::pair<std::int64_t, std::int64_t>> ended;

  KeysAtHome() { again(); }
  void again() {
    remark.clear();
    keys.emplace(folder.path(), remark);
    keys->when_ended(
        [this](std::int64_t token, std::int64_t session) { ended.emplace_back(token, session); });
  }
  NewPageKey token(std::uint32_t uid, PageScope scope = PageScope::act, Instant now = noon,
                   Duration lifetime = hours(8)) {
    auto made = keys->new_token(uid, "ada", scope, lifetime, now);
    EXPECT_TRUE(made) << made.error().text();
    return std::move(*made);
  }
  NewPageKey session(const std::string& secret, Instant now = noon) {
    auto opened = keys->new_session(secret, now);
    EXPECT_TRUE(opened && *opened);
    return std::move(**opened);
  }
  [[nodiscard]] std::string file() const { return (folder.path() / "page.json").string(); }
  [[nodiscard]] std::string text() const {
    std::ifstream in(file());
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
  }
};

TEST(PageKeys, OutliveTheDaemonWithoutTheirSecrets) {
  KeysAtHome home;
  const NewPageKey token = home.token(1000);
  const NewPageKey session = home.session(token.secret);
  EXPECT_EQ(home.text().find(token.secret.substr(2)), std::string::npos);
  EXPECT_EQ(home.text().find(session.secret.substr(2)), std::string::npos);
  EXPECT_EQ(home.text().find(session.proof), std::string::npos);
  struct stat facts {};
  ASSERT_EQ(::stat(home.file().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
  home.again();
  EXPECT_EQ(home.remark, "");
  const auto found = home.keys->find_session(session.secret, session.proof, noon);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->token.uid, 1000U);
  EXPECT_EQ(found->token.user, "ada");
  EXPECT_EQ(found->token.scope, PageScope::act);
  EXPECT_EQ(found->session, session.key.session);
  EXPECT_TRUE(home.keys->find_token(token.secret, noon));
  EXPECT_FALSE(home.keys->find_session(session.secret, "", noon));
  EXPECT_FALSE(home.keys->find_session(session.secret, session.secret, noon));
  // One is not the other.
  EXPECT_FALSE(home.keys->find_session(token.secret, "", noon));
  EXPECT_FALSE(home.keys->find_token(session.secret, noon));
}

TEST(PageKeys, EndWithTheirTime) {
  KeysAtHome home;
  const NewPageKey token = home.token(1000);
  const NewPageKey session = home.session(token.secret, noon + hours(7));
  const Instant over = noon + hours(8);
  EXPECT_TRUE(home.keys->find_session(session.secret, session.proof, over - seconds(1)));
  EXPECT_FALSE(home.keys->find_session(session.secret, session.proof, over));
  EXPECT_FALSE(home.keys->find_token(token.secret, over));
  const auto opened = home.keys->new_session(token.secret, over);
  ASSERT_TRUE(opened);
  EXPECT_FALSE(*opened);
  EXPECT_TRUE(home.keys->tokens(1000, over).empty());
  EXPECT_EQ(home.ended.size(), 1U);
}

TEST(PageKeys, ARevokedTokenEndsItsSessionsForGood) {
  KeysAtHome home;
  const NewPageKey one = home.token(1000), other = home.token(1000);
  const NewPageKey session = home.session(one.secret), kept = home.session(other.secret);
  ASSERT_TRUE(home.keys->revoke(one.key.token.number));
  for (int round = 0; round < 2; ++round, home.again()) {
    EXPECT_FALSE(home.keys->find_token(one.secret, noon));
    EXPECT_FALSE(home.keys->find_session(session.secret, session.proof, noon));
    EXPECT_TRUE(home.keys->find_session(kept.secret, kept.proof, noon));
  }
  ASSERT_EQ(home.ended.size(), 1U);
  EXPECT_EQ(home.ended[0], std::pair(one.key.token.number, std::int64_t{0}));
  ASSERT_TRUE(home.keys->end_session(kept.key.session));
  EXPECT_FALSE(home.keys->find_session(kept.secret, kept.proof, noon));
  EXPECT_TRUE(home.keys->find_token(other.secret, noon));
}

TEST(PageKeys, AreBoundedForEachUser) {
  KeysAtHome home;
  std::string last;
  for (std::size_t i = 0; i < PageKeys::most_per_user; ++i) last = home.token(1000).secret;
  const auto refused = home.keys->new_token(1000, "ada", PageScope::view, hours(1), noon);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().remedy.find("--revoke"), std::string::npos);
  EXPECT_TRUE(home.keys->new_token(1001, "bob", PageScope::view, hours(1), noon));
  const NewPageKey first = home.session(last);
  for (std::size_t i = 1; i < PageKeys::most_per_user; ++i) (void)home.session(last);
  EXPECT_FALSE(home.keys->new_session(last, noon + seconds(9)));
  EXPECT_TRUE(home.keys->find_session(first.secret, first.proof, noon));
  (void)home.session(last, noon + seconds(11));
  EXPECT_FALSE(home.keys->find_session(first.secret, first.proof, noon + seconds(11)));
  EXPECT_TRUE(home.keys->new_token(1000, "ada", PageScope::view, hours(1), noon + hours(9)));
}

TEST(PageKeys, OfADamagedFileNothingIsTaken) {
  KeysAtHome home;
  const std::string secret = home.token(1000).secret;
  const std::string good = home.text();
  for (std::size_t cut = 0; cut < good.size(); cut += 7) {
    std::ofstream(home.file()) << good.substr(0, cut);
    home.again();
    EXPECT_FALSE(home.keys->find_token(secret, noon)) << cut;
    EXPECT_NE(home.remark, "") << cut;
  }
  for (const char* text :
       {"[]", "{}", R"({"next":1,"tokens":[{}],"sessions":[]})",
        R"({"next":2,"tokens":[{"number":1,"uid":0,"user":"root","scope":"act",)"
        R"("made_at":"2026-01-01T00:00:00Z","expires_at":"2999-01-01T00:00:00Z",)"
        R"("sha256":""}],"sessions":[]})"}) {
    std::ofstream(home.file()) << text;
    home.again();
    EXPECT_NE(home.remark, "") << text;
    EXPECT_TRUE(home.keys->tokens({}, noon).empty());
  }
  // Numbers of before are not given again.
  EXPECT_GT(home.token(1000).key.token.number, 1'000'000);
}

/// A gate at 127.0.0.1:8790 with the keys of two users.
struct GateAtHome {
  KeysAtHome home;
  Instant now = noon;
  std::vector<std::pair<int, std::string>> noted;
  PageGate gate{*parse_page_address("127.0.0.1:8790"),
                {*home.keys, [this] { return now; }, [] { return Duration(seconds(100)); },
                 [this](const PageToken& of) -> std::optional<HttpPeer> {
                   if (of.uid == gone) return std::nullopt;
                   return HttpPeer{of.uid, of.uid, 0};
                 },
                 [this](const HttpWebHead&, std::uint32_t, int status, std::string why) {
                   noted.emplace_back(status, why);
                 }}};
  std::uint32_t gone = 0;
  NewPageKey token = home.token(1000), looks = home.token(1000, PageScope::view);
  NewPageKey session = home.session(token.secret), view = home.session(looks.secret);
  std::string cookie = "other=1; cleave-page-8790=" + session.secret;
  std::string view_cookie = "cleave-page-8790=" + view.secret + "; a=b";

  HttpWebHead head(const std::string& method, const std::string& target) {
    HttpWebHead made;
    made.method = method;
    made.target = target;
    made.host = "127.0.0.1:8790";
    made.cookie = cookie;
    made.page_mark = session.proof;
    return made;
  }
  int refused(const HttpWebHead& asked) {
    const auto admission = gate.admit(asked);
    return admission.refusal ? admission.refusal->status : 0;
  }
};

TEST(PageGate, LetsASessionActAsItsUser) {
  GateAtHome home;
  const auto admission = home.gate.admit(home.head("GET", "/v1/jobs?limit=3"));
  ASSERT_TRUE(admission.pass);
  EXPECT_FALSE(admission.refusal);
  EXPECT_EQ(admission.pass->peer.uid, 1000U);
  EXPECT_EQ(admission.pass->token, home.token.key.token.number);
  EXPECT_GT(admission.pass->session, 0);
  EXPECT_EQ(admission.pass->until, Duration(seconds(100) + hours(8)));
  HttpWebHead post = home.head("POST", "/v1/jobs");
  EXPECT_EQ(home.refused(post), 0);
  post.origin = "http://127.0.0.1:8790";
  post.fetch_site = "same-origin";
  EXPECT_EQ(home.refused(post), 0);
}

// A server at another port of this host is sent the cookie, and not the proof.
TEST(PageGate, ACookieAloneIsNoSession) {
  GateAtHome home;
  for (const char* method : {"GET", "POST", "DELETE"}) {
    for (const auto& proof :
         {std::optional<std::string>(), std::optional<std::string>(""),
          std::optional<std::string>("1"), std::optional(home.session.secret),
          std::optional(home.view.proof), std::optional(home.session.proof + "x"),
          std::optional(home.session.proof + ", " + home.session.proof)}) {
      HttpWebHead asked = home.head(method, "/v1/jobs");
      asked.origin = "http://127.0.0.1:8790";
      asked.page_mark = proof;
      EXPECT_EQ(home.refused(asked), 401) << method << proof.value_or("none");
      asked.target = "/session";
      EXPECT_FALSE(home.gate.admit(asked).pass);
    }
  }
  HttpWebHead post = home.head("POST", "/v1/jobs");
  post.page_mark.reset();
  EXPECT_EQ(home.refused(post), 403) << "neither Origin nor the mark";
}

TEST(PageGate, KnowsItsOwnHostAndOrigin) {
  GateAtHome home;
  for (const char* host : {"localhost:8790", "LOCALHOST:8790"}) {
    HttpWebHead asked = home.head("GET", "/v1/status");
    asked.host = host;
    EXPECT_EQ(home.refused(asked), 0) << host;
  }
  for (const char* host : {"", "evil.example:8790", "127.0.0.1", "127.0.0.1:8791", "localhost",
                           "127.0.0.1:8790, evil.example", "127.0.0.1:8790.evil.example",
                           "user@127.0.0.1:8790", "[::1]:8790"}) {
    for (const char* target : {"/", "/live.js", "/session", "/v1/jobs"}) {
      HttpWebHead asked = home.head("GET", target);
      asked.host = host;
      EXPECT_EQ(home.refused(asked), 421) << host << target;
    }
  }
  HttpWebHead none = home.head("GET", "/");
  none.host.reset();
  EXPECT_EQ(home.refused(none), 421);
  for (const char* origin : {"null", "http://evil.example", "https://127.0.0.1:8790", "",
                             "http://127.0.0.1", "http://127.0.0.1:8791", "http://localhost:8790",
                             "http://127.0.0.1:8790, http://evil.example"}) {
    for (const char* method : {"GET", "POST", "DELETE"}) {
      HttpWebHead asked = home.head(method, "/session");
      asked.origin = origin;
      asked.page_mark = "1";
      EXPECT_EQ(home.refused(asked), 403) << origin;
    }
  }
  EXPECT_FALSE(home.noted.empty());
}

TEST(PageGate, AnotherSiteHasNoBrowserAct) {
  GateAtHome home;
  for (const char* site : {"cross-site", "same-site", "none", "what?"}) {
    HttpWebHead asked = home.head("POST", "/v1/jobs");
    asked.fetch_site = site;
    asked.page_mark = "1";
    EXPECT_EQ(home.refused(asked), 403) << site;
    asked.target = "/session";
    EXPECT_EQ(home.refused(asked), 403) << site;
  }
  HttpWebHead asked = home.head("GET", "/v1/jobs");
  asked.fetch_site = "same-site";  // another port of this machine
  EXPECT_EQ(home.refused(asked), 403);
  asked.fetch_site = "none";  // somebody typed the address
  EXPECT_EQ(home.refused(asked), 0);
  // A link leads to the page, of which everybody may have the files.
  asked = home.head("GET", "/");
  asked.fetch_site = "cross-site";
  EXPECT_EQ(home.refused(asked), 0);
}

TEST(PageGate, WithoutASessionThereAreFilesOnly) {
  GateAtHome home;
  for (const std::string& cookie :
       {std::string(), std::string("cleave-page-8790="), std::string("cleave-page-8790=1.x"),
        "cleave-page-8791=" + home.cookie.substr(home.cookie.rfind('=') + 1),
        home.cookie + "; " + home.cookie, "cleave-page-8790=" + home.token.secret,
        "cleave-page-8790=1." + std::string(43, 'x'), std::string(10'000, ';')}) {
    HttpWebHead asked = home.head("GET", "/v1/jobs");
    asked.cookie = cookie;
    EXPECT_EQ(home.refused(asked), 401) << cookie.substr(0, 99);
    for (const char* open : {"/", "/live.js", "/live.css?x", "/session"}) {
      asked.target = open;
      const auto admission = home.gate.admit(asked);
      EXPECT_FALSE(admission.refusal || admission.pass) << open;
    }
  }
  for (const char* target :
       {"/healthz", "/v1", "//", "/live.js/../v1/jobs", "*", "", "/session/"}) {
    HttpWebHead asked = home.head("GET", target);
    asked.cookie.reset();
    EXPECT_EQ(home.refused(asked), 401) << target;
  }
}

TEST(PageGate, ScopesTimesAndAccountsHold) {
  GateAtHome home;
  HttpWebHead asked = home.head("POST", "/v1/jobs");
  asked.page_mark = home.view.proof;
  asked.cookie = home.view_cookie;
  EXPECT_EQ(home.refused(asked), 403);
  asked.method = "PUT";
  EXPECT_EQ(home.refused(asked), 403);
  asked.method = "GET";
  EXPECT_EQ(home.refused(asked), 0);
  asked.method = "DELETE";
  asked.target = "/session";
  EXPECT_EQ(home.refused(asked), 0);
  home.gone = 1000;
  EXPECT_EQ(home.refused(home.head("GET", "/v1/jobs")), 401);
  home.gone = 0;
  home.now = noon + hours(8);
  EXPECT_EQ(home.refused(home.head("GET", "/v1/jobs")), 401);
}

TEST(PageGate, ScriptsSendTheirToken) {
  GateAtHome home;
  HttpWebHead asked = home.head("GET", "/v1/jobs");
  asked.authorization = "Bearer " + home.token.secret;
  asked.cookie.reset();
  const auto admission = home.gate.admit(asked);
  ASSERT_TRUE(admission.pass);
  EXPECT_EQ(admission.pass->session, 0);
  for (const std::string& wrong :
       {std::string("Bearer"), std::string("Bearer "), "Basic " + home.token.secret,
        "Bearer " + home.token.secret + "x", "Bearer " + home.token.secret + ", Bearer x"}) {
    asked.authorization = wrong;
    asked.cookie = home.cookie;  // which then counts for nothing
    EXPECT_EQ(home.refused(asked), 401) << wrong;
  }
}

/// A site with made-up files and the keys of one user.
struct SiteAtHome {
  KeysAtHome home;
  std::vector<AuditLine> lines;
  int api = 0;
  PageSite site{page_files("<html>" + std::string(1000, 'x'), "let x;", ""),
                "cleave-page-1",
                {*home.keys, [] { return noon; },
                 [](const PageToken& token) -> std::optional<HttpPeer> {
                   return HttpPeer{token.uid, token.uid, 0};
                 },
                 [](const HttpPeer& peer) { return peer.uid == 7; },
                 [this](const AuditLine& line) { lines.push_back(line); },
                 [this](HttpRequest, const HttpAnswer&) { ++api; }}};

  /// Keeps the answer.
  struct Kept final : HttpAnswer::Target {
    explicit Kept(HttpResponse& to) : to_(to) {}
    void answer(HttpResponse response) override { to_ = std::move(response); }
    [[nodiscard]] bool gone() const override { return false; }
    [[nodiscard]] bool fits(std::size_t) const override { return true; }
    HttpResponse& to_;
  };
  HttpResponse ask(const std::string& method, const std::string& path, HttpWebPart web = {},
                   const std::string& body = {}) {
    HttpRequest request;
    request.peer = web.pass ? web.pass->peer : HttpPeer{unknown_user, unknown_user, 0};
    request.method = method;
    request.path = path;
    request.body = body;
    request.web = std::move(web);
    HttpResponse response;
    site.serve(std::move(request), HttpAnswer(std::make_shared<Kept>(response)));
    return response;
  }
};

std::string header_in(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return {};
}

TEST(PageSite, SendsItsFilesSmallAndOnce) {
  SiteAtHome home;
  const HttpResponse plain = home.ask("GET", "/");
  EXPECT_EQ(plain.status, 200);
  EXPECT_EQ(plain.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(header_in(plain, "Cache-Control"), "no-cache");
  EXPECT_EQ(header_in(plain, "Content-Encoding"), "");
  HttpWebPart web;
  web.head.encodings = "deflate, gzip;q=1.0, br";
  const HttpResponse small = home.ask("GET", "/", web);
  EXPECT_EQ(header_in(small, "Content-Encoding"), "gzip");
  EXPECT_LT(small.body.size(), 200U);
  EXPECT_EQ(small.body, gzipped(plain.body));
  EXPECT_EQ(static_cast<unsigned char>(small.body[0]), 0x1f);
  web.head.encodings = "gzip;q=0, identity";
  EXPECT_EQ(header_in(home.ask("GET", "/", web), "Content-Encoding"), "");
  web.head.known_tags = "\"x\", " + header_in(plain, "ETag");
  EXPECT_EQ(home.ask("GET", "/", web).status, 304);
  EXPECT_EQ(home.ask("GET", "/live.js").body, "let x;");
  EXPECT_EQ(home.ask("GET", "/live.css").status, 404);
  EXPECT_EQ(home.ask("POST", "/").status, 405);
  EXPECT_EQ(home.ask("GET", "/v1/jobs").status, 200);
  EXPECT_EQ(home.api, 1);
}

TEST(PageSite, ATokenBecomesASession) {
  SiteAtHome home;
  const NewPageKey token = home.home.token(7);
  const HttpResponse opened =
      home.ask("POST", "/session", {}, Json{{"token", token.secret}}.dump());
  ASSERT_EQ(opened.status, 200) << opened.body;
  Json answer = Json::parse(opened.body);
  EXPECT_EQ(answer["user"].get<std::string>(), "ada");
  EXPECT_EQ(answer["uid"], 7);
  EXPECT_EQ(answer["scope"].get<std::string>(), "act");
  EXPECT_EQ(answer["operates"], true);
  const std::string cookie = header_in(opened, "Set-Cookie");
  EXPECT_NE(cookie.find("; Path=/; Max-Age=28800; HttpOnly; SameSite=Strict"), std::string::npos);
  EXPECT_EQ(opened.body.find(token.secret), std::string::npos);
  const std::string secret = cookie.substr(14, cookie.find(';') - 14);
  const std::string proof = answer["proof"].get<std::string>();
  const auto key = home.home.keys->find_session(secret, proof, noon);
  ASSERT_TRUE(key) << cookie;
  HttpWebPart web;
  web.pass = HttpPass{{7, 7, 0}, key->token.number, key->session, {}};
  answer.erase("proof");
  EXPECT_EQ(Json::parse(home.ask("GET", "/session", web).body), answer) << "it is given once";
  EXPECT_EQ(home.ask("GET", "/session").status, 401);
  const HttpResponse ended = home.ask("DELETE", "/session", web);
  EXPECT_EQ(ended.status, 200);
  EXPECT_NE(header_in(ended, "Set-Cookie").find("Max-Age=0"), std::string::npos);
  EXPECT_FALSE(home.home.keys->find_session(secret, proof, noon));
  EXPECT_EQ(home.ask("DELETE", "/session").status, 401);
  ASSERT_EQ(home.lines.size(), 3U);
  EXPECT_EQ(home.lines[0].peer.uid, 7U);
  EXPECT_EQ(home.lines[0].token, token.key.token.number);
}

TEST(PageSite, RefusesWhatIsNoToken) {
  SiteAtHome home;
  const std::string secret = home.home.token(7).secret;
  for (const std::string& body :
       {std::string(), std::string("x"), std::string("{}"), std::string(R"({"token":1})"),
        std::string(R"({"token":""})"), Json{{"token", secret + "x"}}.dump(),
        Json{{"token", secret}, {"more", 1}}.dump()}) {
    const HttpResponse refused = home.ask("POST", "/session", {}, body);
    EXPECT_GE(refused.status, 400) << body;
    EXPECT_LT(refused.status, 402) << body;
    EXPECT_EQ(header_in(refused, "Set-Cookie"), "");
  }
  EXPECT_EQ(home.lines.size(), 7U);
  for (const AuditLine& line : home.lines) EXPECT_EQ(line.result.find(secret), std::string::npos);
}

}  // namespace
}  // namespace cleave
