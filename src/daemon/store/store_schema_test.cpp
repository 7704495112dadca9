// Databases of every earlier schema, as the programs of their time made them, are taken over whole;
// newer ones are refused and left alone.

#include "daemon/store/store_schema.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/format.hpp"
#include "base/temporary_folder_test.hpp"
#include "daemon/store/sqlite_store.hpp"
#include "daemon/store/store_check.hpp"
#include "daemon/store/store_contents_test.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;

/// The text where the schema has this version or a later one.
std::string since(std::int64_t first, std::int64_t version, const std::string& text) {
  return version >= first ? text : "";
}

/// Written out, not made from today's columns: these tables lie on disks.
std::string tables_of(std::int64_t version) {
  const auto from = [&](std::int64_t first, const char* text) {
    return since(first, version, text);
  };
  const std::string sum = from(7, ", sum INTEGER NOT NULL DEFAULT 0");
  return "CREATE TABLE jobs (number INTEGER PRIMARY KEY, uid INTEGER NOT NULL, submitted_ns INTEGER"
         " NOT NULL, state TEXT NOT NULL, final INTEGER NOT NULL, ended_ns INTEGER, exit_code"
         " INTEGER, reason TEXT NOT NULL, attempts INTEGER NOT NULL, failures INTEGER NOT NULL,"
         " cancelled INTEGER NOT NULL, request TEXT, early_restarts TEXT, owner TEXT NOT NULL, wish"
         " TEXT NOT NULL" +
         from(4, ", leader INTEGER NOT NULL DEFAULT 0") +
         from(5,
              ", kind TEXT NOT NULL DEFAULT 'batch', restarts INTEGER NOT NULL DEFAULT 0"
              ", promised_ns INTEGER") +
         from(8,
              ", submission_key TEXT, submission_content INTEGER"
              ", used_ns INTEGER NOT NULL DEFAULT 0") +
         sum + from(7, ", fixed_sum INTEGER NOT NULL DEFAULT 0") +
         ") STRICT;"
         "CREATE INDEX jobs_open ON jobs (number) WHERE final = 0;"
         "CREATE INDEX jobs_ended ON jobs (ended_ns, number) WHERE final = 1;"
         "CREATE INDEX jobs_of_user ON jobs (uid, number);"
         "CREATE INDEX jobs_in_state ON jobs (state, number);"
         "CREATE TRIGGER jobs_stay_final BEFORE UPDATE ON jobs WHEN OLD.final = 1 AND NEW.final = 0"
         "  BEGIN SELECT RAISE(ABORT, 'a job that was final is not any more'); END;"
         "CREATE TABLE commands (job INTEGER PRIMARY KEY REFERENCES jobs (number) ON DELETE "
         "CASCADE,"
         " command TEXT NOT NULL" +
         sum +
         ") STRICT;"
         "CREATE TABLE attempts (job INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,"
         " attempt INTEGER NOT NULL, gpu TEXT NOT NULL, device TEXT NOT NULL, profile TEXT NOT "
         "NULL,"
         " start INTEGER NOT NULL, started_ns INTEGER NOT NULL, began_ns INTEGER, ended_ns INTEGER,"
         " \"end\" TEXT, why TEXT NOT NULL, exit_code INTEGER, peak_mib INTEGER" +
         from(2, ", predicted_ns INTEGER, predicted_by TEXT, lasted_ns INTEGER") +
         from(3, ", too_large_mib INTEGER") + sum +
         ", PRIMARY KEY (job, attempt)) STRICT, WITHOUT ROWID;"
         "CREATE TABLE instances (device TEXT PRIMARY KEY, gpu TEXT NOT NULL, profile TEXT NOT "
         "NULL,"
         " start INTEGER NOT NULL, made_ns INTEGER NOT NULL, gone_ns INTEGER" +
         sum +
         ") STRICT, WITHOUT ROWID;"
         "CREATE INDEX instances_gone ON instances (gone_ns) WHERE gone_ns IS NOT NULL;"
         "CREATE TABLE events (number INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL, kind TEXT NOT"
         " NULL, job INTEGER, uid INTEGER, gpu TEXT NOT NULL, text TEXT NOT NULL" +
         sum +
         ") STRICT;"
         "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL" +
         sum +
         ") STRICT, WITHOUT ROWID;"
         "CREATE TABLE numbers (name TEXT PRIMARY KEY, highest INTEGER NOT NULL" +
         sum + ") STRICT, WITHOUT ROWID;" +
         from(2,
              "CREATE TABLE learnt (uid INTEGER NOT NULL, application TEXT NOT NULL, batch INTEGER"
              " NOT NULL, gpu_model TEXT NOT NULL, profile TEXT NOT NULL, record TEXT NOT NULL") +
         since(2, version, sum) +
         from(2,
              ", PRIMARY KEY (uid, application, batch, gpu_model, profile)) STRICT, WITHOUT "
              "ROWID;") +
         from(8,
              "CREATE UNIQUE INDEX jobs_by_key ON jobs (uid, submission_key) WHERE submission_key"
              " IS NOT NULL;"
              "CREATE INDEX attempts_open ON attempts (job, attempt) WHERE ended_ns IS NULL;") +
         from(9,
              "CREATE TABLE plans (number INTEGER PRIMARY KEY, plan TEXT NOT NULL, state TEXT NOT"
              " NULL, ended_ns INTEGER, sum INTEGER NOT NULL DEFAULT 0) STRICT;");
}

/// A finished job, a waiting one and one that runs, as schema 1 had them.
constexpr const char* rows = R"(
INSERT INTO jobs (number, uid, submitted_ns, state, final, ended_ns, exit_code, reason, attempts,
  failures, cancelled, request, early_restarts, owner, wish) VALUES
 (1, 1000, 1700000000000000000, 'failed', 1, 1700000100000000000, 3, 'exit code 3', 2, 2, 0, NULL,
  NULL, '{"gid":100,"groups":[4,27],"uid":1000,"user":"ada","v":1}',
  '{"asked":"1g.5gb","checkpoint_grace_ns":0,"request":{"profile":"1g.5gb"},"stop_'
  || 'grace_ns":30000000000,"retries":1,"v":1}'),
 (2, 0, 1700000050000000000, 'queued', 0, NULL, NULL, '', 0, 0, 0,
  '{"at_least":6000,"compute":1,"mib":5000,"v":1}', '{"ns":[1700000060000000000],"v":1}',
  '{"gid":0,"uid":0,"v":1}',
  '{"asked":"5000 MiB","checkpoint_grace_ns":5,"name":"second","priority":7,"request":'
  || '{"compute":1,"mib":5000},"restartable":true,"stop_grace_ns":1,"v":1}'),
 (4, 1000, 1700000070000000000, 'running', 0, NULL, NULL, '', 1, 0, 1, NULL, NULL,
  '{"gid":100,"uid":1000,"v":1}',
  '{"asked":"half a GPU","checkpoint_grace_ns":0,"request":{"nearest":true,"thousandths":500},'
  || '"stop_grace_ns":0,"v":1}');
INSERT INTO commands (job, command) VALUES
 (1, '{"argv":["false"],"environment":["A=b"],"v":1,"working_directory":"/"}'),
 (2, '{"argv":["sh","-c","exit"],"environment":[],"v":1,"working_directory":"/tmp"}'),
 (4, '{"argv":["true"],"environment":["PATH=/bin"],"v":1,"working_directory":"/"}');
INSERT INTO attempts (job, attempt, gpu, device, profile, start, started_ns, began_ns, ended_ns,
  "end", why, exit_code, peak_mib) VALUES
 (1, 1, 'GPU-a', 'MIG-1', '1g.5gb', 0, 1700000010000000000, 1700000011000000000,
  1700000020000000000, 'ended-itself', 'exit code 3', 3, 120),
 (1, 2, 'GPU-a', 'MIG-1', '1g.5gb', 0, 1700000030000000000, 1700000031000000000,
  1700000040000000000, 'ended-itself', 'exit code 3', 3, NULL),
 (4, 1, 'GPU-a', 'MIG-2', '3g.20gb', 4, 1700000080000000000, 1700000081000000000, NULL, NULL, '',
  NULL, NULL);
INSERT INTO instances (device, gpu, profile, start, made_ns, gone_ns) VALUES
 ('MIG-1', 'GPU-a', '1g.5gb', 0, 1700000009000000000, 1700000045000000000),
 ('MIG-2', 'GPU-a', '3g.20gb', 4, 1700000079000000000, NULL);
INSERT INTO events (number, at_ns, kind, job, uid, gpu, text) VALUES
 (8, 1700000000000000000, 'job-submitted', 1, 1000, '', 'job 1 was submitted'),
 (9, 1700000079000000000, 'instance-created', NULL, NULL, 'GPU-a', 'an instance was made');
INSERT INTO settings (key, value) VALUES ('boot', 'b'), ('scheduler', 'online');
INSERT INTO numbers (name, highest) VALUES ('job', 4), ('event', 9);
)";

class SchemaFile : public testing::Test {
 protected:
  /// As a program of that time left it, with or without a log.
  void make(std::int64_t version) const {
    std::ofstream(file()).close();
    auto connection = SqliteConnection::open(fs::canonical(file()));
    ASSERT_TRUE(connection);
    std::string text =
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; BEGIN;"
        "PRAGMA application_id = 1131177313; " +
        fmt::format("PRAGMA user_version = {};", version) + tables_of(version) + rows;
    if (version >= 6) text += "INSERT INTO numbers (name, highest) VALUES ('batch', 33);";
    if (version >= 2)
      text += R"(INSERT INTO learnt (uid, application, batch, gpu_model, profile, record) VALUES
        (1000, 'resnet', 64, 'A100-40GB', '2g.10gb',
         '{"application":"resnet","batch":64,"gpu_model":"A100-40GB","profile":"2g.10gb",'
         || '"time_s":0.1}'
        );)";
    if (version >= 7) text += sums_of_7;
    if (version >= 8) text += sums_of_8;
    const auto made = connection->run(text + "COMMIT;");
    ASSERT_TRUE(made) << made.error().text();
  }
  [[nodiscard]] fs::path file() const { return folder_.path() / "cleave.db"; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  /// What the rows above had as sums then.
  static constexpr const char* sums_of_7 = R"(
UPDATE jobs SET sum = -8988936674263197588, fixed_sum = 2940421728299433552 WHERE number = 1;
UPDATE jobs SET sum = 1964258310391254016, fixed_sum = -5537222966110824807 WHERE number = 2;
UPDATE jobs SET sum = -7669140241501676729, fixed_sum = -1883848085452164165 WHERE number = 4;
UPDATE commands SET sum = -5170894716417415251 WHERE job = 1;
UPDATE commands SET sum = -5221193925089205428 WHERE job = 2;
UPDATE commands SET sum = -8402834663190986771 WHERE job = 4;
UPDATE attempts SET sum = -9111419405196103452 WHERE job = 1 AND attempt = 1;
UPDATE attempts SET sum = -6017914585098781869 WHERE job = 1 AND attempt = 2;
UPDATE attempts SET sum = 6228283193922178719 WHERE job = 4 AND attempt = 1;
UPDATE instances SET sum = -7912529451996574663 WHERE device = 'MIG-1';
UPDATE instances SET sum = 590195512350694191 WHERE device = 'MIG-2';
UPDATE events SET sum = 390299771720693721 WHERE number = 8;
UPDATE events SET sum = -6079848411919789268 WHERE number = 9;
UPDATE settings SET sum = -278336926905887892 WHERE key = 'boot';
UPDATE settings SET sum = 6608046364882700938 WHERE key = 'scheduler';
UPDATE numbers SET sum = 2299101166855850802 WHERE name = 'job';
UPDATE numbers SET sum = 5983812658817637186 WHERE name = 'event';
UPDATE numbers SET sum = 8555663457419699744 WHERE name = 'batch';
UPDATE learnt SET sum = 3594968279971734223 WHERE uid = 1000;
)";
  /// And those of jobs with the columns of 8.
  static constexpr const char* sums_of_8 = R"(
UPDATE jobs SET sum = -6320588326614413322, fixed_sum = -5205527238508264265 WHERE number = 1;
UPDATE jobs SET sum = 6939433381801864660, fixed_sum = -185639221781273344 WHERE number = 2;
UPDATE jobs SET sum = -7366103380346496920, fixed_sum = -4480158814356668415 WHERE number = 4;
)";
  const TemporaryFolder folder_{quick_folder()};
};

class EarlierSchema : public SchemaFile, public testing::WithParamInterface<std::int64_t> {};

void expect_what_was_there(Store& store) {
  const auto contents = store.load();
  ASSERT_TRUE(contents) << contents.error().text();
  EXPECT_EQ(contents->last_job, 4);
  EXPECT_EQ(contents->last_event, 9);
  ASSERT_EQ(contents->jobs.size(), 2U);
  const JobRecord& waits = contents->jobs[0];
  EXPECT_EQ(waits.number, 2);
  EXPECT_EQ(waits.spec.name, "second");
  EXPECT_EQ(waits.spec.priority, 7);
  EXPECT_EQ(waits.request.at_least, MiB{6000});
  EXPECT_EQ(waits.early_restarts.size(), 1U);
  EXPECT_EQ(waits.leader, 0);
  EXPECT_FALSE(waits.is_replica());
  EXPECT_TRUE(contents->jobs[1].cancelled);
  ASSERT_EQ(contents->attempts.size(), 1U);
  EXPECT_EQ(contents->attempts[0].device, "MIG-2");
  EXPECT_FALSE(contents->attempts[0].ended);
  ASSERT_EQ(contents->instances.size(), 1U);
  EXPECT_EQ(contents->settings.at("scheduler"), "online");
  const auto over = store.job(1);
  ASSERT_TRUE(over && *over);
  EXPECT_EQ((*over)->owner.user, "ada");
  EXPECT_EQ((*over)->owner.groups, (std::vector<std::uint32_t>{4, 27}));
  EXPECT_EQ((*over)->exit_code, 3);
  EXPECT_EQ((*over)->spec.retries, 1);
  const auto command = store.command(1);
  ASSERT_TRUE(command && *command);
  EXPECT_EQ((*command)->environment, std::vector<std::string>{"A=b"});
  const auto attempts = store.attempts(1);
  ASSERT_TRUE(attempts) << attempts.error().text();
  ASSERT_EQ(attempts->size(), 2U);
  EXPECT_EQ(attempts->front().end, AttemptEnd::ended_itself);
  EXPECT_EQ(attempts->front().peak, MiB{120});
  EXPECT_EQ(store.events(0, {}, 10)->size(), 2U);
}

TEST_P(EarlierSchema, IsTakenOverWhole) {
  make(GetParam());
  ASSERT_FALSE(HasFatalFailure());
  fs::create_directories(folder_.path() / "jobs" / "4.1");
  const auto before = check_store(folder_.path());
  ASSERT_TRUE(before) << before.error().text();
  EXPECT_EQ(before->schema, GetParam());
  for (const Error& each : before->faults)
    EXPECT_NE(each.message.find("witness"), std::string::npos) << each.text();
  {
    auto store = SqliteStore::open(folder_.path());
    ASSERT_TRUE(store) << store.error().text();
    expect_what_was_there(**store);
    EXPECT_EQ((*store)->load()->learnt.size(), GetParam() >= 2 ? 1U : 0U);
    StoreBatch next;
    JobRecord& job = next.jobs.emplace_back();
    job.number = 5;
    job.spec.service.emplace().replicas = 2;
    next.commands.emplace_back(5, JobCommand{{"true"}, {}, "/"});
    next.plans.emplace_back().number = 1;
    next.usage.emplace_back().sums.jobs = 3;
    next.energies = {{1, {250, {}}}};
    ASSERT_TRUE((*store)->write(next, Durability::synced));
  }
  const auto after = check_store(folder_.path());
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_TRUE(after->faults.empty()) << after->faults.front().text();
  EXPECT_EQ(after->schema, schema_version());
  auto again = SqliteStore::open(folder_.path());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_TRUE((*again)->remarks().empty());
  EXPECT_TRUE((*(*again)->job(5))->is_replica());
  EXPECT_EQ((*again)->load()->last_job, 5);
  EXPECT_EQ((*again)->plans(INT64_MAX, 10)->size(), 1U);
  EXPECT_EQ((*(*again)->job(1))->energy.millijoules, 250);
  EXPECT_EQ((*(*again)->job(2))->energy, JobEnergy{});
  UsageQuery every;
  every.after.day = -1;
  EXPECT_EQ((*again)->usage(every)->front().sums.jobs, 3);
}

TEST_P(EarlierSchema, IsTakenOverWholeOrNotAtAll) {
  make(GetParam());
  ASSERT_FALSE(HasFatalFailure());
  {  // a table that the upgrade meets last is not there
    auto connection = SqliteConnection::open(fs::canonical(file()));
    ASSERT_TRUE(connection && connection->run("ALTER TABLE numbers RENAME TO other"));
  }
  const std::string before = bytes();
  EXPECT_FALSE(SqliteStore::open(folder_.path()));
  EXPECT_TRUE(bytes() == before);
  {
    auto connection = SqliteConnection::open(fs::canonical(file()));
    ASSERT_TRUE(connection && connection->run("ALTER TABLE other RENAME TO numbers"));
  }
  auto store = SqliteStore::open(folder_.path());
  ASSERT_TRUE(store) << store.error().text();
  expect_what_was_there(**store);
}

TEST_P(EarlierSchema, WithARowThatWasAlteredIsRefusedWhereItWasSummed) {
  make(GetParam());
  ASSERT_FALSE(HasFatalFailure());
  {
    auto connection = SqliteConnection::open(fs::canonical(file()));
    ASSERT_TRUE(connection && connection->run("UPDATE jobs SET uid = 0 WHERE number = 1"));
  }
  const auto store = SqliteStore::open(folder_.path());
  ASSERT_EQ(store.has_value(), GetParam() < 7) << "an upgrade must not sum what is wrong";
  const std::string refusal = store ? "row of number 1" : store.error().text();
  EXPECT_NE(refusal.find("row of number 1"), std::string::npos) << refusal;
}

INSTANTIATE_TEST_SUITE_P(All, EarlierSchema, testing::Range<std::int64_t>(1, 10));

TEST_F(SchemaFile, ThatIsNewerThanThisProgramIsRefusedAndLeftAlone) {
  { ASSERT_TRUE(SqliteStore::open(folder_.path())); }
  const std::int64_t newer = schema_version() + 1;
  {
    auto connection = SqliteConnection::open(fs::canonical(file()));
    ASSERT_TRUE(connection && connection->run(fmt::format("PRAGMA user_version = {}", newer)));
  }
  const std::string before = bytes();
  const auto store = SqliteStore::open(folder_.path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().kind, ErrorKind::bad_input);
  EXPECT_NE(store.error().text().find(
                fmt::format("it was written by a newer Cleave: its schema is {}, this program "
                            "knows {}; run that version",
                            newer, newer - 1)),
            std::string::npos)
      << store.error().text();
  const auto checked = check_store(folder_.path());
  ASSERT_TRUE(checked);
  ASSERT_EQ(checked->faults.size(), 1U);
  EXPECT_NE(checked->faults[0].message.find("newer Cleave"), std::string::npos);
  EXPECT_TRUE(bytes() == before);
}

}  // namespace
}  // namespace cleave
