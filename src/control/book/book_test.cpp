// What is written when, and what waits for it, over a store in memory.

#include "control/book/book.hpp"

#include <gtest/gtest.h>

#include "control/fake_store_test.hpp"
#include "control/node/node_state_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class BookTest : public testing::Test {
 protected:
  void pass(Duration time) {
    now += time;
    clock.advance({now, Instant{} + 1000h + now});
  }
  /// A job in the node and, with its command, in the store.
  LiveJob& written_job(JobNumber number) {
    LiveJob& job = node.add_job(number);
    StoreBatch batch;
    batch.jobs.push_back(job.record);
    batch.commands.emplace_back(number, JobCommand{{"work"}, {}, "/"});
    EXPECT_TRUE(store.write(batch, Durability::synced));
    return job;
  }
  StoreBatch setting(const std::string& key, const std::string& value = "1") {
    StoreBatch batch;
    batch.settings.emplace_back(key, value);
    batch.events.push_back(book.event_record("set", key, nullptr));
    return batch;
  }
  [[nodiscard]] std::map<std::string, std::string> settings() {
    return FakeStore(disk).load()->settings;
  }
  [[nodiscard]] std::vector<std::string> events() {
    std::vector<std::string> kinds;
    const auto written = FakeStore(disk).events(0, {}, 1000);
    for (const EventRecord& event : *written) kinds.push_back(event.kind);
    return kinds;
  }
  static bool never(const UserRequest&) { return false; }

  Duration now = 10s;
  Clock clock{{now, Instant{} + 1000h + now}};
  FakeDisk disk;
  FakeStore store{disk};
  NodeForTest node;
  Book book{store, clock};
};

TEST_F(BookTest, ChangesAreWrittenOnceAndJobsAsTheyAreThen) {
  LiveJob& job = written_job(1);
  book.note(job);
  EXPECT_TRUE(book.has_changed(1));
  EXPECT_FALSE(book.has_changed(2));
  job.record.reason = "changed after it was noted";
  const std::uint64_t before = disk.writes();
  book.commit(node.state);
  EXPECT_EQ((*store.job(1))->reason, "changed after it was noted");
  EXPECT_FALSE(book.has_changed(1));
  EXPECT_EQ(disk.writes(), before + 1);
  book.commit(node.state);
  EXPECT_EQ(disk.writes(), before + 1) << "nothing has changed since";
}

TEST_F(BookTest, EverythingThatIsNotedIsWritten) {
  written_job(1);
  AttemptRecord attempt;
  attempt.key = {1, 1};
  attempt.why = "first";
  book.note(attempt);
  attempt.why = "last";
  book.note(attempt);
  book.note(InstanceRecord{"MIG-1", "GPU-0", "1g.5gb", 0, clock.wall(), {}});
  book.note_setting("paused", "yes");
  book.commit(node.state);
  ASSERT_EQ(store.attempts(1)->size(), 1U);
  EXPECT_EQ(store.attempts(1)->front().why, "last");
  EXPECT_EQ(store.load()->instances.size(), 1U);
  EXPECT_EQ(settings().at("paused"), "yes");
  const std::uint64_t before = disk.writes();
  book.commit(node.state);
  EXPECT_EQ(disk.writes(), before);
}

TEST_F(BookTest, EnvironmentsGoWithTheLastRunOfAJob) {
  for (const JobNumber number : {1, 2, 3}) {
    LiveJob& job = node.add_job(number);
    if (number == 3) job.record.spec.service.emplace();
    StoreBatch batch;
    batch.jobs.push_back(job.record);
    batch.commands.emplace_back(number, JobCommand{{"work"}, {"A=secret"}, "/"});
    ASSERT_TRUE(store.write(batch, Durability::synced));
    if (number != 2) {
      job.record.state = JobState::finished;
      job.record.ended = clock.wall();
    }
    book.note(job);
  }
  book.commit(node.state);
  const auto environment = [&](JobNumber number) { return (*store.command(number))->environment; };
  EXPECT_EQ(environment(1), std::vector<std::string>{});
  EXPECT_EQ((*store.command(1))->argv, std::vector<std::string>{"work"});
  EXPECT_EQ(environment(2), std::vector<std::string>{"A=secret"}) << "it is to run";
  EXPECT_EQ(environment(3), std::vector<std::string>{"A=secret"}) << "its other replicas are";
}

/// What is settled is not looked at again when a daemon begins.
TEST_F(BookTest, AnAttemptIsSettledWhenTheStoreHasHowItsProcessEnded) {
  written_job(1);
  AttemptRecord attempt;
  attempt.key = {1, 1};
  const auto settled = [&] {
    StoreBatch batch;
    batch.attempts.push_back(attempt);
    EXPECT_TRUE(store.write(batch, Durability::written));
    return book.is_settled(attempt.key);
  };
  EXPECT_FALSE(book.is_settled({1, 1})) << "it is not known";
  EXPECT_FALSE(settled()) << "it runs";
  attempt.ended = Instant{} + 1h;
  attempt.end = AttemptEnd::lost;
  EXPECT_FALSE(settled()) << "something of it may still run";
  attempt.end = AttemptEnd::cancelled;
  EXPECT_FALSE(settled()) << "no process of it was heard of";
  attempt.exit_code = 143;
  EXPECT_TRUE(settled());
  disk.fail_reads(1);
  EXPECT_FALSE(book.is_settled({1, 1}));
}

TEST_F(BookTest, EffectsWaitForTheWrite) {
  std::string done;
  book.note_setting("paused", "yes");
  book.later([&] { done += "a"; });
  book.later([&] {
    done += "b";
    book.later([&] { done += "c"; });
  });
  EXPECT_TRUE(book.has_effects());
  disk.before_write = [&](const StoreBatch&) { EXPECT_EQ(done, "") << "nothing before the write"; };
  book.commit(node.state);
  EXPECT_EQ(done, "ab") << "what effects lead to waits for the next write";
  EXPECT_TRUE(book.has_effects());
  book.commit(node.state);
  EXPECT_EQ(done, "abc");
  EXPECT_FALSE(book.has_effects());
}

TEST_F(BookTest, AWriteThatFailsKeepsEverythingAndIsTriedAgainLater) {
  int done = 0;
  book.note_setting("paused", "yes");
  book.event("first", "the first");
  book.later([&] { ++done; });
  disk.fail_writes(1);
  book.commit(node.state);
  EXPECT_EQ(done, 0);
  EXPECT_FALSE(book.writes());
  EXPECT_TRUE(
      book.trouble().starts_with("nothing new is started, because the store cannot be written"));
  EXPECT_EQ(book.next_write(), now + 1s);
  pass(999ms);
  book.commit(node.state);
  EXPECT_EQ(done, 0) << "it is not time yet";
  pass(1ms);
  book.commit(node.state);
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(book.writes());
  EXPECT_EQ(settings().at("paused"), "yes");
  book.commit(node.state);
  EXPECT_EQ(events(), (std::vector<std::string>{"first", "store-recovered"}));
}

TEST_F(BookTest, AfterAFailureSomethingIsWrittenToSeeWhetherItIsOver) {
  book.store_refused(Error{ErrorKind::infeasible, "the disk", "it is full", {}});
  pass(1s);
  book.commit(node.state);
  EXPECT_TRUE(book.writes());
  EXPECT_EQ(events(), std::vector<std::string>{"store-recovered"});
  book.commit(node.state);
  EXPECT_EQ(events().size(), 1U) << "it is said once";
}

TEST_F(BookTest, ABatchIsSyncedWhereSomebodyAskedForIt) {
  book.note_setting("a", "1");
  book.commit(node.state);
  EXPECT_EQ(disk.unsynced(), 1U);
  book.note_setting("a", "2");
  book.sync_next();
  book.commit(node.state);
  EXPECT_EQ(disk.unsynced(), 0U);
  book.note_setting("a", "3");
  book.commit(node.state);
  EXPECT_EQ(disk.unsynced(), 1U) << "only that one";
}

TEST_F(BookTest, EventsAreNumberedWithoutAGapAndStayInMemory) {
  LiveJob& job = written_job(3);
  book.event("a", "of a job", &job);
  book.event("b", "of a GPU", nullptr, "GPU-0");
  EXPECT_TRUE(book.events_since(0).empty()) << "they are not written yet";
  book.commit(node.state);
  book.event("c", "of nothing");
  book.commit(node.state);
  EXPECT_EQ(book.last_event(), 3);
  const auto all = book.events_since(1);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].number, 2);
  EXPECT_EQ(all[0].gpu, "GPU-0");
  EXPECT_EQ(all[0].job, std::nullopt);
  EXPECT_EQ(all[1].number, 3);
  const EventRecord first = book.events_since(0).front();
  EXPECT_EQ(first.job, 3);
  EXPECT_EQ(first.uid, 1000U);
  EXPECT_EQ(first.at, clock.wall());
  EXPECT_TRUE(book.events_since(3).empty());
}

TEST_F(BookTest, OnlyTheNewestEventsStayInMemory) {
  for (int i = 0; i < 4100; ++i) book.event("many", "one");
  book.commit(node.state);
  ASSERT_EQ(book.events_since(0).size(), 4096U);
  EXPECT_EQ(book.events_since(0).front().number, 5);
}

TEST_F(BookTest, NumbersGoOnFromWhatTheStoreHas) {
  book.event("a", "by an earlier loop");
  book.commit(node.state);
  Book next{store, clock};
  ASSERT_TRUE(next.load());
  EXPECT_EQ(next.last_event(), 1);
  next.event("b", "by this one");
  next.commit(node.state);
  EXPECT_EQ(next.last_event(), 2);
  disk.fail_reads(1);
  EXPECT_FALSE(next.load());
}

TEST_F(BookTest, RequestsEnterOnceTheyAreWrittenAndThenTheyAreAnswered) {
  std::string entered;
  book.event("earlier", "gathered before");
  book.request(setting("a"), [&] { entered += "a"; });
  book.request(setting("b"), [&] { entered += "b"; });
  EXPECT_EQ(book.last_request(), 2U);
  EXPECT_EQ(book.open_requests(), 2U);
  EXPECT_EQ(book.next_write(), now);
  disk.before_write = [&](const StoreBatch&) { EXPECT_EQ(entered, ""); };
  const std::uint64_t before = disk.writes();
  book.write_requests(node.state, never);
  EXPECT_EQ(disk.writes(), before + 1) << "all in one write";
  EXPECT_EQ(disk.unsynced(), 0U);
  EXPECT_EQ(entered, "ab");
  EXPECT_EQ(settings().size(), 2U);
  EXPECT_EQ(events(), (std::vector<std::string>{"earlier", "set", "set"}));
  const auto answers = book.take_answers();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].number, 1U);
  EXPECT_EQ(answers[1].number, 2U);
  EXPECT_TRUE(answers[0].done);
  EXPECT_TRUE(book.take_answers().empty());
  EXPECT_EQ(book.open_requests(), 0U);
  book.write_requests(node.state, never);
  EXPECT_EQ(disk.writes(), before + 1) << "there are none";
}

TEST_F(BookTest, RequestsThatCannotBeWrittenAreRefused) {
  std::string entered;
  book.request(setting("a"), [&] { entered += "a"; });
  book.request(setting("b"), [&] { entered += "b"; }).cancels = {7};
  disk.fail_writes(1);
  book.write_requests(node.state, [](const UserRequest& each) { return !each.cancels.empty(); });
  EXPECT_EQ(entered, "");
  EXPECT_FALSE(book.writes());
  const auto answers = book.take_answers();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_FALSE(answers[0].done);
  EXPECT_TRUE(answers[1].done) << "something was done about it all the same";
  EXPECT_EQ(book.open_requests(), 0U);
  EXPECT_TRUE(settings().empty());
}

TEST_F(BookTest, AWriteIsDueWhereSomethingHasGathered) {
  EXPECT_EQ(book.next_write(), Duration::max());
  book.later([] {});
  EXPECT_EQ(book.next_write(), now);
  book.commit(node.state);
  EXPECT_EQ(book.next_write(), Duration::max());
  book.event("a", "one");
  EXPECT_EQ(book.next_write(), now);
  book.commit(node.state);
  book.note(written_job(1));
  EXPECT_EQ(book.next_write(), now);
}

TEST_F(BookTest, NeedsAreKeptByUserAndApplication) {
  book.recall_needs({{{1000, "resnet"}, MiB{400}}});
  EXPECT_EQ(book.need_of({1000, "resnet"}), MiB{400});
  EXPECT_EQ(book.need_of({1001, "resnet"}), std::nullopt);
  book.remember_need({1001, "resnet"}, MiB{500});
  EXPECT_EQ(book.need_of({1001, "resnet"}), MiB{500});
  book.commit(node.state);
  EXPECT_EQ(settings(), (std::map<std::string, std::string>{{"need 1001 resnet", "500"}}));
}

TEST_F(BookTest, NoMoreThanTenThousandNeedsAreKept) {
  ApplicationNeeds many;
  for (std::uint32_t uid = 0; uid < 9'999; ++uid) many[{uid, "resnet"}] = MiB{1};
  book.recall_needs(many);
  book.remember_need({20'000, "resnet"}, MiB{2});
  EXPECT_EQ(book.need_of({20'000, "resnet"}), MiB{2});
  book.remember_need({20'001, "resnet"}, MiB{2});
  EXPECT_EQ(book.need_of({20'001, "resnet"}), std::nullopt);
  book.remember_need({5, "resnet"}, MiB{3});
  EXPECT_EQ(book.need_of({5, "resnet"}), MiB{3}) << "those that are there change";
}

TEST_F(BookTest, AUserWithManyNeedsTakesNobodysPlace) {
  ApplicationNeeds many;
  for (int i = 0; i < 9'999; ++i) many[{7, fmt::format("a{:05}", i)}] = MiB{1};
  many[{8, "resnet"}] = MiB{5};
  book.recall_needs(many);
  book.remember_need({7, "a00000"}, MiB{2});
  book.remember_need({7, "new"}, MiB{3});
  EXPECT_EQ(book.need_of({7, "new"}), MiB{3});
  EXPECT_EQ(book.need_of({7, "a00001"}), std::nullopt) << "heard of longest ago";
  EXPECT_EQ(book.need_of({7, "a00000"}), MiB{2});
  EXPECT_EQ(book.need_of({8, "resnet"}), MiB{5});
  book.remember_need({9, "resnet"}, MiB{4});
  EXPECT_EQ(book.need_of({9, "resnet"}), MiB{4}) << "others have their place";
  book.remember_need({8, "bert"}, MiB{6});
  EXPECT_EQ(book.need_of({8, "resnet"}), MiB{5});
  book.commit(node.state);
  const auto kept = settings();
  EXPECT_TRUE(kept.contains("need 9 resnet"));
  EXPECT_FALSE(kept.contains("need 7 a00001"));
}

}  // namespace
}  // namespace cleave
