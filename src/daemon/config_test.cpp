#include "daemon/config.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "base/random.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"
#include "daemon/config_check.hpp"
#include "forecast/time/application_times.hpp"

namespace cleave {
namespace {

std::string whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Config, TheSampleIsInTheDocumentation) {
  EXPECT_EQ(whole_file(source_dir() + "/docs/cleaved.toml"), sample_config())
      << "mend it with: cleaved --sample-config > docs/cleaved.toml";
}

/// The sample with every key in force.
std::string without_comments(const std::string& sample) {
  std::string text;
  for (const std::string_view line : split(sample, '\n')) {
    const bool is_key = line.starts_with('#') && !line.starts_with("# ");
    text += fmt::format("{}\n", is_key ? line.substr(1) : line);
  }
  return text;
}

TEST(Config, TheSampleSaysTheDefaults) {
  const std::string text = without_comments(sample_config());
  const auto config = parse_config(text, "sample.toml");
  ASSERT_TRUE(config) << config.error().text();
  const DaemonSettings none, &read = config->settings;
  EXPECT_TRUE(config_changes(default_config(), *config).empty())
      << fmt::format("{}", fmt::join(config_changes(default_config(), *config), "\n"));
  EXPECT_EQ(read.control.scheduler, none.control.scheduler);
  EXPECT_EQ(read.control.forecaster, none.control.forecaster);
  EXPECT_EQ(read.control.early_restarts_a_day, none.control.early_restarts_a_day);
  EXPECT_EQ(read.control.most_waiting, none.control.most_waiting);
  EXPECT_EQ(read.control.look_every, none.control.look_every);
  EXPECT_EQ(read.control.gpu_patience, none.control.gpu_patience);
  EXPECT_EQ(read.control.keep_idle, none.control.keep_idle);
  EXPECT_EQ(read.control.log_limit, none.control.log_limit);
  EXPECT_EQ(read.control.keep_jobs, none.control.keep_jobs);
  EXPECT_EQ(read.control.keep_bytes, none.control.keep_bytes);
  EXPECT_EQ(read.control.keep_per_user, none.control.keep_per_user);
  EXPECT_EQ(read.control.job_files, none.control.job_files);
  EXPECT_EQ(read.control.disk_marks, none.control.disk_marks);
  EXPECT_EQ(read.store_reserve, none.store_reserve);
  EXPECT_EQ(read.control.keep_events, none.control.keep_events);
  const HttpLimits &a = read.limits, &b = none.limits;
  EXPECT_EQ(std::tie(a.header_bytes, a.body_bytes, a.connections, a.connections_per_user,
                     a.bytes_per_user),
            std::tie(b.header_bytes, b.body_bytes, b.connections, b.connections_per_user,
                     b.bytes_per_user));
  EXPECT_EQ(std::tie(a.stream_bytes, a.request_time, a.idle_time, a.heartbeat, a.requests_per_s,
                     a.burst, a.bytes_per_s),
            std::tie(b.stream_bytes, b.request_time, b.idle_time, b.heartbeat, b.requests_per_s,
                     b.burst, b.bytes_per_s));
  EXPECT_EQ(read.allow_unfenced_users, none.allow_unfenced_users);
  EXPECT_EQ(read.allowed_groups, none.allowed_groups);
  EXPECT_EQ(read.most_waiting_per_user, none.most_waiting_per_user);
  EXPECT_EQ(read.highest_priority, none.highest_priority);
  EXPECT_EQ(read.job_time_default, none.job_time_default);
  EXPECT_EQ(read.job_time_most, none.job_time_most);
  EXPECT_EQ(read.may_switch_mig, none.may_switch_mig);
}

TEST(Config, ReadsWhatIsGiven) {
  const auto config = parse_config(
      "managed_gpus = [0, \"GPU-1\"]\nkeep_idle_s = 2.5\nout_of_memory_codes = [77]\n"
      "job_environment = [\"A=b\"]\nallow_unfenced_users = true\nhighest_priority = -3\n"
      "most_waiting_per_user = 9\njob_time_most_s = 7200\nrunning_per_user = 4\nslices_per_user = "
      "9\nallowed_groups = [\"users\", "
      "\"ml\"]\n[server]\nconnections = "
      "7\nidle_s = 5\n",
      "c.toml");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->settings.managed_gpus, (std::vector<std::string>{"0", "GPU-1"}));
  EXPECT_EQ(config->settings.control.keep_idle, std::chrono::milliseconds(2500));
  EXPECT_EQ(config->settings.control.out_of_memory_codes, std::vector<int>{77});
  EXPECT_TRUE(config->settings.allow_unfenced_users);
  EXPECT_EQ(config->settings.highest_priority, -3);
  EXPECT_EQ(config->settings.most_waiting_per_user, 9U);
  EXPECT_EQ(config->settings.job_time_most, std::chrono::hours(2));
  EXPECT_EQ(config->settings.job_time_default, std::nullopt) << "0 is none";
  EXPECT_EQ(config->settings.control.user_limits, (UserLimits{4, 9}));
  EXPECT_EQ(default_config().settings.control.user_limits, UserLimits{});
  EXPECT_EQ(config->settings.allowed_groups, (std::vector<std::string>{"users", "ml"}));
  EXPECT_EQ(config->settings.limits.connections, 7U);
  EXPECT_EQ(config->settings.limits.idle_time, std::chrono::seconds(5));
  const auto reserved = parse_config(
      "[[reservations]]\ngpu = 1\nfrom = 1970-01-02T00:00:10Z\n"
      "until = 1970-01-02T03:00:00+01:00\nname = \"ann\"\n",
      "c.toml");
  ASSERT_TRUE(reserved) << reserved.error().text();
  const auto hours = [](int count) { return Instant{std::chrono::hours(count)}; };
  EXPECT_EQ(
      reserved->settings.control.reservations,
      (std::vector<ReservedGpu>{{"1", hours(24) + std::chrono::seconds(10), hours(26), "ann"}}));
  EXPECT_EQ(parse_config("managed_gpus = \"all\"", "c.toml")->settings.managed_gpus,
            std::vector<std::string>{"all"});
}

TEST(Config, CompactionIsOffUnlessItIsSaid) {
  const auto of = [](const char* text) {
    const auto config = parse_config(text, "c.toml");
    EXPECT_TRUE(config) << config.error().text();
    return config->settings.control.compaction;
  };
  EXPECT_EQ(of(""), std::nullopt);
  EXPECT_EQ(of("compaction = \"off\""), std::nullopt);
  EXPECT_EQ(of("compaction = \"on\""), CompactionRules());
  EXPECT_EQ(of("compaction = {}"), CompactionRules());
  CompactionRules rules;
  rules.when_waiting = std::chrono::minutes(5);
  rules.gain = 3;
  rules.hours = DayHours{22 * 60, 6 * 60};
  EXPECT_EQ(of("[compaction]\nwhen_waiting = \"5 min\"\ngain = 3\nhours = \"22:00-06:00\""), rules);
}

TEST(Config, RefusesWithFileAndLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"\nmost_wating = 3", "c.toml:2: unknown key 'most_wating'; did you mean 'most_waiting'?"},
      {"most_waiting = 0",
       "c.toml:1: 'most_waiting' must be a whole number from 1 to 10000000, not 0"},
      {"most_waiting = 1.5", "c.toml:1: 'most_waiting' must be a whole number from 1 to 10000000"},
      {"most_waiting = \"3\"", "c.toml:1: 'most_waiting' must be a whole number"},
      {"look_every_s = nan", "c.toml:1: 'look_every_s' must be a number of seconds"},
      {"look_every_s = true", "c.toml:1: 'look_every_s' must be a number of seconds"},
      {"scheduler = 3", "c.toml:1: 'scheduler'"},
      {"managed_gpus = \"some\"",
       "c.toml:1: 'managed_gpus' must be a list of indices and UUIDs, or \"all\", not \"some\""},
      {"managed_gpus = [1.5]", "c.toml:1: 'managed_gpus'"},
      {"scheduler = \"miso\"\nreservations = [{gpu = 0, from = 2030-01-01T00:00:00Z, until = "
       "2030-01-02T00:00:00Z}]",
       "c.toml:1: scheduler 'miso': it keeps no GPU"},
      {"scheduler = \"scheme-a\"\nslices_per_user = 3",
       "c.toml:1: scheduler 'scheme-a': it knows no limits of what a user may have"},
      {"compaction = true", "c.toml:1: 'compaction' must be \"off\", \"on\", or {"},
      {"compaction = {when_wating = \"1 min\"}",
       "c.toml:1: compaction: compaction has no option 'when_wating'; did you mean "
       "'when_waiting'?"},
      {"compaction = {at_most = \"often\"}",
       "c.toml:1: compaction: at_most: 'often' is not a limit; write 1 move/30 min per job"},
      {"reservations = 1", "c.toml:1: 'reservations' must be a list of"},
      {"reservations = [{gpu = 0, from = 2030-01-01T00:00:00, until = 2030-01-02T00:00:00Z}]",
       "c.toml:1: 'reservations'"},
      {"reservations = [{gpu = 0, from = 2030-01-02T00:00:00Z, until = 2030-01-01T00:00:00Z}]",
       "c.toml:1: 'reservations'"},
      {"reservations = [{gpu = 0, from = 2030-01-01T00:00:00Z, until = 2030-01-02T00:00:00Z, "
       "nam = \"ann\"}]",
       "c.toml:1: 'reservations'"},
      {"reservations = [{gpu = 0, from = 9999-01-01T00:00:00Z, until = 9999-01-02T00:00:00Z}]",
       "c.toml:1: 'reservations'"},
      {"managed_gpus = [-1]", "'-1' is neither an index nor a UUID"},
      {"managed_gpus = [\"\"]", "'' is neither an index nor a UUID"},
      {"managed_gpus = [0, 1, 0]", "'0' is named twice"},
      {"most_waiting = 5\nmost_waiting_per_user = 6",
       "c.toml:2: 'most_waiting_per_user' is 6, and 'most_waiting', of all users, is 5"},
      {"[server]\nconnections_per_user = 1100",
       "c.toml:2: 'server.connections_per_user' is 1100, and 'server.connections', of all users, "
       "is 1024; give one user at most as many as all have"},
      {"\npage = \"0.0.0.0:8790\"",
       "c.toml:2: '0.0.0.0:8790' is not an address of the loopback interface; name one"},
      {"metrics = \"127.0.0.1:8790\"\npage = \"127.0.0.1:8790\"", "it is where the metrics are"},
      {"page = 8790", "c.toml:1: 'page' must be an address of this machine's loopback interface"},
      {"job_environment = [\"A\"]", "'A' is not one"},
      {"job_environment = [\"A=\", \"CUDA_VISIBLE_DEVICES=0\"]",
       "each run of a job has its own CUDA_VISIBLE_DEVICES; leave it out"},
      {"out_of_memory_codes = [0]", "must be a list of whole numbers from 1 to 255, not [ 0 ]"},
      {"[server]\n\nconections = 3", "c.toml:3: unknown key 'server.conections'; did you mean"},
      {"[serve]\nx = 1", "c.toml:1: unknown key 'serve'"},
      {"server = 3", "c.toml:1: unknown key 'server'"},
      {"scheduler = \"a\"\nscheduler = \"b\"", "c.toml:2: this is not valid TOML: cannot redefine"},
      {"scheduler = ", "c.toml:1: this is not valid TOML: encountered end-of-file; text stands in"},
      {"\nscheduler = \"onlin\"",
       "c.toml:2: there is no scheduler 'onlin'; did you mean 'online'?"},
      {"scheduler = \"online:x=1\"", "c.toml:1: scheduler 'online:x=1': "},
      {"forecaster = \"law\"", "c.toml:1: there is no forecaster 'law'; did you mean 'laws'?"},
      {"\nscheduler = \"static:sharing=mps\"",
       "c.toml:2: scheduler 'static:sharing=mps': sharing: jobs share instances in simulations "
       "only"},
      {"scheduler = \"online:compact=60\"", "planned compaction is for simulations only"},
      {"scheduler = \"miso:gain=much\"", "c.toml:1: scheduler 'miso:gain=much': "},
      {"scheduler = \"static:layout=9g.9gb@0\"", "has a profile '9g.9gb'"},
      {"scheduler = \"static:layout=best\"", "needs to know all jobs beforehand"},
      {"profiles = 3", "c.toml:1: 'profiles' must be a file"},
      {"keep_profiles = -1", "c.toml:1: 'keep_profiles' must be a whole number from 0"},
      {"\xff", "c.toml:1"},
  };
  for (const auto& [text, message] : cases) {
    const auto config = parse_config(text, "c.toml");
    ASSERT_FALSE(config) << text;
    EXPECT_NE(config.error().text().find(message), std::string::npos) << config.error().text();
    EXPECT_EQ(config.error().kind, ErrorKind::bad_input);
  }
  const TemporaryFolder folder;
  const auto none = read_config((folder.path() / "none.toml").string());
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("none.toml: the configuration cannot be read: No such file"),
            std::string::npos);
  EXPECT_NE(none.error().remedy.find("--sample-config"), std::string::npos);
  EXPECT_FALSE(read_config(folder.path().string()));
}

TEST(Config, WhatItNamesMustBeOnThisMachine) {
  const TemporaryFolder folder;
  const std::string here = folder.path().string(), text = here + "/text";
  std::ofstream(text) << "not a library\n";
  const auto checked = [](auto set) {
    DaemonSettings settings;
    set(settings);
    const auto wrong = check_on_this_machine(settings);
    EXPECT_LE(wrong.size(), 1U);
    return wrong.empty() ? "" : wrong.front().text();
  };
  const auto library = [&](const std::string& file) {
    return checked([&](DaemonSettings& to) { to.nvml = file; });
  };
  const auto jobs = [&](const std::string& given) {
    return checked([&](DaemonSettings& to) { to.jobs_directory = given; });
  };
  EXPECT_EQ(checked([](DaemonSettings&) {}), "");
  EXPECT_TRUE(library("/tmp").starts_with("nvml: /tmp: it is not a plain file; name the file of"));
  EXPECT_TRUE(library(here + "/none.so").ends_with("the driver's is taken then"));
  EXPECT_NE(library(here + "/none.so").find("No such file or directory"), std::string::npos);
  EXPECT_NE(library(text).find("the loader does not take it"), std::string::npos);
  EXPECT_NE(library("libc.so.6").find("it is not an NVML library"), std::string::npos);
  EXPECT_EQ(jobs(here), "");
  EXPECT_EQ(jobs(here + "/to-be-made/"), "");
  EXPECT_NE(jobs(here + "/none/jobs").find("there is no folder " + here + "/none; make it"),
            std::string::npos);
  EXPECT_NE(jobs(text).find("it is not a folder"), std::string::npos);
  EXPECT_NE(jobs("jobs").find("it is not a folder with its whole path"), std::string::npos);
  EXPECT_NE(jobs("/").find("it is not a folder with its whole path"), std::string::npos);
  EXPECT_EQ(checked([](DaemonSettings& to) { to.operators_group = "no-such-group"; }),
            "operators_group: there is no group 'no-such-group'; `getent group` lists the groups");
}

TEST(Config, EveryMistakeIsNamedWithItsPlace) {
  const ConfigReading reading = inspect_config(
      "managed_gpus = [0]\nmost_waitng = 5\nlook_every_s = 0\nscheduler = \"nosuch\"\n"
      "job_time_default_s = 7200\njob_time_most_s = 3600\npage = \"8790\"\n"
      "[[reservations]]\ngpu = 0\nfrom = 2030-01-07T09:00:00Z\nuntil = 2030-01-07T12:00:00Z\n"
      "[[reservations]]\ngpu = 0\nfrom = 2030-01-07T11:00:00Z\nuntil = 2030-01-07T13:00:00Z\n"
      "[server]\nburst = \"many\"\n",
      "c.toml");
  std::string all;
  for (const Error& each : reading.wrong) all += each.text() + "\n";
  EXPECT_EQ(reading.wrong.size(), 7U) << all;
  for (const char* part :
       {"c.toml:2: unknown key 'most_waitng'", "c.toml:3: 'look_every_s' must be",
        "c.toml:4: there is no scheduler 'nosuch'", "c.toml:5: 'job_time_default_s' is 7200, and",
        "c.toml:7: ", "two reservations of GPU 0 overlap", "'server.burst' must be"})
    EXPECT_TRUE(all.contains(part)) << part << "\n" << all;
  EXPECT_EQ(reading.config.settings.managed_gpus, std::vector<std::string>{"0"});
  EXPECT_TRUE(inspect_config("managed_gpus = [0]\n", "c.toml").wrong.empty());
}

TEST(Config, ReservationsForNobodyAreSaid) {
  DaemonSettings settings;
  const Instant from = Instant{} + std::chrono::hours(1), until = from + std::chrono::hours(1);
  settings.control.reservations = {{"0", from, until, "root"}, {"1", from, until, "no-such-name"}};
  const auto remarks = reservation_remarks(settings);
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_TRUE(remarks[0].contains("'no-such-name'")) << remarks[0];
}

TEST(Config, EverySchedulerThatCanDecideHereIsTaken) {
  for (const char* scheduler :
       {"adaptive", "adaptive:disruptions=0;order=fair-share", "online", "online:migration=off",
        "full-gpu", "scheme-a", "scheme-b", "miso", "dyna-p", "dyna-p:base=own", "static",
        "static:layout=3g.20gb@4+4g.20gb@0", "static:layout=1g.24gb@0"}) {
    const auto config = parse_config(fmt::format("scheduler = \"{}\"", scheduler), "c.toml");
    EXPECT_TRUE(config) << scheduler << ": " << config.error().text();
  }
}

TEST(Config, FilesOfApplicationsAreReadWithKeyFileAndLine) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder.path() / name) << text;
    return (folder.path() / name).string();
  };
  DaemonSettings settings;
  EXPECT_EQ(*read_applications(settings), nullptr);
  settings.profiles =
      write("p.jsonl",
            R"({"application": "a", "gpu_model": "A100-40GB", "profile": "1g.5gb", "time_s": 3})");
  const auto read = read_applications(settings);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ((*read)->repository().records().size(), 1U);
  const auto says = [&](const std::string& what) {
    const auto wrong = read_applications(settings);
    ASSERT_FALSE(wrong) << what;
    EXPECT_NE(wrong.error().text().find(what), std::string::npos) << wrong.error().text();
    EXPECT_EQ(wrong.error().kind, ErrorKind::bad_input);
  };
  settings.time_model = write("m.json", "{\"version\": 1");
  says("m.json");
  settings.time_model = (folder.path() / "none.json").string();
  says("time_model: ");
  settings.time_model.clear();
  write("p.jsonl", "\n{\"application\": \"a\"}");
  says("p.jsonl:2");
  settings.profiles = "-";
  says("a daemon does not read standard input");
}

TEST(Config, AReloadChangesWhatItMayAndSaysTheRest) {
  const auto before = parse_config("managed_gpus = [0]\nmost_waiting = 5", "c");
  const auto after = parse_config("managed_gpus = [1]\nmost_waiting = 6", "c");
  const auto changes = config_changes(*before, *after);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_NE(changes[0].find("managed_gpus: "), std::string::npos);
  EXPECT_TRUE(changes[0].ends_with("(after a restart)"));
  EXPECT_EQ(changes[1], "most_waiting: 5 -> 6");
  const DaemonConfig now = reloaded(*before, *after);
  EXPECT_EQ(now.settings.managed_gpus, std::vector<std::string>{"0"});
  EXPECT_EQ(now.settings.control.most_waiting, 6U);
  // What waits for the restart is said again at the next reload.
  EXPECT_EQ(config_changes(now, *after).size(), 1U);
}

TEST(Config, DamagedFilesAreRefusedAndNothingElse) {
  const std::string sample = without_comments(sample_config());
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    std::string text = sample;
    for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    const auto config = parse_config(text, "c.toml");
    if (config) continue;
    EXPECT_FALSE(config.error().message.empty());
    EXPECT_TRUE(config.error().place.starts_with("c.toml:")) << config.error().text();
  }
}

}  // namespace
}  // namespace cleave
