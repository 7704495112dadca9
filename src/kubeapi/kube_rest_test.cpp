// The client of the API server against one that deals what real ones do at their worst.

#include "kubeapi/kube_rest.hpp"

#include <gtest/gtest.h>

#include "kubeapi/api_server_test.hpp"
#include "kubeapi/kube_follow.hpp"

namespace cleave {
namespace {

using std::chrono::milliseconds;
using Voice = ServerVoice;
using Seen = SeenRequest;

ApiServerDouble::Entry says(int status, const std::string& body, bool close = false) {
  return [=](const Seen&, Voice& voice) { voice.answer(status, body, close); };
}

KubeRest client_of(const ApiServerDouble& server, milliseconds patience = std::chrono::seconds(60),
                   milliseconds quiet = std::chrono::seconds(60)) {
  KubeRest::Settings settings;
  settings.patience = patience;
  settings.quiet = quiet;
  return {server.place(), settings};
}

TEST(KubeRest, AsksOverOneConnectionWithItsToken) {
  ApiServerDouble server({says(200, R"({"a":1})"), says(409, R"({"message":"changed"})")});
  KubeRest rest = client_of(server);
  const auto first = rest.ask("GET", "/x");
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->body["a"], 1);
  const Json body = {{"metadata", {{"resourceVersion", "3"}}}};
  const auto second = rest.ask("PUT", "/x", &body);
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->status, 409);
  EXPECT_EQ(second->message(), "409: changed");
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].token, "Bearer first");
  EXPECT_EQ(seen[1].body, body.dump());
}

TEST(KubeRest, ReadsAnExpiredTokenAgain) {
  ApiServerDouble* here = nullptr;
  ApiServerDouble server({[&](const Seen&, Voice& voice) {
                            here->write_token("second");
                            voice.answer(401, "{}");
                          },
                          says(200, "{}"), says(401, "{}")});
  here = &server;
  KubeRest rest = client_of(server);
  EXPECT_EQ(rest.ask("GET", "/x")->status, 200);
  EXPECT_EQ(server.seen()[1].token, "Bearer second");
  EXPECT_EQ(rest.ask("GET", "/x")->status, 401);  // the same token again would do no better
}

TEST(KubeRest, AsksAgainWhereAKeptConnectionIsClosedButNoPost) {
  const auto hangs_up = [](const Seen&, Voice& voice) { voice.hang_up(); };
  ApiServerDouble server({says(200, "{}"), hangs_up, says(200, R"({"b":2})"), hangs_up});
  KubeRest rest = client_of(server);
  ASSERT_TRUE(rest.ask("GET", "/x"));
  const auto again = rest.ask("GET", "/x");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->body["b"], 2);
  const Json body = Json::object();
  EXPECT_FALSE(rest.ask("POST", "/x", &body));
  EXPECT_EQ(server.seen().size(), 4U);
}

TEST(KubeRest, IsNotHeldUpBySlowTls) {
  ApiServerDouble server({});
  server.mute = true;
  KubeRest rest = client_of(server, milliseconds(200));
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = rest.ask("GET", "/x");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "the API server does not answer in time");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));  // the default
}

TEST(KubeRest, TrustsNoOtherCertificateAndNoOtherName) {
  ApiServerDouble server({says(200, "{}")}), other({});
  KubeServer place = server.place();
  place.ca = other.place().ca;
  EXPECT_FALSE(KubeRest(place, {}).ask("GET", "/x"));
  place = server.place();
  place.host = "localhost";
  EXPECT_FALSE(KubeRest(place, {}).ask("GET", "/x"));
  place.ca = "/no/such/file";
  EXPECT_FALSE(KubeRest(place, {}).ask("GET", "/x"));
  EXPECT_TRUE(server.seen().empty());
}

TEST(KubeRest, TellsTextThatIsNotJson) {
  ApiServerDouble server({says(503, "<html>busy</html>"), says(200, "{\"a\":"), says(201, "")});
  KubeRest rest = client_of(server);
  EXPECT_EQ(rest.ask("GET", "/x")->status, 503);
  EXPECT_FALSE(rest.ask("GET", "/x"));
  EXPECT_EQ(rest.ask("GET", "/x")->status, 201);
}

TEST(KubeStream, GivesWholeLinesOnly) {
  ApiServerDouble server({[](const Seen&, Voice& voice) {
    voice.begin();
    voice.piece("{\"n\":");
    std::this_thread::sleep_for(milliseconds(20));
    voice.piece("1}\n{\"n\":2}\n{\"n");
    voice.hang_up();  // in the middle of the third
  }});
  KubeRest rest = client_of(server);
  std::vector<int> seen;
  const auto ended = rest.stream("/w", [&](const Json& line) {
    seen.push_back(line["n"].get<int>());
    return true;
  });
  EXPECT_FALSE(ended);
  EXPECT_EQ(seen, (std::vector<int>{1, 2}));
}

TEST(KubeStream, SaysHowItEnded) {
  ApiServerDouble server({[](const Seen&, Voice& voice) {
                            voice.begin();
                            voice.piece("{}\n");
                            voice.end();
                          },
                          says(410, "{}"), says(403, R"({"message":"may not"})")});
  KubeRest rest = client_of(server);
  const auto on_line = [](const Json&) { return true; };
  KubeAnswer refusal;
  EXPECT_EQ(*rest.stream("/w", on_line), KubeStreamEnd::over);
  EXPECT_EQ(*rest.stream("/w", on_line), KubeStreamEnd::gone);
  EXPECT_EQ(*rest.stream("/w", on_line, &refusal), KubeStreamEnd::refused);
  EXPECT_EQ(refusal.message(), "403: may not");
}

TEST(KubeStream, EndsWhereItIsQuietForTooLong) {
  std::atomic<bool> over = false;
  ApiServerDouble server({[&](const Seen&, Voice& voice) {
    voice.begin();
    while (!over) std::this_thread::sleep_for(milliseconds(5));
  }});
  KubeRest rest = client_of(server, std::chrono::seconds(60), milliseconds(200));
  const auto ended = rest.stream("/w", [](const Json&) { return true; });
  over = true;
  EXPECT_FALSE(ended);
}

TEST(KubeServerPlace, IsWhereAPodHasItOrAsGiven) {
  const auto none = [](const char*) { return std::optional<std::string>(); };
  EXPECT_FALSE(find_kube_server({}, none));
  const auto pod = [](const char* name) {
    return std::optional<std::string>(std::string(name).ends_with("HOST") ? "10.0.0.1" : "6443");
  };
  const auto in_pod = find_kube_server({}, pod, "/r");
  ASSERT_TRUE(in_pod);
  EXPECT_EQ(in_pod->host + ":" + in_pod->port, "10.0.0.1:6443");
  EXPECT_EQ(in_pod->token, "/r/var/run/secrets/kubernetes.io/serviceaccount/token");
  const auto given = find_kube_server({"https://[::1]:7443/", "ca", "t"}, none);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->host + " " + given->port, "::1 7443");
  EXPECT_EQ(find_kube_server({"https://api", "ca", "t"}, none)->port, "443");
  for (const char* url :
       {"http://a:1", "https://", "https://a:b", "https://a/b", "https://a:70000"})
    EXPECT_FALSE(find_kube_server({url, "ca", "t"}, none)) << url;
}

std::string list_of(const std::string& items, int version, const std::string& next = {}) {
  return R"({"metadata":{"resourceVersion":")" + std::to_string(version) + R"(","continue":")" +
         next + R"("},"items":[)" + items + "]}";
}
std::string event_of(const std::string& type, const std::string& name, int version) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"name":")" + name +
         R"(","resourceVersion":")" + std::to_string(version) + "\"}}}\n";
}

TEST(KubeFollow, GoesOnWhereItWasAndListsAnewAfter410) {
  bool stop = false;
  ApiServerDouble server({
      says(200, list_of(R"({"metadata":{"name":"a"}})", 5, "more")),
      says(200, list_of(R"({"metadata":{"name":"b"}})", 5)),
      [](const Seen&, Voice& voice) {
        voice.begin();
        voice.piece(event_of("ADDED", "c", 6));
        voice.piece(event_of("BOOKMARK", "", 9));
        voice.hang_up();
      },
      [](const Seen&, Voice& voice) {
        voice.begin();
        voice.piece(event_of("DELETED", "a", 10));
        voice.piece(R"({"type":"ERROR","object":{"code":410}})"
                    "\n");
        voice.end();
      },
      says(200, list_of("", 20)),
      says(410, "{}"),
      says(200, list_of("", 30)),
      [&](const Seen&, Voice& voice) {
        voice.begin();
        voice.piece(event_of("MODIFIED", "z", 31));
        voice.end();
      },
  });
  KubeRest rest = client_of(server);
  std::vector<std::string> told;
  KubeFollowing what;
  what.target = "/api/v1/pods";
  what.query = "fieldSelector=spec.nodeName%3Dn1";
  what.shortest_pause = milliseconds(1);
  what.trim = [](Json& object) { object["trimmed"] = true; };
  what.stop = [&] { return stop; };
  follow(rest, what,
         {[&](const std::vector<Json>& all) {
            told.push_back("all " + std::to_string(all.size()));
            for (const Json& each : all) EXPECT_TRUE(each.contains("trimmed"));
          },
          [&](const Json& object, bool gone) {
            const auto name = object["metadata"]["name"].get<std::string>();
            told.push_back(name + (gone ? " gone" : ""));
            stop = name == "z";
          },
          [&](const std::string&) { told.emplace_back("trouble"); }});
  EXPECT_EQ(told,
            (std::vector<std::string>{"all 2", "c", "trouble", "a gone", "all 0", "all 0", "z"}));
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 8U);
  EXPECT_NE(seen[1].target.find("continue=more"), std::string::npos);
  EXPECT_NE(seen[3].target.find("resourceVersion=9&fieldSelector"), std::string::npos);
  EXPECT_NE(seen[7].target.find("resourceVersion=30"), std::string::npos);
}

}  // namespace
}  // namespace cleave
