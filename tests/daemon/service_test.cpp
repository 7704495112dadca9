// The API end to end, with every answer checked against docs/openapi.json.

#include <algorithm>
#include <span>

#include "api_description.hpp"
#include "base/places_test.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "service_stand.hpp"

namespace cleave::trial {
namespace {

using std::chrono::milliseconds;

const std::string plain_job =
    R"({"command":["true"],"environment":["PATH=/bin"],"directory":"/","name":"one"})";

FakeCourse runs_for(Duration time) {
  FakeCourse course;
  course.runs = time;
  return course;
}

TEST(Openapi, IsTheTableOfRoutes) {
  const Json description = Json::parse(openapi_text());
  EXPECT_EQ(openapi_text(), text_of_file(source_dir() + "/docs/openapi.json"));
  std::set<std::string> described, served;
  for (const auto& [path, methods] : description["paths"].items())
    for (const auto& [method, what] : methods.items())
      described.insert(fmt::format("{} {} {}", method, path, what["x-who"].get<std::string>()));
  for (const auto& route : Service::routes())
    served.insert(fmt::format("{} {} {}", lowercase(route.method), route.path,
                              route.access == ApiAccess::operators ? "operators"
                              : route.access == ApiAccess::local   ? "local"
                                                                   : "everyone"));
  EXPECT_EQ(described, served);
}

/// `cleave-describe-api docs` writes both; tools/update-docs.sh runs it.
TEST(Openapi, SchemasAndFieldsAreThoseOfTheTables) {
  const std::string openapi = text_of_file(source_dir() + "/docs/openapi.json");
  const std::string page = text_of_file(source_dir() + "/docs/api.md");
  EXPECT_TRUE(with_schemas(openapi) == openapi) << "run build/release/bin/cleave-describe-api docs";
  EXPECT_TRUE(with_fields(page) == page) << "run build/release/bin/cleave-describe-api docs";
  const Json schemas = table_schemas();
  EXPECT_EQ(schemas["Submission"]["properties"]["retries"]["maximum"], 1000);
  EXPECT_EQ(schemas["ListedJob"]["properties"].contains("history"), false);
  EXPECT_NE(page.find("| `retries` | integer, 0 to 1000 |"), std::string::npos);
}

TEST(Openapi, EveryReferenceAndParameterIsThere) {
  const Json description = Json::parse(openapi_text());
  const SchemaCheck check(description);
  const std::function<void(const Json&)> walk = [&](const Json& node) {
    if (node.is_object() && node.contains("$ref")) {
      EXPECT_NO_THROW((void)check.resolved(node)) << node.dump();
    }
    if (node.is_structured())
      for (const Json& each : node) walk(each);
  };
  walk(description);
  for (const auto& [path, methods] : description["paths"].items())
    for (const auto& [method, what] : methods.items()) {
      const bool in_path = path.find('{') != std::string::npos;
      const auto parameters = what.value("parameters", Json::array());
      const auto named = std::ranges::count_if(
          parameters, [](const Json& p) { return p["in"].get<std::string>() == "path"; });
      EXPECT_EQ(named, in_path ? 1 : 0) << path;
    }
}

TEST(Openapi, TheCheckFindsErrors) {
  const Json description = Json::parse(openapi_text());
  const SchemaCheck check(description);
  const Json place{{"$ref", "#/components/schemas/Attempt"}};
  Json good{{"attempt", 1},
            {"instance", nullptr},
            {"started_at", nullptr},
            {"began_at", nullptr},
            {"ended_at", nullptr},
            {"end", nullptr},
            {"why", ""},
            {"exit_code", nullptr},
            {"peak_mib", nullptr},
            {"predicted_s", nullptr},
            {"predicted_by", nullptr},
            {"lasted_s", 1.5},
            {"too_large_mib", nullptr}};
  EXPECT_TRUE(check.check(place, good).empty()) << check.check(place, good)[0];
  const std::pair<const char*, Json> wrong[] = {
      {"attempt", 0}, {"attempt", "1"},      {"attempt", nullptr},      {"end", "whatever"},
      {"extra", 1},   {"started_at", "now"}, {"instance", {{"gpu", 1}}}};
  for (const auto& [key, value] : wrong) {
    Json bad = good;
    bad[key] = value;
    EXPECT_FALSE(check.check(place, bad).empty()) << key;
  }
  good.erase("why");
  EXPECT_FALSE(check.check(place, good).empty());
}

TEST(Service, ServesEveryRoute) {
  ServiceStand stand;
  stand.jobs().plan({1, 1}, runs_for(std::chrono::seconds(2)));
  EXPECT_EQ(stand.ask(ada(), "GET", "/healthz").json()["status"], "ok");
  EXPECT_EQ(stand.ask(ada(), "GET", "/metrics").response->status, 200) << "for every user";
  const Json submitted = stand.ask(ada(), "POST", "/v1/jobs", plain_job).json();
  EXPECT_EQ(submitted["id"], 1);
  EXPECT_EQ(submitted["command"], Json::array({"true"}));
  stand.run(milliseconds(500));
  const Json running = stand.ask(ada(), "GET", "/v1/jobs/1").json();
  EXPECT_EQ(running["state"], "running");
  EXPECT_EQ(running["instance"]["profile"], "1g.5gb");
  EXPECT_EQ(running["history"].size(), 1U);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs").json()["jobs"].size(), 1U);
  EXPECT_EQ(stand.ask(0, "GET", "/v1/jobs?user=all&all=1&limit=10&before=9").json()["jobs"].size(),
            1U);
  EXPECT_EQ(stand.ask(0, "GET", fmt::format("/v1/jobs?user={}&state=running", ada()))
                .json()["jobs"]
                .size(),
            1U);
  EXPECT_EQ(stand.ask(0, "GET", "/v1/jobs").json()["jobs"].size(), 0U) << "own by default";
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/profiles").json()["profiles"], Json::array());
  const Json gpus = stand.ask(ada(), "GET", "/v1/gpus").json()["gpus"];
  ASSERT_EQ(gpus.size(), 2U);
  const Json instances = stand.ask(ada(), "GET", "/v1/instances").json()["instances"];
  ASSERT_EQ(instances.size(), 1U);
  EXPECT_EQ(instances[0]["jobs"], Json::array({1}));
  EXPECT_NE(instances[0]["device"], "");
  const Json to_others = stand.ask(bob, "GET", "/v1/instances").json()["instances"][0];
  EXPECT_EQ(to_others["jobs"], Json::array());
  EXPECT_EQ(to_others["device"], "") << "its name is all that it takes to use it";
  EXPECT_EQ(to_others["processes"], Json::array());
  EXPECT_EQ(to_others["profile"], instances[0]["profile"]);
  EXPECT_EQ(stand.ask(0, "GET", "/v1/instances").json()["instances"][0]["device"],
            instances[0]["device"]);
  const Json status = stand.ask(ada(), "GET", "/v1/status").json();
  EXPECT_EQ(status["jobs"]["running"], 1);
  EXPECT_EQ(status["you"]["operator"], ada() == 0);
  EXPECT_EQ(stand.ask(0, "POST", "/v1/gpus/1/drain").json()["drained"], true);
  const std::string uuid = gpus[1]["uuid"].get<std::string>();
  EXPECT_EQ(stand.ask(0, "POST", "/v1/gpus/" + uuid + "/undrain").json()["drained"], false);
  EXPECT_EQ(stand.ask(0, "POST", "/v1/pause").json()["paused"], true);
  EXPECT_EQ(stand.ask(0, "POST", "/v1/resume").json()["paused"], false);
  EXPECT_EQ(stand.ask(0, "PUT", "/v1/scheduler", R"({"scheduler":"full-gpu"})").json()["scheduler"],
            "full-gpu")
      << stand.ask(0, "GET", "/v1/scheduler").response->body;
  EXPECT_EQ(stand.ask(0, "PUT", "/v1/scheduler", R"({"scheduler":"online"})").response->status,
            200);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/scheduler").json()["scheduler"], "online");
  stand.ask(ada(), "GET", "/v1/openapi.json");
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/wait?timeout_s=20").json()["state"], "finished");
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs/1/cancel").json()["state"], "finished")
      << "no failure";
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs").json()["jobs"].size(), 0U);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs?all=true").json()["jobs"].size(), 1U);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs?state=finished").json()["jobs"].size(), 1U);
  EXPECT_GE(stand.ask(ada(), "GET", "/v1/events?format=json").json()["events"].size(), 4U);
  stand.ask(ada(), "POST", "/v1/jobs", plain_job);
  stand.run(milliseconds(100));
  const Json cancelled = stand.ask(ada(), "POST", "/v1/jobs/2/cancel").json();
  EXPECT_TRUE(cancelled["state"] == "stopping" || cancelled["state"] == "cancelled") << cancelled;
}

TEST(Service, CancelsManyJobsInOneWrite) {
  ServiceStand stand;
  ServiceSettings settings{"", true, "laws"};
  stand.service().set_settings(settings);
  stand.jobs().plan({1, 1}, runs_for(milliseconds(10)));
  stand.jobs().plan({2, 1}, runs_for(std::chrono::hours(1)));
  stand.ask(ada(), "POST", "/v1/jobs", plain_job);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/wait?timeout_s=20").json()["state"], "finished");
  stand.ask(ada(), "POST", "/v1/jobs", plain_job);
  stand.run(milliseconds(500));
  stand.ask(0, "POST", "/v1/pause");
  Json many = Json::parse(plain_job);
  many["array"] = "1-500";
  ASSERT_EQ(stand.ask(ada(), "POST", "/v1/jobs", many.dump()).response->status, 201);
  const auto cancel = [&](std::uint32_t uid, const Json& jobs) {
    return stand.ask(uid, "POST", "/v1/cancellations", Json{{"jobs", jobs}}.dump());
  };
  Json all = Json::array({9999, 1});
  for (int job = 2; job <= 502; ++job) all.push_back(job);
  const std::size_t writes = stand.disk().writes();
  const Json answer = cancel(ada(), all).json();
  EXPECT_LE(stand.disk().writes(), writes + 3) << "what ends is a write of its own";
  ASSERT_EQ(answer["jobs"].size(), 502U);
  EXPECT_EQ(answer["jobs"][0]["state"], "finished") << "as it ended";
  EXPECT_EQ(answer["jobs"][1]["id"], 2) << "in the order asked for";
  EXPECT_EQ(answer["jobs"][1]["state"], "stopping");
  EXPECT_EQ(answer["jobs"][2]["state"], "cancelled");
  ASSERT_EQ(answer["refused"].size(), 1U);
  EXPECT_EQ(answer["refused"][0]["job"], 9999);
  EXPECT_EQ(answer["refused"][0]["error"]["message"], "there is no job 9999");
  EXPECT_NE(stand.audit().find("502 jobs, 1 refused"), std::string::npos);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs?state=queued").json()["jobs"].size(), 0U);
  for (const Json& wrong : {Json::array(), Json::array({0}), Json::array({2, 1, 2})})
    EXPECT_EQ(cancel(ada(), wrong).response->status, 400) << wrong;
  stand.disk().fail_reads(1);
  EXPECT_EQ(cancel(ada(), {1}).response->status, 503);
  if (::geteuid() == 0) {
    EXPECT_EQ(cancel(bob, {1}).json()["refused"].size(), 1U) << "another user's";
    EXPECT_EQ(cancel(0, {1}).json()["jobs"].size(), 1U);
  }
}

TEST(Service, PurgesEndedJobsOfTheUserWhoAsks) {
  ServiceStand stand;
  for (std::int64_t job = 1; job <= 30; ++job)
    stand.jobs().plan({job, 1}, runs_for(milliseconds(job == 30 ? 3'600'000 : 10)));
  for (int job = 1; job <= 30; ++job)
    ASSERT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 201);
  for (int i = 0; i < 600 && stand.ask(ada(), "GET", "/v1/jobs").json()["jobs"].size() > 1; ++i)
    stand.run(milliseconds(100));
  const auto kept = [&] { return stand.ask(ada(), "GET", "/v1/jobs?all=1").json()["jobs"].size(); };
  ASSERT_EQ(kept(), 30U);
  const Json would = stand.ask(ada(), "POST", "/v1/jobs/7/purge?dry_run=1").json();
  EXPECT_EQ(would["jobs"], 1);
  EXPECT_GE(would["bytes"], 1000);
  EXPECT_EQ(would["dry_run"], true);
  EXPECT_EQ(would["which"], Json::array({{{"id", 7}, {"name", "one"}}})) << would["which"];
  EXPECT_EQ(kept(), 30U);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs/7/purge").json()["bytes"], would["bytes"]);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/7").response->status, 404);
  EXPECT_EQ(stand.jobs().folders(7), 0U);
  EXPECT_EQ(stand.ask(bob, "POST", "/v1/jobs/8/purge").response->status, 404);
  const Asked runs = stand.ask(ada(), "POST", "/v1/jobs/30/purge");
  EXPECT_EQ(runs.response->status, 409);
  EXPECT_NE(runs.json()["error"]["message"].dump().find("has not ended"), std::string::npos);
  EXPECT_EQ(stand.ask(bob, "POST", "/v1/purge?all=1").json()["jobs"], 0) << "nothing of bob's";
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/purge?older_s=3600").json()["jobs"], 0);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/purge?all=1&dry_run=1").json()["jobs"], 28);
  EXPECT_EQ(kept(), 29U);
  const Json all = stand.ask(0, "POST", fmt::format("/v1/purge?all=1&user={}", ada())).json();
  EXPECT_EQ(all["jobs"], 28) << "in several pieces";
  EXPECT_EQ(all["left"], 0);
  EXPECT_EQ(all["which"].size(), 28U);
  EXPECT_EQ(kept(), 1U);
  EXPECT_NE(stand.audit().find("/v1/purge"), std::string::npos);
  EXPECT_NE(stand.audit().find("28 jobs, "), std::string::npos) << stand.audit();
}

TEST(Service, APurgeGoesOnWithoutItsClient) {
  ServiceStand stand;
  for (std::int64_t job = 1; job <= 25; ++job) {
    stand.jobs().plan({job, 1}, runs_for(milliseconds(10)));
    ASSERT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 201);
  }
  for (int i = 0; i < 600 && !stand.ask(ada(), "GET", "/v1/jobs").json()["jobs"].empty(); ++i)
    stand.run(milliseconds(100));
  const Asked asked = stand.begin(ada(), "POST", "/v1/purge?all=1");
  *asked.gone = true;
  stand.run(milliseconds(100));
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs?all=1").json()["jobs"].size(), 0U);
  EXPECT_NE(stand.audit().find("25 jobs, "), std::string::npos) << stand.audit();
}

TEST(Service, SaysWhatIsWrong) {
  ServiceStand stand;
  const std::string drop = fmt::format("/v1/gpus/{}/drain", 0);
  struct Case {
    std::uint32_t uid;
    const char *method, *target, *body;
    int status;
  };
  const Case cases[] = {
      {ada(), "GET", "/", "", 404},
      {ada(), "GET", "/v1/jobs/", "", 404},
      {ada(), "GET", "/v1/jobs/1", "", 404},
      {ada(), "GET", "/v1/jobs/x", "", 404},
      {ada(), "GET", "/v1/jobs/-1", "", 404},
      {ada(), "GET", "/v1/jobs/99999999999999999999", "", 404},
      {ada(), "GET", "/v1/jobs/1/wait", "", 404},
      {ada(), "POST", "/v1/jobs/1/cancel", "", 404},
      {ada(), "GET", "/v1/jobs/1/logs", "", 404},
      {ada(), "POST", "/v1/jobs/1/purge", "", 404},
      {ada(), "POST", "/v1/purge", "", 400},
      {ada(), "POST", "/v1/purge?all=1&older_s=1", "", 400},
      {ada(), "POST", "/v1/purge?older_s=-1", "", 400},
      {0, "POST", "/v1/purge?all=1&user=nobody-of-this-name", "", 404},
      {bob, "POST", "/v1/purge?all=1&user=all", "", 403},
      {ada(), "DELETE", "/v1/jobs", "", 405},
      {ada(), "HEAD", "/v1/jobs", "", 405},
      {ada(), "GET", "/v1/pause", "", 405},
      {ada(), "GET", "/v1/jobs?limit=0", "", 400},
      {ada(), "GET", "/v1/jobs?limt=3", "", 400},
      {ada(), "GET", "/v1/jobs?state=gone", "", 400},
      {ada(), "GET", "/v1/jobs?all=maybe", "", 400},
      {ada(), "GET", "/v1/jobs/1/logs?stream=both", "", 400},
      {ada(), "GET", "/v1/events?after=-1", "", 400},
      {ada(), "GET", "/v1/status?x", "", 400},
      {0, "GET", "/v1/jobs?user=nobody-of-this-name", "", 404},
      {0, "POST", "/v1/gpus/7/drain", "", 404},
      {0, "GET", "/v1/plans/7", "", 404},
      {0, "GET", "/v1/plans/all", "", 404},
      {0, "POST", "/v1/plans/7/cancel", "", 404},
      {0, "GET", "/v1/plans?limit=0", "", 400},
      {0, "POST", "/v1/plans", "[", 400},
      {0, "POST", "/v1/plans/preview", R"({"kind":"deploy"})", 400},
      {0, "POST", "/v1/plans", R"({"kind":"compact","moves":[]})", 400},
      {0, "POST", "/v1/plans",
       R"({"kind":"compact","moves":[{"wave":1,"job":99,)"
       R"("from":{"gpu":"0","profile":"3g.20gb","start":0},)"
       R"("to":{"gpu":"1","profile":"3g.20gb","start":0}}]})",
       409},
      {bob, "GET", "/v1/fleet", "", 403},
      {bob, "GET", "/v1/plans", "", 403},
      {bob, "POST", "/v1/plans", "", 403},
      {bob, "POST", "/v1/plans/preview", "", 403},
      {bob, "POST", "/v1/plans/1/cancel", "", 403},
      {0, "PUT", "/v1/scheduler", "{}", 400},
      {0, "PUT", "/v1/scheduler", "[", 400},
      {0, "PUT", "/v1/scheduler", R"({"scheduler":"fifo-of-nobody"})", 400},
      {ada(), "POST", "/v1/jobs", "", 400},
      {nobody_knows, "POST", "/v1/jobs", plain_job.c_str(), 403},
      {bob, "GET", "/v1/jobs?user=all", "", 403},
      {bob, "GET", "/v1/jobs?user=root", "", 403},
      {bob, "GET", "/v1/jobs?user=nobody-of-this-name", "", 403},
      {bob, "POST", drop.c_str(), "", 403},
      {bob, "POST", "/v1/pause", "", 403},
      {bob, "POST", "/v1/resume", "", 403},
      {bob, "PUT", "/v1/scheduler", R"({"scheduler":"online"})", 403},
  };
  // What does not exist is the user's mistake, so that clients exit with 2.
  for (const Case& each : cases) {
    if (each.status != 404) continue;
    const Json said = stand.ask(each.uid, each.method, each.target, each.body).json();
    EXPECT_EQ(said["error"]["kind"], "bad input") << each.target;
    const bool about_a_job = said["error"]["message"].dump().find("no job") != std::string::npos;
    EXPECT_EQ(said["error"]["remedy"] == "`cleave ps --all` lists the jobs", about_a_job)
        << each.target;
  }
  for (const Case& each : cases)
    EXPECT_EQ(stand.ask(each.uid, each.method, each.target, each.body).response->status,
              each.status)
        << each.method << " " << each.target << " " << each.body;
  EXPECT_EQ(stand.begin(ada(), "GET", "/v1/events", "", "x").response->status, 400);
}

TEST(Service, OthersJobsExistNowhere) {
  ServiceStand stand;
  stand.ask(ada(), "POST", "/v1/jobs", plain_job);
  stand.run(milliseconds(200));
  stand.write_output("1.1", ada(), "secret");
  for (const auto& [method, path] : {std::pair("GET", ""), std::pair("GET", "/wait"),
                                     std::pair("POST", "/cancel"), std::pair("GET", "/logs")}) {
    const Asked others = stand.ask(bob, method, fmt::format("/v1/jobs/1{}", path));
    const Asked none = stand.ask(bob, method, fmt::format("/v1/jobs/9{}", path));
    EXPECT_EQ(others.response->status, 404);
    std::string expected = none.response->body;
    std::ranges::replace(expected, '9', '1');
    EXPECT_EQ(others.response->body, expected);
    EXPECT_EQ(stand.ask(0, method, fmt::format("/v1/jobs/1{}", path)).response->status, 200)
        << "operators";
  }
  const Json events = stand.ask(bob, "GET", "/v1/events?format=json&after=0").json()["events"];
  for (const Json& event : events) EXPECT_TRUE(event["job"].is_null()) << event;
  EXPECT_FALSE(events.empty()) << "but those of the GPUs";
}

TEST(Service, WhatWasUsedIsForItsUserAndOperators) {
  ServiceStand stand;
  Json job = Json::parse(plain_job);
  job["application"] = "resnet";
  stand.jobs().plan({1, 1}, runs_for(std::chrono::seconds(20)));
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", job.dump()).json()["id"], 1);
  stand.run(std::chrono::seconds(60));
  const auto used = [&](std::uint32_t uid, const std::string& query) {
    return stand.ask(uid, "GET", "/v1/usage" + query).json()["usage"];
  };
  const Json own = used(ada(), "?by=user,application");
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0]["whose"], "jobs");
  EXPECT_EQ(own[0]["uid"], ada());
  EXPECT_EQ(own[0]["application"], "resnet");
  EXPECT_EQ(own[0]["day"], nullptr);
  EXPECT_EQ(own[0]["jobs"], 1);
  EXPECT_NEAR(own[0]["slice_hours"].get<double>(), 20.0 / 3600, 1.0 / 3600);
  EXPECT_EQ(used(bob, ""), Json::array());
  const Json all = used(0, "?by=&user=all");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1]["whose"], "idle");
  EXPECT_EQ(used(0, ""), Json::array()) << "own by default";
  EXPECT_EQ(used(0, fmt::format("?by=user,application&user={}", ada())), own);
  EXPECT_EQ(used(ada(), "?since=1970-01-01&until=1970-01-01"), Json::array());
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/usage?user=all").response->status, 403);
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/usage?by=uid").response->status, 400);
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/usage?since=today").response->status, 400);
}

TEST(Service, WhatJobsTaughtIsForTheirUserAndOperators) {
  ServiceStand stand;
  Json job = Json::parse(plain_job);
  job["application"] = "resnet";
  job["profile"] = "1g.5gb";
  for (std::int64_t number = 1; number <= 2; ++number) {
    stand.jobs().plan({number, 1}, runs_for(std::chrono::seconds(2)));
    EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", job.dump()).json()["id"], number);
    stand.run(std::chrono::seconds(5));
  }
  const auto learnt = [&](std::uint32_t uid, const std::string& query) {
    return stand.ask(uid, "GET", "/v1/profiles" + query).json()["profiles"];
  };
  const Json own = learnt(ada(), "");
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0]["application"], "resnet");
  EXPECT_EQ(own[0]["time_s"], 2);
  EXPECT_EQ(own[0]["samples"], 2);
  EXPECT_EQ(own[0]["x-uid"], ada());
  EXPECT_EQ(learnt(0, "?user=all"), own);
  EXPECT_EQ(learnt(bob, ""), Json::array());
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/profiles?user=all").response->status, 403);
  EXPECT_EQ(stand.ask(bob, "GET", fmt::format("/v1/profiles?user={}", ada())).response->status,
            403);
  const Json attempt = stand.ask(ada(), "GET", "/v1/jobs/2").json()["history"][0];
  EXPECT_EQ(attempt["predicted_s"], 2);
  EXPECT_EQ(attempt["predicted_by"], "measured");
  EXPECT_EQ(attempt["lasted_s"], 2);
  const Json errors = stand.ask(ada(), "GET", "/v1/status").json()["predictions"];
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0]["by"], nullptr);
  EXPECT_EQ(errors[1]["by"], "measured");
  EXPECT_EQ(errors[1]["median_error"], 0);
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/status").json()["predictions"], Json::array());
}

TEST(Service, OneUserAtATimeUntilInstancesAreFenced) {
  ServiceStand stand;
  // Both before either is in the store.
  const Asked first = stand.begin(ada(), "POST", "/v1/jobs", plain_job);
  const Asked second = stand.begin(bob, "POST", "/v1/jobs", plain_job);
  EXPECT_TRUE(*second.there);
  EXPECT_EQ(second.response->status, 409);
  stand.check("POST", "/v1/jobs", second);
  stand.run(milliseconds(5));
  EXPECT_EQ(first.response->status, 201);
  EXPECT_EQ(stand.ask(bob, "POST", "/v1/jobs", plain_job).response->status, 409);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 201);
  stand.service().set_settings({"", true, "laws"});
  EXPECT_EQ(stand.ask(bob, "POST", "/v1/jobs", plain_job).response->status, 201);
  stand.service().set_settings({"", false, "laws"});
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 409)
      << "both are there";
  stand.ask(ada(), "GET", "/v1/jobs/1/wait?timeout_s=1000");
  stand.ask(ada(), "GET", "/v1/jobs/2/wait?timeout_s=1000");
  stand.ask(bob, "GET", "/v1/jobs/3/wait?timeout_s=1000");
  EXPECT_EQ(stand.ask(bob, "POST", "/v1/jobs", plain_job).response->status, 201) << "all is over";
}

TEST(Service, ADaemonOfAUserServesThatUserAlone) {
  ServiceStand stand({}, ada() == 0 ? 5 : ada());
  const std::uint32_t own = ada() == 0 ? 5 : ada();
  EXPECT_EQ(stand.ask(own, "POST", "/v1/jobs", plain_job).response->status, 201);
  EXPECT_EQ(stand.ask(own, "POST", "/v1/pause").response->status, 200) << "he operates it";
  for (const char* path : {"/healthz", "/v1/jobs", "/v1/jobs/1", "/nowhere"})
    EXPECT_EQ(stand.ask(bob, "GET", path).response->status, 403);
  EXPECT_EQ(stand.ask(0, "GET", "/v1/jobs/1").response->status, 200) << "root sees all";
  EXPECT_EQ(stand.ask(0, "POST", "/v1/jobs", plain_job).response->status, 403)
      << "but runs nothing here";
}

TEST(Service, AnswersASubmissionWhenItIsOnTheDisk) {
  ServiceStand stand;
  const Asked asked = stand.begin(ada(), "POST", "/v1/jobs", plain_job);
  EXPECT_FALSE(*asked.there);
  stand.run(milliseconds(1));
  EXPECT_TRUE(*asked.there);
  stand.disk().fail_writes(1000);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 503);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs/2/cancel").response->status, 404)
      << "it is not there";
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs/1/cancel").response->status, 200)
      << "what runs may be what fills the disk";
  EXPECT_EQ(stand.ask(0, "POST", "/v1/pause").response->status, 503);
  EXPECT_EQ(stand.ask(0, "POST", "/v1/gpus/0/drain").response->status, 503);
  stand.disk().fail_writes(0);
  stand.run(std::chrono::seconds(5));
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 201);
  stand.disk().fail_reads(1000);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/2").response->status, 503);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs?all=1").response->status, 503);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/events?format=json").response->status, 503);
  stand.disk().fail_reads(0);
}

TEST(Service, AJobOfSeveralIsOneJobWithItsProcesses) {
  ServiceStand stand;
  Json wanted = Json::parse(plain_job);
  wanted["profile"] = "1g.5gb";
  wanted["instances"] = 3;
  const Asked submitted = stand.ask(ada(), "POST", "/v1/jobs", wanted.dump());
  ASSERT_EQ(submitted.response->status, 201) << submitted.response->body;
  EXPECT_EQ(submitted.json()["places"], 3);
  EXPECT_EQ(submitted.json()["asked"], "3 x 1g.5gb");
  const Asked next = stand.ask(ada(), "POST", "/v1/jobs", plain_job);
  EXPECT_EQ(next.json()["id"], 4);
  stand.run(std::chrono::seconds(2));
  const Json list = stand.ask(ada(), "GET", "/v1/jobs?all=1").json()["jobs"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1]["id"], 1);
  const Json shown = stand.ask(ada(), "GET", "/v1/jobs/1").json();
  ASSERT_EQ(shown["processes"].size(), 3U) << shown;
  std::set<std::string> devices;
  for (const Json& each : shown["processes"])
    devices.insert(each["instance"]["device"].get<std::string>());
  EXPECT_EQ(devices.size(), 3U);
  EXPECT_EQ(shown["processes"][2]["rank"], 2);
  const Asked process = stand.ask(ada(), "GET", "/v1/jobs/2");
  EXPECT_EQ(process.response->status, 404);
  EXPECT_NE(process.response->body.find("process 1 of job 1"), std::string::npos)
      << process.response->body;
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/jobs/2").response->body.find("process"), std::string::npos)
      << "others hear nothing of it";
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs/3/cancel").response->status, 404);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/logs?rank=2").response->status, 200);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/logs?rank=3").response->status, 404);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/logs?rank=-1").response->status, 400);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs/1/cancel").response->status, 200);
  stand.run(std::chrono::seconds(5));
  const Json cancelled = stand.ask(ada(), "GET", "/v1/jobs/1").json();
  for (const Json& each : cancelled["processes"]) EXPECT_EQ(each["state"], "cancelled") << each;
}

TEST(Service, AServiceIsOneJobWithItsReplicas) {
  ServiceStand stand;
  Json wanted = Json::parse(plain_job);
  wanted["profile"] = "1g.5gb";
  wanted["service"] = {{"replicas", 3}};
  const Asked submitted = stand.ask(ada(), "POST", "/v1/jobs", wanted.dump());
  ASSERT_EQ(submitted.response->status, 201) << submitted.response->body;
  EXPECT_EQ(submitted.json()["kind"], "service");
  EXPECT_EQ(submitted.json()["replicas"], 3);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).json()["id"], 4);
  stand.run(std::chrono::seconds(2));
  const Json list = stand.ask(ada(), "GET", "/v1/jobs?all=1").json()["jobs"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["kind"], "batch");
  EXPECT_TRUE(list[0]["replicas"].is_null());
  EXPECT_EQ(list[1]["id"], 1);
  EXPECT_EQ(list[1]["replicas"], 3);
  const Json shown = stand.ask(ada(), "GET", "/v1/jobs/1").json();
  ASSERT_EQ(shown["processes"].size(), 3U) << shown;
  EXPECT_EQ(shown["processes"][2]["rank"], 2);
  EXPECT_EQ(shown["up"].get<int>(), std::ranges::count_if(shown["processes"], [](const Json& each) {
              return each["state"] == "running";
            }));
  const Asked replica = stand.ask(ada(), "GET", "/v1/jobs/2");
  EXPECT_EQ(replica.response->status, 404);
  EXPECT_NE(replica.response->body.find("replica 1 of job 1"), std::string::npos)
      << replica.response->body;
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/logs?rank=2").response->status, 200);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/logs?rank=3").response->status, 404);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs/1/cancel").response->status, 200);
  stand.run(std::chrono::seconds(5));
  const Json cancelled = stand.ask(ada(), "GET", "/v1/jobs/1").json();
  EXPECT_EQ(cancelled["state"], "cancelled");
  for (const Json& each : cancelled["processes"]) EXPECT_EQ(each["state"], "cancelled") << each;
}

TEST(Service, ALeaseSaysWhatWasAskedForAndWhetherItsWorkIsCounted) {
  ServiceStand stand;
  Json wanted = Json::parse(plain_job);
  wanted["profile"] = "1g.5gb";
  wanted["lease"] = {{"starts_within_s", 30}, {"idle_after_s", 900}};
  const Asked submitted = stand.ask(ada(), "POST", "/v1/jobs", wanted.dump());
  ASSERT_EQ(submitted.response->status, 201) << submitted.response->body;
  EXPECT_EQ(submitted.json()["kind"], "lease");
  EXPECT_EQ(submitted.json()["lease"]["starts_within_s"], 30);
  EXPECT_EQ(submitted.json()["lease"]["then"], "give-back");
  stand.run(std::chrono::seconds(1));
  const Json shown = stand.ask(ada(), "GET", "/v1/jobs/1").json();
  EXPECT_EQ(shown["idle_measured"], false) << shown;
  EXPECT_TRUE(shown["idle_since"].is_null());
}

TEST(Service, RefusesJobsBeyondTheLine) {
  ControlSettings settings;
  settings.most_waiting = 2;
  ServiceStand stand(settings);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 201);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 201);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 409);
}

/// Ended jobs, owned by ada except every tenth, which is bob's.
void put_old_jobs(ServiceStand& stand, JobNumber count) {
  StoreBatch batch;
  for (JobNumber number = 1; number <= count; ++number) {
    JobRecord job;
    job.number = number;
    job.owner.uid = number % 10 == 0 ? bob : ada();
    job.state = number == 3 ? JobState::failed : JobState::finished;
    job.ended = Instant{} + std::chrono::hours(1);
    job.attempts = 2;
    for (std::int64_t attempt = 1; attempt <= 2; ++attempt) {
      AttemptRecord record;
      record.key = {number, attempt};
      record.started = Instant{} + std::chrono::minutes(attempt);
      batch.attempts.push_back(record);
    }
    batch.commands.emplace_back(number, JobCommand{{"true"}, {}, "/"});
    batch.jobs.push_back(job);
  }
  ASSERT_TRUE(stand.store().write(batch, Durability::synced));
}

TEST(Service, ListsInPiecesAndUsersOneAfterTheOther) {
  ServiceStand stand;
  put_old_jobs(stand, 3000);
  std::vector<Asked> many;
  for (int i = 0; i < 20; ++i)
    many.push_back(stand.begin(ada(), "GET", "/v1/jobs?all=1&limit=10000"));
  const Asked other = stand.begin(bob, "GET", "/v1/jobs?all=1&limit=50");
  EXPECT_EQ(stand.posted(), 1U) << "one piece a turn, whoever asks";
  EXPECT_FALSE(*many[0].there);
  EXPECT_TRUE(*stand.begin(0, "GET", "/healthz").there);
  *many[7].gone = true;
  *many[8].room = 10'000;
  stand.run(milliseconds(2));
  EXPECT_TRUE(*other.there) << "he waits for one piece of hers";
  EXPECT_EQ(other.json()["jobs"].size(), 50U);
  EXPECT_FALSE(*many[0].there);
  stand.run(milliseconds(20));
  ASSERT_TRUE(*many[0].there);
  EXPECT_FALSE(*many[1].there) << "one of hers at a time";
  stand.run(milliseconds(400));
  const Json jobs = many[0].json()["jobs"];
  ASSERT_EQ(jobs.size(), 2700U);
  for (std::size_t i = 1; i < jobs.size(); ++i)
    ASSERT_GT(jobs[i - 1]["id"].get<JobNumber>(), jobs[i]["id"].get<JobNumber>());
  EXPECT_EQ(jobs[0]["started_at"], "1970-01-01T00:02:00.000Z") << "of the latest attempt";
  for (std::size_t i = 0; i < many.size(); ++i) {
    EXPECT_EQ(*many[i].there, i != 7) << i;
    EXPECT_EQ(many[i].response->status, i == 8 ? 429 : 200) << i;
  }
  EXPECT_EQ(stand.posted(), 0U);
  for (const char* page : {"limit=101", "limit=100&before=2000", "limit=199", "limit=1&before=2"}) {
    const Json some =
        stand.ask(0, "GET", fmt::format("/v1/jobs?all=1&user=all&{}", page)).json()["jobs"];
    EXPECT_EQ(some.size(), *parse_integer(split(std::string_view(page).substr(6), '&')[0])) << page;
  }
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs?state=failed").json()["jobs"][0]["id"], 3);
  EXPECT_TRUE(stand.ask(bob, "GET", "/v1/jobs?state=failed").json()["jobs"].empty());
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/jobs?state=finished&limit=250").json()["jobs"].size(), 250U);
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/jobs?state=finished&limit=400").json()["jobs"].size(), 300U);
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/jobs?user=nobody-of-this-name").response->status, 403);
}

TEST(Service, EventsAsJsonAreLookedThroughInPieces) {
  ServiceStand stand;
  StoreBatch batch;
  JobRecord job;
  job.number = 1;
  batch.jobs.push_back(job);
  batch.commands.emplace_back(1, JobCommand{{"true"}, {}, "/"});
  const std::int64_t before = (*stand.store().load()).last_event;
  for (std::int64_t i = 1; i <= 3000; ++i)
    batch.events.push_back({.number = before + i,
                            .kind = "job-started",
                            .job = 1,
                            .uid = i > 2999 ? bob : 77,
                            .gpu = {},
                            .text = {}});
  ASSERT_TRUE(stand.store().write(batch, Durability::synced));
  const Asked asked =
      stand.begin(bob, "GET", fmt::format("/v1/events?format=json&after={}", before));
  stand.run(milliseconds(3));
  EXPECT_FALSE(*asked.there) << "not all of them in one turn";
  stand.run(milliseconds(20));
  ASSERT_TRUE(*asked.there);
  ASSERT_EQ(asked.json()["events"].size(), 1U);
  EXPECT_EQ(asked.json()["events"][0]["id"], before + 3000);
  const Json all = stand.ask(0, "GET", "/v1/events?format=json&after=0").json()["events"];
  EXPECT_EQ(all.size(), 1000U);
}

TEST(Service, UsersHaveTheirShareOfTheLineAndOfPriorities) {
  ServiceStand stand;
  ServiceSettings settings{"", true, "laws"};
  settings.most_waiting_per_user = 3;
  stand.service().set_settings(settings);
  stand.ask(0, "POST", "/v1/pause");
  const auto with = [](std::int64_t priority) {
    Json body = Json::parse(plain_job);
    body["priority"] = priority;
    return body.dump();
  };
  if (ada() != 0 && ::geteuid() == 0) {
    const Asked refused = stand.ask(ada(), "POST", "/v1/jobs", with(1));
    EXPECT_EQ(refused.response->status, 403);
    EXPECT_EQ(refused.json()["error"]["message"], "only operators may give more than 0");
    EXPECT_EQ(stand.ask(0, "POST", "/v1/jobs", with(1'000'000)).response->status, 201);
  }
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", with(-i)).response->status, 201);
  // Unwritten ones count too.
  const Asked third = stand.begin(ada(), "POST", "/v1/jobs", plain_job),
              fourth = stand.begin(ada(), "POST", "/v1/jobs", plain_job);
  EXPECT_TRUE(*fourth.there);
  EXPECT_EQ(fourth.response->status, 429);
  stand.check("POST", "/v1/jobs", fourth);
  stand.run(milliseconds(5));
  EXPECT_EQ(third.response->status, 201);
  EXPECT_EQ(stand.ask(bob, "POST", "/v1/jobs", plain_job).response->status, 201)
      << "others have theirs";
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(stand.ask(0, "POST", "/v1/jobs", plain_job).response->status, 201) << "operators";
  stand.ask(ada(), "POST", fmt::format("/v1/jobs/{}/cancel", third.json()["id"].get<JobNumber>()));
  stand.run(milliseconds(200));
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 201);
  settings.highest_priority = 7;
  settings.most_waiting_per_user = 100;
  stand.service().set_settings(settings);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", with(7)).response->status, 201);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", with(8)).response->status, ada() == 0 ? 201 : 403);
}

/// With a key.
Asked submit_with(ServiceStand& stand, std::uint32_t uid, const std::string& key,
                  const std::string& body) {
  stand.next_key = key;
  return stand.ask(uid, "POST", "/v1/jobs", body);
}

TEST(Service, OfSubmissionsWithOneKeyOneIsTaken) {
  ServiceStand stand;
  stand.service().set_settings({"", true, "laws"});
  const Asked first = submit_with(stand, ada(), "one", plain_job);
  EXPECT_EQ(first.response->status, 201);
  EXPECT_EQ(first.json()["id"], 1);
  const Asked again = submit_with(stand, ada(), "\"one\"", plain_job);
  EXPECT_EQ(again.response->status, 200) << again.response->body;
  EXPECT_EQ(again.json()["id"], 1);
  EXPECT_EQ(again.json()["command"], Json::array({"true"}));
  // The order of keys is no matter, nor is what the daemon ignores.
  Json turned = Json::object();
  const Json plain = Json::parse(plain_job);
  for (auto each = plain.rbegin(); each != plain.rend(); ++each) turned[each.key()] = *each;
  turned["x-sent"] = 2;
  EXPECT_EQ(submit_with(stand, ada(), "one", turned.dump()).response->status, 200);
  for (const char* key : {"command", "environment"}) {
    Json other = plain;
    other[key].push_back("A=b");
    const Asked refused = submit_with(stand, ada(), "one", other.dump());
    EXPECT_EQ(refused.response->status, 422) << key;
    EXPECT_EQ(refused.json()["error"]["message"],
              "job 1 was submitted with this key, and is another job");
  }
  EXPECT_EQ(submit_with(stand, ada(), "two", plain_job).json()["id"], 2);
  EXPECT_EQ(submit_with(stand, 0, "one", plain_job).json()["id"], 3) << "keys are a user's own";
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).json()["id"], 4) << "none is no key";
  // Neither is it taken again when it is over.
  stand.run(std::chrono::seconds(60));
  ASSERT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1").json()["ended_at"].is_null(), false);
  EXPECT_EQ(submit_with(stand, ada(), "one", plain_job).json()["id"], 1);
  for (const std::string& wrong : {std::string(), std::string("\"\""), std::string("a\tb"),
                                   std::string(256, 'a'), std::string("\xc3\xa4")}) {
    const Asked refused = submit_with(stand, ada(), wrong, plain_job);
    EXPECT_EQ(refused.response->status, 400) << wrong;
    EXPECT_EQ(refused.json()["error"]["place"], "Idempotency-Key");
  }
  EXPECT_EQ(submit_with(stand, ada(), std::string(255, 'a'), plain_job).response->status, 201);
}

Json array_of(const std::string& indices) {
  Json body = Json::parse(plain_job);
  body["array"] = indices;
  body["command"] = Json::array({"true", "{index}"});
  return body;
}

TEST(Service, AnArrayIsOneSubmissionAndManyJobs) {
  ServiceStand stand;
  stand.service().set_settings({"", true, "laws"});
  stand.ask(0, "POST", "/v1/pause");
  stand.ask(ada(), "POST", "/v1/jobs", plain_job);
  const Json body = array_of("1-9:4%2");
  const Asked first = submit_with(stand, ada(), "one", body.dump());
  EXPECT_EQ(first.response->status, 201);
  EXPECT_EQ(first.json()["id"], 2);
  EXPECT_EQ(first.json()["command"], Json::array({"true", "1"}));
  EXPECT_EQ(first.json()["array"],
            Json::parse(R"({"job":2,"index":1,"tasks":3,"at_once":2,"last":4})"));
  EXPECT_EQ(submit_with(stand, ada(), "one", body.dump()).json()["id"], 2) << "once more";
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).json()["id"], 5);
  const Json listed = stand.ask(ada(), "GET", "/v1/jobs?array=2").json()["jobs"];
  ASSERT_EQ(listed.size(), 3U);
  EXPECT_EQ(listed[0]["id"], 4);
  EXPECT_EQ(listed[0]["array"]["index"], 9);
  stand.ask(ada(), "POST", "/v1/jobs/2/cancel");
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs?array=2").json()["jobs"].size(), 2U);
  for (const char* query : {"all=1&array=2", "all=1&array=2&limit=2", "array=2&state=cancelled"})
    EXPECT_GE(stand.ask(ada(), "GET", fmt::format("/v1/jobs?{}", query)).json()["jobs"].size(), 1U)
        << query;
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs?all=1&array=2").json()["jobs"].size(), 3U);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs?array=1").response->status, 404) << "it is a job";
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/jobs?array=2").response->status, 404);
  Json lease = array_of("1-3");
  lease["lease"] = Json::object();
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", lease.dump()).json()["error"]["place"],
            "submission: array");
}

TEST(Service, SeveralSubmissionsAreTakenTogether) {
  ServiceStand stand;
  ServiceSettings settings{"", true, "laws"};
  settings.most_waiting_per_user = 6;
  stand.service().set_settings(settings);
  stand.ask(0, "POST", "/v1/pause");
  const auto send = [&](const Json& list, Json common = Json::parse(plain_job)) {
    return stand.ask(bob, "POST", "/v1/submissions",
                     Json{{"submissions", list}, {"common", std::move(common)}}.dump());
  };
  const Json one = {{"name", "a"}, {"priority", -2}};
  const Asked taken = send(Json::array({one, {{"array", "0-1"}}, {{"memory_mib", 4096}}}));
  EXPECT_EQ(taken.response->status, 201) << taken.response->body;
  EXPECT_EQ(taken.json()["jobs"], Json::array({1, 2, 3, 4}));
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/jobs/1").json()["priority"], -2);
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/jobs/3").json()["array"]["job"], 2);
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/jobs/4").json()["name"], "one") << "as is common";
  const auto refused = [&](const Json& list, int status, const char* place) {
    const Asked asked = send(list);
    EXPECT_EQ(asked.response->status, status) << asked.response->body;
    EXPECT_EQ(asked.json()["error"]["place"], place);
  };
  refused(Json::array({one, {{"memory_mib", 0}}}), 400, "submission 2: memory_mib");
  refused(Json::array({one, {{"profile", "7g.80gb"}}}), 409, "submission 2: the request");
  refused(Json::array({one, one, one}), 429, "the queue");
  refused(Json::array({one, {{"after", {"ok:#3"}}}}), 400, "submission 2: after");
  refused(Json::array({one, {{"after", {"soon:#1"}}}}), 400, "submission 2: after");
  refused(Json::array({{{"after", {"ok:#2"}}}, {{"after", {"any:#1"}}}}), 400,
          "submission 1: after");
  refused(Json::array(), 400, "submissions");
  refused(Json::array({one, 5}), 400, "submissions: submissions[1]");
  if (::geteuid() == 0)
    refused(Json::array({one, {{"priority", 3}}}), 403, "submission 2: priority");
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/jobs").json()["jobs"].size(), 4U) << "none of these";
  const Json linked{{"submissions", {one, {{"after", {"ok:#1", "any:4"}}}}},
                    {"common", Json::parse(plain_job)},
                    {"at_once", 1}};
  EXPECT_EQ(stand.ask(bob, "POST", "/v1/submissions", linked.dump()).response->status, 201);
  EXPECT_EQ(stand.ask(bob, "GET", "/v1/jobs/6").json()["after"], Json::array({"any:4", "ok:5"}));
}

TEST(Service, OneThatIsSentTwiceBeforeItIsWrittenIsTakenOnce) {
  ServiceStand stand;
  ServiceSettings settings{"", true, "laws"};
  settings.most_waiting_per_user = 1;
  stand.service().set_settings(settings);
  stand.ask(0, "POST", "/v1/pause");
  std::vector<Asked> all;
  for (int i = 0; i < 3; ++i) {
    stand.next_key = "one";
    all.push_back(stand.begin(ada(), "POST", "/v1/jobs", plain_job));
    EXPECT_FALSE(*all.back().there) << "none is answered before it is written";
  }
  stand.run(milliseconds(5));
  for (const Asked& each : all) {
    ASSERT_TRUE(*each.there);
    stand.check("POST", "/v1/jobs", each);
    EXPECT_EQ(each.json()["id"], 1) << "although the user may have one job only";
  }
  EXPECT_EQ(all[0].response->status, 201);
  EXPECT_EQ(all[2].response->status, 200);
  // Where it cannot be written none is taken, and the next try may be.
  ServiceStand full;
  full.next_key = "one";
  const Asked refused = full.begin(ada(), "POST", "/v1/jobs", plain_job);
  full.next_key = "one";
  const Asked beside = full.begin(ada(), "POST", "/v1/jobs", plain_job);
  full.disk().fail_writes(1);
  full.run(milliseconds(5));
  EXPECT_EQ(refused.response->status, 503);
  EXPECT_EQ(beside.response->status, 503);
  full.run(std::chrono::seconds(3));
  EXPECT_EQ(submit_with(full, ada(), "one", plain_job).response->status, 201);
  full.disk().fail_reads(1);
  EXPECT_EQ(submit_with(full, ada(), "one", plain_job).response->status, 503)
      << "whether it was taken is not known";
}

TEST(Service, JobsHaveATimeLimitOfTheirOwnOrTheDaemons) {
  ServiceStand stand;
  const auto limit_of = [&](std::uint32_t uid, std::optional<double> asked) -> Json {
    Json body = Json::parse(plain_job);
    if (asked) body["time_limit_s"] = *asked;
    const Asked answer = stand.ask(uid, "POST", "/v1/jobs", body.dump());
    return answer.response->status == 201 ? answer.json()["time_limit_s"]
                                          : answer.json()["error"]["message"];
  };
  EXPECT_EQ(limit_of(0, {}), nullptr);
  EXPECT_EQ(limit_of(0, 2.5), 2.5);
  ServiceSettings settings{"", true, "laws"};
  settings.job_time_default = std::chrono::seconds(60);
  stand.service().set_settings(settings);
  EXPECT_EQ(limit_of(0, {}), 60.0);
  EXPECT_EQ(limit_of(0, 1e6), 1e6);
  settings.job_time_most = std::chrono::seconds(90);
  stand.service().set_settings(settings);
  EXPECT_EQ(limit_of(0, 1e6), 1e6) << "operators";
  if (ada() == 0 || ::geteuid() != 0) return;
  EXPECT_EQ(limit_of(ada(), {}), 60.0);
  EXPECT_EQ(limit_of(ada(), 90), 90.0);
  EXPECT_EQ(limit_of(ada(), 91), "a job may run for 1 min 30 s at most");
  settings.job_time_default = std::nullopt;
  stand.service().set_settings(settings);
  EXPECT_EQ(limit_of(ada(), {}), 90.0) << "there is none without a limit";
  EXPECT_EQ(limit_of(0, {}), nullptr);
  Json service = Json::parse(plain_job);
  service["service"] = {{"replicas", 1}};
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", service.dump()).json()["time_limit_s"], nullptr);
  service["time_limit_s"] = 3;
  const Asked refused = stand.ask(ada(), "POST", "/v1/jobs", service.dump());
  EXPECT_EQ(refused.response->status, 400);
  EXPECT_EQ(refused.json()["error"]["place"], "submission: time_limit_s");
}

TEST(Service, OfAJobThatIsRunOftenTheLatestAttemptsAreShown) {
  ServiceStand stand;
  Json body = Json::parse(plain_job);
  body["retries"] = 1000;
  stand.ask(ada(), "POST", "/v1/jobs", body.dump());
  stand.run(milliseconds(50));
  StoreBatch batch;
  JobRecord job = **stand.store().job(1);
  job.attempts = 300;
  batch.jobs.push_back(job);
  for (std::int64_t number = 2; number <= 300; ++number) {
    AttemptRecord& attempt = batch.attempts.emplace_back();
    attempt.key = {1, number};
    attempt.ended = Instant{};
  }
  ASSERT_TRUE(stand.store().write(batch, Durability::synced));
  const Json shown = stand.ask(ada(), "GET", "/v1/jobs/1").json();
  ASSERT_EQ(shown["history"].size(), 100U);
  EXPECT_EQ(shown["history"][99]["attempt"], 300);
}

TEST(Service, ServesMembersOfAllowedGroupsAndOperators) {
  if (ada() == 0 || ::geteuid() != 0) GTEST_SKIP() << "only root's daemon has other users";
  ServiceStand stand;
  ServiceSettings settings{"", true, "laws"};
  settings.allowed_groups = {"root", "no-such-group"};
  stand.service().set_settings(settings);
  for (const char* path : {"/v1/jobs", "/v1/status", "/v1/gpus", "/v1/events?format=json"}) {
    const Asked refused = stand.ask(ada(), "GET", path);
    EXPECT_EQ(refused.response->status, 403) << path;
    EXPECT_EQ(refused.json()["error"]["message"], "you are in none of the groups that are served");
    EXPECT_EQ(stand.ask(0, "GET", path).response->status, 200) << path;
  }
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 403);
  EXPECT_EQ(stand.ask(ada(), "GET", "/healthz").response->status, 200) << "monitors need no group";
  settings.allowed_groups = {};
  stand.service().set_settings(settings);
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", plain_job).response->status, 201);
}

TEST(Service, AJobWhoseUserIsGoneFailsAndSaysSo) {
  ServiceStand stand;
  stand.look_up_owner = [](const JobOwner& owner) -> Result<JobOwner> {
    return fail(ErrorKind::infeasible, "", fmt::format("uid {} is gone", owner.uid));
  };
  stand.ask(ada(), "POST", "/v1/jobs", plain_job);
  const Json gone = stand.ask(ada(), "GET", "/v1/jobs/1/wait?timeout_s=100").json();
  EXPECT_EQ(gone["state"], "failed");
  EXPECT_EQ(gone["reason"], fmt::format("it could not be started: uid {} is gone", ada()));
  EXPECT_EQ(gone["attempts"], 1) << "it is not tried again";
  EXPECT_EQ(gone["history"][0]["end"], "not-started") << gone;
  stand.look_up_owner = [](JobOwner owner) -> Result<JobOwner> {
    owner.groups = {4711};
    return owner;
  };
  stand.ask(ada(), "POST", "/v1/jobs", plain_job);
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/2/wait?timeout_s=100").json()["state"], "finished");
  EXPECT_EQ(stand.jobs().launch_of({2, 1}).groups, std::vector<std::uint32_t>{4711});
}

TEST(Service, WaitsUntilTheTimeIsUp) {
  ServiceStand stand;
  stand.jobs().plan({1, 1}, runs_for(std::chrono::seconds(10)));
  stand.ask(ada(), "POST", "/v1/jobs", plain_job);
  stand.run(milliseconds(200));
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/wait?timeout_s=1").json()["state"], "running");
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/wait?timeout_s=0").json()["state"], "running");
  const Asked gone = stand.begin(ada(), "GET", "/v1/jobs/1/wait?timeout_s=100");
  EXPECT_TRUE(stand.service().waits());
  *gone.gone = true;
  stand.run(milliseconds(10));
  EXPECT_FALSE(stand.service().waits()) << "nobody is waited for who has hung up";
}

TEST(Service, FollowsOutput) {
  ServiceStand stand;
  stand.jobs().plan({1, 1}, runs_for(std::chrono::seconds(3)));
  EXPECT_EQ(stand.ask(0, "POST", "/v1/pause").response->status, 200);
  stand.ask(ada(), "POST", "/v1/jobs", plain_job);
  const Asked early = stand.ask(ada(), "GET", "/v1/jobs/1/logs");
  EXPECT_EQ(early.header("Cleave-Attempt"), "0");
  EXPECT_EQ(early.header("Cleave-Over"), "");
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/logs?attempt=1").response->status, 404);
  EXPECT_EQ(stand.ask(0, "POST", "/v1/resume").response->status, 200);
  stand.run(milliseconds(500));
  const Asked waits = stand.begin(ada(), "GET", "/v1/jobs/1/logs?wait_s=60");
  stand.run(milliseconds(100));
  EXPECT_FALSE(*waits.there);
  stand.write_output("1.1", ada(), "hello\n");
  stand.run(milliseconds(100));
  ASSERT_TRUE(*waits.there);
  stand.check("GET", "/v1/jobs/1/logs", waits);
  EXPECT_EQ(waits.response->body, "hello\n");
  EXPECT_EQ(waits.header("Cleave-Next-Offset"), "6");
  EXPECT_EQ(waits.header("Cleave-Over"), "");
  stand.ask(ada(), "GET", "/v1/jobs/1/wait?timeout_s=60");
  stand.write_output("1.1", ada(), "more");
  const Asked rest = stand.ask(ada(), "GET", "/v1/jobs/1/logs?offset=6&wait_s=60");
  EXPECT_EQ(rest.response->body, "more");
  EXPECT_EQ(rest.header("Cleave-Over"), "true");
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/logs?offset=-2").response->body, "re");
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/logs?offset=1000").header("Cleave-Offset"), "10");
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/logs?stream=stderr").response->body, "");
  EXPECT_EQ(stand.ask(ada(), "GET", "/v1/jobs/1/logs?offset=-9223372036854775808")
                .header("Cleave-Offset"),
            "0");
}

std::vector<std::int64_t> ids_in(const std::string& text) {
  std::vector<std::int64_t> ids;
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with("id: ")) ids.push_back(parse_integer(line.substr(4)).value_or(-1));
  return ids;
}

std::shared_ptr<HeardStream> follow(ServiceStand& stand, std::uint32_t uid,
                                    const std::string& target, const std::string& last_id = {},
                                    bool stuck = false) {
  const Asked asked = stand.begin(uid, "GET", target, "", last_id);
  EXPECT_EQ(asked.response->content_type, "text/event-stream");
  auto stream = std::make_shared<HeardStream>();
  stream->stuck = stuck;
  asked.response->stream(stream);
  return stream;
}

TEST(Service, EventsAreHeardOnceInOrderAndResumed) {
  ServiceStand stand;
  const auto now = follow(stand, ada(), "/v1/events"), root = follow(stand, 0, "/v1/events"),
             other = follow(stand, bob, "/v1/events"),
             stuck = follow(stand, ada(), "/v1/events", "", true);
  for (int i = 0; i < 150; ++i) stand.begin(ada(), "POST", "/v1/jobs", plain_job);
  stand.run(milliseconds(500));
  for (int i = 1; i <= 100; ++i) stand.begin(ada(), "POST", fmt::format("/v1/jobs/{}/cancel", i));
  stand.run(milliseconds(500));
  const auto mine = ids_in(now->text);
  ASSERT_GT(mine.size(), 250U);
  for (std::size_t i = 0; i < mine.size(); ++i)
    ASSERT_EQ(mine[i], static_cast<std::int64_t>(i) + mine[0]);
  EXPECT_EQ(root->text, now->text);
  EXPECT_EQ(stuck->text, now->text);
  EXPECT_EQ(stuck->sent.front(), now->sent.front()) << "made once for all";
  EXPECT_LT(ids_in(other->text).size(), mine.size());
  EXPECT_EQ(other->text.find("\"job\":1"), std::string::npos);
  // From the beginning, read piece by piece; meanwhile more happens.
  const auto late = follow(stand, ada(), "/v1/events?after=0", "", true);
  for (int i = 0; i < 5; ++i) {
    stand.begin(ada(), "POST", "/v1/jobs", plain_job);
    stand.run(milliseconds(2));
    late->read_all();
  }
  stand.run(milliseconds(10));
  for (int i = 0; i < 10; ++i) {
    late->read_all();
    stand.run(milliseconds(2));
  }
  const auto all = ids_in(late->text);
  ASSERT_FALSE(all.empty());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i) + 1);
  EXPECT_EQ(all.back(), ids_in(now->text).back());
  // The header takes precedence over the query.
  const auto again = follow(stand, ada(), "/v1/events?after=1", "5");
  stand.run(milliseconds(2));
  ASSERT_FALSE(again->text.empty());
  EXPECT_EQ(ids_in(again->text).front(), 6);
  // Other users' events are skipped, a piece a turn, until there is one to send.
  const auto others = follow(stand, bob, "/v1/events?after=0");
  stand.run(milliseconds(20));
  EXPECT_EQ(ids_in(others->text).back(),
            ids_in(other->text).empty() ? ids_in(others->text).back() : ids_in(other->text).back());
  EXPECT_EQ(others->text.find("\"job\":1"), std::string::npos);
  const auto beyond = follow(stand, ada(), "/v1/events?after=99999999");
  EXPECT_TRUE(beyond->text.empty());
  for (const std::string_view line : split(now->text, '\n')) {
    if (!line.starts_with("data: ")) continue;
    const Json event = Json::parse(line.substr(6));
    const auto wrong = stand.schemas().check({{"$ref", "#/components/schemas/Event"}}, event);
    EXPECT_TRUE(wrong.empty()) << wrong[0];
  }
}

TEST(Service, EventsOfABurstComeInPiecesAndOnce) {
  ServiceStand stand;
  const auto last_there = [&] {
    return stand.ask(ada(), "GET", "/v1/events?format=json")
        .json()["events"]
        .back()["id"]
        .get<std::int64_t>();
  };
  stand.run(milliseconds(100));
  const auto first = follow(stand, ada(), "/v1/events");
  stand.begin(ada(), "POST", "/v1/jobs", plain_job);
  stand.run(milliseconds(10));
  EXPECT_FALSE(first->text.empty()) << "after a calm at once";
  for (int i = 0; i < 50; ++i) {
    stand.begin(ada(), "POST", "/v1/jobs", plain_job);
    stand.run(milliseconds(2));
  }
  const std::int64_t before = last_there();
  const auto second =
      follow(stand, ada(), "/v1/events");  // while the first still has some to receive
  for (int i = 0; i < 50; ++i) {
    stand.begin(ada(), "POST", "/v1/jobs", plain_job);
    stand.run(milliseconds(2));
  }
  stand.run(milliseconds(30));
  const auto all = ids_in(first->text), later = ids_in(second->text);
  ASSERT_GT(all.size(), 100U);
  EXPECT_LT(first->sent.size(), 20U) << "in 240 ms";
  for (std::size_t i = 1; i < all.size(); ++i) ASSERT_EQ(all[i], all[i - 1] + 1);
  ASSERT_FALSE(later.empty());
  EXPECT_EQ(later.front(), before + 1);
  EXPECT_TRUE(std::ranges::equal(later, std::span(all).last(later.size())));
  EXPECT_EQ(all.back(), last_there());
}

TEST(Service, WritesAnAuditOfWhatChanges) {
  ServiceStand stand;
  stand.ask(ada(), "POST", "/v1/jobs", plain_job);
  stand.ask(ada(), "GET", "/v1/jobs/1");
  stand.ask(bob, "POST", "/v1/jobs/1/cancel");
  stand.ask(bob, "POST", "/v1/jobs", "{");
  std::vector<Json> lines;
  const std::string text = stand.audit();
  for (const std::string_view line : split(trimmed(text), '\n')) lines.push_back(Json::parse(line));
  ASSERT_EQ(lines.size(), 3U) << text;
  EXPECT_EQ(lines[0]["decision"], "allowed");
  EXPECT_EQ(lines[0]["uid"], ada());
  EXPECT_EQ(lines[0]["result"], "job 1");
  EXPECT_EQ(lines[1]["decision"], "refused");
  EXPECT_EQ(lines[1]["path"], "/v1/jobs/1/cancel");
  EXPECT_EQ(lines[2]["decision"], "not understood");
}

TEST(Service, TakesSubmissionsAsTheDescriptionSays) {
  ServiceStand stand;
  const Json& schema = stand.description()["components"]["schemas"]["Submission"];
  const Json good = Json::parse(plain_job);
  const std::pair<const char*, Json> fine[] = {
      {"profile", "2g.10gb"},
      {"memory_mib", 1},
      {"model", {{"name", "m"}, {"memory_mib", 5}}},
      {"priority", -5},
      {"deadline_s", 0.5},
      {"retries", 1000},
      {"restartable", true},
      {"progress", "checkpoint"},
      {"checkpoint_signal", 10},
      {"checkpoint_grace_s", 20},
      {"stop_grace_s", 0},
      {"out_of_memory_code", 77},
      {"application", "resnet"},
      {"batch", 64},
      {"expected_s", 0.001},
      {"gpus", 2},
      {"together", "anywhere"},
      {"array", "1-3,7%2"},
      {"after", Json::array({"any:1"})},
      {"output", "logs/%j.out"},
      {"error", "/tmp/%%"},
      {"name", "\xc3\xa9t\xc3\xa9 $(rm -rf /) ; `x`"},
      {"environment", Json::array({"A=\x1b]0;title\x07", "B=$(reboot)"})},
  };
  for (const auto& [key, value] : fine) {
    Json body = good;
    body[key] = value;
    EXPECT_TRUE(stand.schemas().check(schema, body).empty()) << key;
    const Asked asked = stand.ask(ada(), "POST", "/v1/jobs", body.dump());
    EXPECT_EQ(asked.response->status, 201) << key << asked.response->body;
  }
  const std::pair<const char*, Json> wrong[] = {
      {"command", Json::array()},
      {"command", Json::array({""})},
      {"command", "true"},
      {"command", Json::array({std::string("a\0b", 3)})},
      {"command", Json::array({"a", std::string(200'000, 'x')})},
      {"environment", Json::array({"novalue"})},
      {"environment", Json::array({"=x"})},
      {"directory", "relative"},
      {"directory", ""},
      {"directory", "/" + std::string(5000, 'x')},
      {"name", std::string(257, 'x')},
      {"name", "a\nb"},
      {"name", "\x1b[2J"},
      {"profile", "a\tb"},
      {"memory_mib", 0},
      {"memory_mib", std::int64_t{1} << 40},
      {"memory_mib", 1.5},
      {"compute_slices", 2},
      {"model", {{"name", "m"}}},
      {"model", {{"name", "m"}, {"memory_mib", 5}, {"more", 1}}},
      {"priority", 1e9},
      {"deadline_s", -1},
      {"deadline_s", 1e300},
      {"retries", -1},
      {"retries", 1001},
      {"restartable", "yes"},
      {"progress", "some"},
      {"progress", true},
      {"checkpoint_signal", 9},
      {"checkpoint_signal", 65},
      {"checkpoint_grace_s", 1e6},
      {"stop_grace_s", 1e6},
      {"out_of_memory_code", 0},
      {"batch", 0},
      {"expected_s", 0},
      {"uid", 0},
      {"gpus", 0},
      {"gpus", "2"},
      {"instances", 2},
      {"instances", "2x1g.5gb"},
      {"together", "node"},
      {"together", "apart"},
      {"service", true},
      {"service", {{"replicas", 0}}},
      {"service", {{"load", Json::array()}}},
      {"lease", {{"then", "shrink"}}},
      {"lease", {{"idle_after_s", -1}}},
      {"array", "3-1"},
      {"array", 3},
      {"after", Json::array({"done:1"})},
      {"after", "ok:1"},
      {"after", Json::array({"ok:999999"})},
      {"output", "%q"},
      {"error", "logs/"},
  };
  // What the description cannot say: lengths of all arguments together, bytes of an argument, and
  // rules of one value by another.
  const std::set<std::string> unsaid = {
      "command", "directory", "together", "lease", "checkpoint_signal",
      "array",   "after",     "output",   "error"};
  for (const auto& [key, value] : wrong) {
    Json body = good;
    body[key] = value;
    if (!unsaid.contains(key) && value != Json(1e300)) {
      EXPECT_FALSE(stand.schemas().check(schema, body).empty()) << key << value;
    }
    EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", body.dump()).response->status, 400)
        << key << value;
  }
  Json both = good;
  both["profile"] = "1g.5gb";
  both["memory_mib"] = 5;
  EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", both.dump()).response->status, 400);
  EXPECT_FALSE(stand.schemas().check(schema, both).empty());
  const Json& scheduler = stand.description()["components"]["schemas"]["Scheduler"];
  for (const char* each : {"online", "adaptive:patience=3"})
    EXPECT_TRUE(stand.schemas().check(scheduler, {{"scheduler", each}}).empty()) << each;
  for (const char* each : {"", "fastest", "online:", "online,adaptive"}) {
    EXPECT_FALSE(stand.schemas().check(scheduler, {{"scheduler", each}}).empty()) << each;
    EXPECT_EQ(
        stand.ask(0, "PUT", "/v1/scheduler", Json{{"scheduler", each}}.dump()).response->status,
        400)
        << each;
  }
  for (const char* key : {"command", "environment", "directory"}) {
    Json body = good;
    body.erase(key);
    EXPECT_EQ(stand.ask(ada(), "POST", "/v1/jobs", body.dump()).response->status, 400) << key;
  }
}

TEST(Service, CarriesPlansOut) {
  ServiceStand stand;
  Json submission = Json::object();
  submission["command"] = Json::array({"work"});
  submission["environment"] = Json::array({"PATH=/bin"});
  submission["directory"] = "/";
  submission["profile"] = "3g.20gb";
  submission["movable"] = true;
  stand.ask(ada(), "POST", "/v1/jobs", submission.dump());
  FakeCourse course;
  course.runs = std::chrono::hours(1);
  for (std::int64_t attempt = 1; attempt < 4; ++attempt) stand.jobs().plan({1, attempt}, course);
  stand.run(std::chrono::seconds(5));
  const Json fleet = stand.ask(0, "GET", "/v1/fleet").json();
  ASSERT_EQ(fleet["work"].size(), 1U) << fleet.dump(1);
  EXPECT_EQ(fleet["work"][0]["workload"], "job-1");
  EXPECT_EQ(fleet["work"][0]["way"], "replica");
  EXPECT_EQ(fleet["gpus"].size(), 2U);
  EXPECT_EQ(fleet["creates"]["count"], 1) << "how long its instance took to be made was heard";
  EXPECT_TRUE(fleet["destroys"].is_null()) << fleet.dump(1);
  const Json job = stand.ask(ada(), "GET", "/v1/jobs/1").json();
  const Json from{
      {"gpu", job["instance"]["gpu"]}, {"profile", "3g.20gb"}, {"start", job["instance"]["start"]}};
  Json to = from;
  to["gpu"] = job["instance"]["gpu_index"] == 0 ? "1" : "0";
  const Json move{{"wave", 1}, {"job", 1}, {"from", from}, {"to", to}};
  Json order{{"kind", "by hand"}};
  order["moves"].push_back(move);
  const auto begun = stand.ask(0, "POST", "/v1/plans", order.dump());
  ASSERT_EQ(begun.response->status, 201) << begun.response->body;
  EXPECT_EQ(stand.ask(0, "POST", "/v1/plans", order.dump()).response->status, 409);
  stand.run(std::chrono::seconds(20));
  const Json plan = stand.ask(0, "GET", "/v1/plans/1").json();
  EXPECT_EQ(plan["state"], "finished") << plan.dump(1);
  EXPECT_EQ(plan["freed"], 1);
  EXPECT_EQ(stand.ask(0, "POST", "/v1/plans/1/cancel").response->status, 409);
  EXPECT_EQ(stand.ask(0, "GET", "/v1/plans").json()["plans"].size(), 1U);
  EXPECT_EQ(stand.ask(0, "GET", "/v1/plans?before=1").json()["plans"].size(), 0U);
}

TEST(Service, DamagedSubmissionsAndPathsAreRefusedAndNothingElse) {
  ServiceStand stand;
  Random random(9);
  const std::string whole =
      R"({"command":["python3","a b"],"environment":["A=b","C="],"directory":"/home/u",)"
      R"("name":"t","memory_mib":9216,"compute_slices":2,"priority":0,"deadline_s":3600,)"
      R"("retries":1,"restartable":true,"checkpoint_signal":10,"stop_grace_s":30,"model":null,)"
      R"("instances":2,"together":"gpu"})";
  const std::vector<std::string> targets = {"/v1/jobs",
                                            "/v1/jobs/1/cancel",
                                            "/v1/scheduler",
                                            "/v1/gpus/0/drain",
                                            "/v1/jobs?limit=3&all=1",
                                            "/v1/jobs/1/logs?offset=-3&stream=stderr&rank=1",
                                            "/v1/events?after=2"};
  const auto damage = [&](std::string text) {
    for (std::uint64_t n = random.below(4); n > 0 && !text.empty(); --n) {
      const std::size_t at = random.below(text.size());
      if (random.below(2) == 0)
        text[at] = static_cast<char>(random.below(256));
      else
        text.insert(at, text.substr(random.below(text.size()), random.below(30)));
    }
    return text;
  };
  int taken = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string target = damage(targets[random.below(targets.size())]);
    if (!parse_http_target(target)) continue;
    const char* methods[] = {"GET", "POST", "PUT", "DELETE"};
    const std::string method = methods[random.below(4)];
    const Asked asked =
        stand.begin(random.below(2) == 0 ? ada() : 0, method, target, damage(whole));
    for (int round = 0; round < 3 && !*asked.there; ++round) stand.run(milliseconds(1));
    if (!*asked.there) continue;  // a stream or a wait
    if (!asked.response->stream) stand.check(method, target, asked);
    taken += asked.response->status == 201 ? 1 : 0;
    ASSERT_NE(asked.response->status, 500) << method << " " << target << asked.response->body;
  }
  EXPECT_GT(taken, 3);
}

}  // namespace
}  // namespace cleave::trial
