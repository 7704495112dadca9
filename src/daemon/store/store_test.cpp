// What every store promises, held against a plain one that is obviously right: the one in memory
// that tests use, and the one of the daemon.

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "base/temporary_folder_test.hpp"
#include "control/fake_store_test.hpp"
#include "control/records_test.hpp"
#include "daemon/store/sqlite_store.hpp"

namespace cleave {
namespace {

/// Everything in one list each, every question answered by going through all of it.
struct PlainStore {
  std::vector<JobRecord> jobs;
  std::vector<std::pair<JobNumber, JobCommand>> commands;
  std::vector<AttemptRecord> attempts;
  std::vector<InstanceRecord> instances;
  std::vector<EventRecord> events;
  std::map<std::string, std::string> settings;
  std::vector<LearntProfile> learnt;
  JobNumber last_job = 0;
  std::int64_t last_event = 0;

  template <class Record, class Key>
  static void put(std::vector<Record>& all, const Record& record, Key key) {
    std::erase_if(all, [&](const Record& each) { return key(each) == key(record); });
    all.push_back(record);
    std::ranges::sort(all, {}, key);
  }

  void write(const StoreBatch& batch) {
    for (const JobRecord& job : batch.jobs) {
      put(jobs, job, [](const JobRecord& each) { return each.number; });
      last_job = std::max(last_job, job.number);
    }
    for (const auto& each : batch.commands) commands.push_back(each);
    for (const AttemptRecord& each : batch.attempts)
      put(attempts, each, [](const AttemptRecord& one) { return one.key; });
    for (const InstanceRecord& each : batch.instances)
      put(instances, each, [](const InstanceRecord& one) { return one.device; });
    for (const EventRecord& each : batch.events) {
      events.push_back(each);
      last_event = each.number;
    }
    for (const auto& [key, value] : batch.settings) {
      settings.erase(key);
      if (!value.empty()) settings[key] = value;
    }
    for (const LearntProfile& each : batch.learnt)
      put(learnt, each, [](const LearntProfile& one) { return one.key(); });
    for (const LearntKey& gone : batch.unlearnt)
      std::erase_if(learnt, [&](const LearntProfile& each) { return each.key() == gone; });
    for (const JobKey& last : batch.outdated)
      std::erase_if(attempts, [&](const AttemptRecord& each) {
        return each.key.job == last.job && each.key.attempt <= last.attempt && each.ended;
      });
    for (auto& [number, command] : commands)
      if (std::ranges::find(batch.bared, number) != batch.bared.end()) command.environment.clear();
    for (const JobNumber number : batch.forgotten) {
      std::erase_if(jobs, [&](const JobRecord& each) { return each.number == number; });
      std::erase_if(commands, [&](const auto& each) { return each.first == number; });
      std::erase_if(attempts, [&](const AttemptRecord& each) { return each.key.job == number; });
    }
  }

  [[nodiscard]] const JobRecord* find(JobNumber number) const {
    const auto found = std::ranges::find(jobs, number, &JobRecord::number);
    return found == jobs.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::vector<JobRecord> listed(const JobQuery& query) const {
    std::vector<JobRecord> all;
    for (const JobRecord& job : jobs) {
      if (job.number >= query.before || (job.leader != 0 && !query.processes)) continue;
      if (query.uid && job.owner.uid != *query.uid) continue;
      if (query.state && job.state != *query.state) continue;
      if (!query.state && !query.final_too && is_final(job.state)) continue;
      all.push_back(job);
    }
    std::ranges::reverse(all);
    if (all.size() > query.most) all.resize(query.most);
    return all;
  }

  [[nodiscard]] std::vector<JobRecord> ended_before(Instant time, std::size_t most) const {
    std::vector<JobRecord> all;
    for (const JobRecord& job : jobs)
      if (is_final(job.state) && job.leader == 0 && *job.ended < time) all.push_back(job);
    std::ranges::stable_sort(all, {}, [](const JobRecord& job) { return *job.ended; });
    if (all.size() > most) all.resize(most);
    return all;
  }

  [[nodiscard]] std::vector<EventRecord> told(std::int64_t after, std::optional<std::uint32_t> uid,
                                              std::size_t most) const {
    std::vector<EventRecord> all;
    for (const EventRecord& event : events)
      if (event.number > after && (!uid || !event.job || event.uid == *uid)) all.push_back(event);
    if (all.size() > most) all.resize(most);
    return all;
  }
};

/// A batch as a caller that keeps its promises would write it.
StoreBatch any_batch(RandomRecords& any, const PlainStore& plain) {
  StoreBatch batch;
  JobNumber next = plain.last_job;
  for (std::uint64_t left = any.random.below(4); left > 0; --left) {
    next += any.chance(0.1) ? 2 : 1;
    batch.jobs.push_back(any.any_job(next));
    if (batch.jobs.back().leader == 0) batch.commands.emplace_back(next, any.any_command());
  }
  for (const JobRecord& job : plain.jobs) {
    if (!any.chance(0.2)) continue;
    JobRecord changed = job;
    if (is_final(job.state))
      changed.reason = any.any_text();
    else
      any.change(changed);
    batch.jobs.push_back(changed);
    if (any.chance(0.5))
      batch.attempts.push_back(
          any.any_attempt({job.number, 1 + static_cast<std::int64_t>(any.random.below(3))}));
    if (any.chance(0.2))
      batch.outdated.push_back({job.number, static_cast<std::int64_t>(any.random.below(3))});
    if (is_final(changed.state) && any.chance(0.4)) batch.bared.push_back(job.number);
    if (is_final(changed.state) && any.chance(0.2)) batch.forgotten.push_back(job.number);
  }
  if (any.chance(0.5)) batch.instances.push_back(any.any_instance(any.any_text()));
  for (std::uint64_t left = any.random.below(4), number = 0; left > 0; --left)
    batch.events.push_back(any.any_event(plain.last_event + static_cast<std::int64_t>(++number)));
  if (any.chance(0.3)) batch.settings.emplace_back(any.any_text(), any.any_text());
  if (any.chance(0.5)) batch.learnt.push_back(any.any_learnt());
  if (any.chance(0.2)) {
    const LearntKey gone = any.any_learnt().key();
    if (batch.learnt.empty() || batch.learnt[0].key() != gone) batch.unlearnt.push_back(gone);
  }
  return batch;
}

/// One kind of store, on ground that outlives it.
class StoreGround {
 public:
  virtual ~StoreGround() = default;
  virtual std::unique_ptr<Store> open() = 0;
};

class FakeGround final : public StoreGround {
 public:
  std::unique_ptr<Store> open() override { return std::make_unique<FakeStore>(disk_); }

 private:
  FakeDisk disk_;
};

class SqliteGround final : public StoreGround {
 public:
  std::unique_ptr<Store> open() override {
    auto store = SqliteStore::open(folder_.path());
    if (!store) throw std::runtime_error(store.error().text());
    return std::move(*store);
  }

 private:
  TemporaryFolder folder_;
};

class EveryStore : public testing::TestWithParam<const char*> {
 protected:
  EveryStore() {
    if (GetParam() == std::string_view("Fake"))
      ground_ = std::make_unique<FakeGround>();
    else
      ground_ = std::make_unique<SqliteGround>();
    open_again();
  }
  void open_again() {
    store_.reset();
    store_ = ground_->open();
  }

  void expect_same_contents(const PlainStore& plain) {
    const auto contents = store_->load();
    ASSERT_TRUE(contents) << contents.error().text();
    std::vector<JobRecord> open;
    std::vector<AttemptRecord> attempts;
    for (const JobRecord& job : plain.jobs)
      if (!is_final(job.state)) open.push_back(job);
    for (const AttemptRecord& each : plain.attempts) {
      const bool final = is_final(plain.find(each.key.job)->state);
      if (!final || !each.ended) attempts.push_back(each);
    }
    std::vector<InstanceRecord> instances = plain.instances;
    std::erase_if(instances, [](const InstanceRecord& each) { return each.gone.has_value(); });
    EXPECT_TRUE(contents->jobs == open);
    EXPECT_TRUE(contents->attempts == attempts);
    EXPECT_TRUE(contents->instances == instances);
    EXPECT_EQ(contents->settings, plain.settings);
    EXPECT_TRUE(contents->learnt == plain.learnt);
    EXPECT_EQ(contents->last_job, plain.last_job);
    EXPECT_EQ(contents->last_event, plain.last_event);
  }

  void expect_same_answers(const PlainStore& plain, RandomRecords& any) {
    const auto number =
        static_cast<JobNumber>(any.random.below(static_cast<std::uint64_t>(plain.last_job) + 2));
    const JobRecord* there = plain.find(number);
    const auto job = store_->job(number);
    ASSERT_TRUE(job) << job.error().text();
    EXPECT_TRUE(there == nullptr ? !job->has_value() : job->has_value() && **job == *there)
        << number;
    const auto command = store_->command(number);
    ASSERT_TRUE(command) << command.error().text();
    const auto kept =
        std::ranges::find(plain.commands, number, &std::pair<JobNumber, JobCommand>::first);
    EXPECT_TRUE(kept == plain.commands.end() ? !command->has_value() : *command == kept->second)
        << number;
    if (there != nullptr && there->key) {
      const auto keyed = store_->job_with_key(there->owner.uid, there->key->text);
      ASSERT_TRUE(keyed) << keyed.error().text();
      EXPECT_TRUE(keyed->has_value() && **keyed == *there) << number;
      const auto others = store_->job_with_key(there->owner.uid + 1, there->key->text);
      EXPECT_TRUE(others && !others->has_value()) << "keys are a user's own";
    }
    expect_same_attempts(plain, number);
    JobQuery query;
    query.final_too = any.chance(0.5);
    if (any.chance(0.5)) query.state = static_cast<JobState>(any.random.below(7));
    if (any.chance(0.5)) query.uid = static_cast<std::uint32_t>(1000 + any.random.below(3));
    if (any.chance(0.5)) query.before = number;
    query.processes = any.chance(0.5);
    if (any.chance(0.5)) query.most = any.random.below(5);
    const auto jobs = store_->jobs(query);
    ASSERT_TRUE(jobs) << jobs.error().text();
    EXPECT_TRUE(*jobs == plain.listed(query));
    const auto joined = store_->jobs_with_attempts(query);
    ASSERT_TRUE(joined) << joined.error().text();
    ASSERT_EQ(joined->size(), jobs->size());
    for (std::size_t i = 0; i < joined->size(); ++i) {
      EXPECT_TRUE((*joined)[i].job == (*jobs)[i]);
      std::optional<AttemptRecord> latest;
      for (const AttemptRecord& each : plain.attempts)
        if (each.key.job == (*jobs)[i].number && (!latest || latest->key < each.key)) latest = each;
      EXPECT_TRUE((*joined)[i].latest == latest) << (*jobs)[i].number;
    }
    std::vector<JobRecord> newer = *jobs;
    std::erase_if(newer, [&](const JobRecord& each) { return each.number <= number; });
    query.after = number;
    const auto found = store_->jobs(query);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_TRUE(*found == newer);
    const Instant time(Duration(static_cast<std::int64_t>(any.random.below(21))));
    const std::size_t most = any.chance(0.5) ? SIZE_MAX : any.random.below(5);
    const auto ended = store_->ended_before(time, most);
    ASSERT_TRUE(ended) << ended.error().text();
    EXPECT_TRUE(*ended == plain.ended_before(time, most));
    const auto after = static_cast<std::int64_t>(
        any.random.below(static_cast<std::uint64_t>(plain.last_event) + 2));
    const auto events = store_->events(after, query.uid, most);
    ASSERT_TRUE(events) << events.error().text();
    EXPECT_TRUE(*events == plain.told(after, query.uid, most));
    expect_same_sizes(plain, number, most);
  }

  void expect_same_attempts(const PlainStore& plain, JobNumber number) {
    std::vector<AttemptRecord> of_it = plain.attempts;
    std::erase_if(of_it, [&](const AttemptRecord& each) { return each.key.job != number; });
    const auto attempts = store_->attempts(number);
    ASSERT_TRUE(attempts) << attempts.error().text();
    EXPECT_TRUE(*attempts == of_it) << number;
    for (std::int64_t each = 0; each <= 2; ++each) {
      const auto one = store_->attempt({number, each});
      const auto same =
          std::ranges::find(of_it, each, [](const auto& it) { return it.key.attempt; });
      ASSERT_TRUE(one) << one.error().text();
      EXPECT_TRUE(same == of_it.end() ? !one->has_value() : *one == *same) << number;
    }
  }

  void expect_same_sizes(const PlainStore& plain, JobNumber after, std::size_t most) {
    const auto sizes = store_->sizes(after, static_cast<std::int64_t>(most) * 1000);
    ASSERT_TRUE(sizes) << sizes.error().text();
    std::int64_t bytes = 0;
    auto next = sizes->begin();
    for (const JobRecord& job : plain.jobs) {
      if (job.number <= after) continue;
      if (next == sizes->end()) {
        EXPECT_GE(bytes, static_cast<std::int64_t>(most) * 1000) << "it ended too soon";
        return;
      }
      const StoredSize& size = *next++;
      EXPECT_EQ(std::tie(size.number, size.uid, size.attempts),
                std::tie(job.number, job.owner.uid, job.attempts));
      EXPECT_EQ(size.job, job.job());
      EXPECT_EQ(size.ended, is_final(job.state) ? job.ended : std::nullopt);
      std::int64_t least = 0;
      for (const auto& [number, command] : plain.commands)
        if (number == job.number)
          for (const std::string& each : command.environment) least += std::ssize(each);
      EXPECT_GE(size.bytes, least);
      bytes += size.bytes;
    }
    EXPECT_TRUE(next == sizes->end());
  }

  /// One job that waits and one that is over, numbers 1 and 2.
  void put_two_jobs() {
    StoreBatch batch;
    JobRecord job;
    for (job.number = 1; job.number <= 2; ++job.number) {
      job.state = job.number == 1 ? JobState::queued : JobState::finished;
      if (job.number == 2) job.ended = Instant(Duration(5));
      batch.jobs.push_back(job);
      batch.commands.emplace_back(job.number, JobCommand{{"true"}, {}, "/"});
    }
    batch.events.push_back(
        {.number = 1, .kind = "job-submitted", .job = 1, .uid = 0, .gpu = {}, .text = {}});
    ASSERT_TRUE(store_->write(batch, Durability::synced));
  }

  /// Neither store takes it; nothing of it is there afterwards.
  void expect_refused(StoreBatch batch, const char* why) {
    batch.settings.emplace_back("trace", why);
    try {
      const auto written = store_->write(batch, Durability::synced);
      ASSERT_FALSE(written) << why;
      EXPECT_EQ(written.error().kind, ErrorKind::internal) << written.error().text();
    } catch (const std::logic_error&) {
    }
    const auto contents = store_->load();
    ASSERT_TRUE(contents) << contents.error().text();
    EXPECT_TRUE(contents->settings.empty()) << why;
    EXPECT_EQ(contents->jobs.size(), 1U) << why;
    EXPECT_EQ(contents->last_event, 1) << why;
  }

  std::unique_ptr<StoreGround> ground_;
  std::unique_ptr<Store> store_;
};

TEST_P(EveryStore, IsAsAPlainOne) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    store_.reset();
    ground_ = GetParam() == std::string_view("Fake")
                  ? std::unique_ptr<StoreGround>(new FakeGround())
                  : std::unique_ptr<StoreGround>(new SqliteGround());
    open_again();
    RandomRecords any(seed);
    PlainStore plain;
    for (int round = 0; round < 60 && !HasFailure(); ++round) {
      SCOPED_TRACE(round);
      const StoreBatch batch = any_batch(any, plain);
      const auto written =
          store_->write(batch, any.chance(0.5) ? Durability::synced : Durability::written);
      ASSERT_TRUE(written) << written.error().text();
      plain.write(batch);
      if (any.chance(0.1)) {
        const std::size_t keep = any.random.below(30);
        ASSERT_TRUE(store_->forget_events(keep));
        if (plain.events.size() > keep)
          plain.events.erase(plain.events.begin(),
                             plain.events.end() - static_cast<std::ptrdiff_t>(keep));
      }
      if (any.chance(0.1)) open_again();
      for (int i = 0; i < 5; ++i) expect_same_answers(plain, any);
      if (any.chance(0.3)) expect_same_contents(plain);
    }
  }
}

TEST_P(EveryStore, BeginsWithNothing) {
  expect_same_contents({});
  EXPECT_TRUE(store_->write({}, Durability::synced));
  EXPECT_TRUE(store_->forget_events(0));
  EXPECT_FALSE(store_->job(1)->has_value());
  EXPECT_FALSE(store_->command(1)->has_value());
}

TEST_P(EveryStore, HasPlansAsTheyWereWrittenNewestFirst) {
  EXPECT_FALSE(store_->load()->plan);
  LivePlan plan;
  plan.number = 1;
  plan.kind = "compact";
  plan.by = "user ada";
  plan.begun = Instant{std::chrono::seconds(5)};
  plan.moves.push_back({2, 7, {"GPU-a", "3g.20gb", 0}, {"GPU-b", "3g.20gb", 4}, {}, {}, 3});
  plan.frees = {"GPU-a"};
  StoreBatch batch;
  batch.plans = {plan};
  ASSERT_TRUE(store_->write(batch, Durability::synced));
  open_again();
  ASSERT_TRUE(store_->load()->plan);
  EXPECT_EQ(*store_->load()->plan, plan);
  plan.state = PlanState::stopped;
  plan.why = "its time is up";
  plan.moves[0].state = MovePhase::left;
  plan.moves[0].why_not = "the plan did not come to it";
  plan.ended = Instant{std::chrono::seconds(9)};
  plan.freed = 0;
  LivePlan next = plan;
  next.number = 2;
  batch.plans = {plan, next};
  ASSERT_TRUE(store_->write(batch, Durability::written));
  open_again();
  EXPECT_FALSE(store_->load()->plan);
  EXPECT_EQ(store_->load()->last_plan, 2);
  EXPECT_EQ(*store_->plans(INT64_MAX, 10), (std::vector<LivePlan>{next, plan}));
  EXPECT_EQ(*store_->plans(2, 10), std::vector<LivePlan>{plan});
  EXPECT_EQ(*store_->plans(INT64_MAX, 1), std::vector<LivePlan>{next});
}

TEST_P(EveryStore, AddsUpWhatWasUsed) {
  RandomRecords any(17);
  std::map<UsageKey, UsageRow> plain;
  for (int turn = 0; turn < 60; ++turn) {
    StoreBatch batch;
    std::map<UsageKey, UsageRow> more;
    for (std::uint64_t rows = 1 + any.random.below(4); rows > 0; --rows) {
      const UsageRow row = any.any_usage();
      if (more.emplace(row.key, row).second) add_row(plain, row);
    }
    for (const auto& [key, row] : more) batch.usage.push_back(row);
    ASSERT_TRUE(store_->write(batch, Durability::written));
    if (turn % 10 == 0) open_again();
  }
  const auto read = [&](UsageQuery query) {
    std::vector<UsageRow> all;
    for (query.most = 7;;) {
      const auto page = store_->usage(query);
      EXPECT_TRUE(page) << page.error().text();
      if (!page || page->empty()) return all;
      all.insert(all.end(), page->begin(), page->end());
      query.after = page->back().key;
    }
  };
  std::vector<UsageRow> every, of_one, of_a_day;
  for (const auto& [key, row] : plain) {
    every.push_back(row);
    if (key.kind == UseKind::jobs && key.party.uid == 1) of_one.push_back(row);
    if (key.day == 1) of_a_day.push_back(row);
  }
  EXPECT_TRUE(read({}) == every);
  EXPECT_TRUE(read({.after = {}, .uid = 1}) == of_one);
  UsageQuery day;
  day.after.day = day.until = 1;
  EXPECT_TRUE(read(day) == of_a_day);
  ASSERT_TRUE(store_->forget_usage(1));
  std::erase_if(every, [](const UsageRow& each) { return each.key.day < 1; });
  open_again();
  EXPECT_TRUE(read({}) == every);
}

TEST_P(EveryStore, AddsToTheEnergyOfJobs) {
  put_two_jobs();
  const JobRecord before = **store_->job(2);
  StoreBatch batch;
  batch.energies = {{2, {500, std::chrono::seconds(1)}}, {77, {1, {}}}};
  ASSERT_TRUE(store_->write(batch, Durability::written));
  batch.energies = {{2, {{}, std::chrono::seconds(2)}}};
  ASSERT_TRUE(store_->write(batch, Durability::written));
  batch.energies = {{2, {7, {}}}};
  ASSERT_TRUE(store_->write(batch, Durability::written));
  open_again();
  JobRecord after = before;
  after.energy.add({507, std::chrono::seconds(3)});
  EXPECT_TRUE(**store_->job(2) == after);
  EXPECT_FALSE(*store_->job(77));
}

TEST_P(EveryStore, NeverGivesANumberAgain) {
  put_two_jobs();
  StoreBatch batch;
  batch.forgotten = {2};
  ASSERT_TRUE(store_->write(batch, Durability::written));
  ASSERT_TRUE(store_->forget_events(0));
  open_again();
  EXPECT_EQ(store_->load()->last_job, 2);
  EXPECT_EQ(store_->load()->last_event, 1);
  EXPECT_TRUE(store_->events(0, {}, 10)->empty());
  JobRecord job;
  job.number = 2;
  batch = {};
  batch.jobs = {job};
  batch.commands = {{2, JobCommand{}}};
  expect_refused(batch, "number 2 again");
}

TEST_P(EveryStore, KeepsItsCallersToTheirPromises) {
  put_two_jobs();
  const JobRecord first = **store_->job(1), over = **store_->job(2);
  StoreBatch batch;
  batch.events.push_back({.number = 3, .kind = "gap", .job = {}, .uid = {}, .gpu = {}, .text = {}});
  expect_refused(batch, "a gap");
  batch.events[0].number = 1;
  expect_refused(batch, "an event again");
  batch = {};
  batch.jobs = {over};
  batch.jobs[0].state = JobState::queued;
  expect_refused(batch, "a final job comes back");
  batch = {};
  batch.attempts.emplace_back().key = {7, 1};
  expect_refused(batch, "an attempt of nobody");
  batch = {};
  batch.commands = {{1, JobCommand{{"false"}, {}, "/"}}};
  expect_refused(batch, "a second command");
  batch.commands[0].first = 9;
  expect_refused(batch, "a command of nobody");
  batch = {};
  batch.forgotten = {1};
  expect_refused(batch, "a job that waits is forgotten");
  batch.forgotten = {9};
  expect_refused(batch, "a job that is not known is forgotten");
  batch = {};
  batch.jobs = {first};
  batch.jobs[0].reason = "it goes on";
  ASSERT_TRUE(store_->write(batch, Durability::written));
  open_again();
  EXPECT_EQ(**store_->job(1), batch.jobs[0]);
  EXPECT_EQ(**store_->job(2), over);
  EXPECT_EQ((*store_->command(1))->argv, std::vector<std::string>{"true"});
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryStore, testing::Values("Fake", "Sqlite"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace cleave
