// The table of what jobs say, held to what readers take.

#include "model/job_fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/read_text.hpp"
#include "model/job_spec.hpp"
#include "model/workload_file.hpp"

namespace cleave {
namespace {

/// Sizes that differ with all that a job says of its model.
Result<MiB> size_of(const ModelUse& use) {
  return MiB{1000 + static_cast<std::int64_t>(use.shape.size() + 10 * use.precision.size()) +
             use.context + (use.train ? 7 : 0)};
}

Result<Workload> read(const std::string& members) {
  return parse_workload(
      fmt::format(R"({{"id": "a", "duration_s": 1{}{}}})", members.empty() ? "" : ", ", members),
      "jobs", size_of, [](const KernelUse&) { return ComputeSlices{3}; });
}

/// The last of equal keys would be refused, so that a row's own members replace the usual ones.
std::string document(std::string_view beside, std::string_view key, std::string_view example) {
  std::string own = fmt::format(R"("{}": {})", key, example);
  if (!beside.empty()) own = fmt::format("{}, {}", beside, own);
  std::string usual;
  for (const char* member : {R"("id": "a")", R"("duration_s": 1)"}) {
    const std::string name = std::string(member).substr(0, std::string(member).find(':'));
    if (own.find(name) == std::string::npos) usual += fmt::format("{}, ", member);
  }
  return fmt::format("{{{}{}}}", usual, own);
}

TEST(JobFields, WorkloadsTakeEveryKeyAndHeedIt) {
  const ModelSizer models = size_of;
  const KernelSizer kernels = [](const KernelUse&) { return ComputeSlices{3}; };
  for (const JobField& field : job_fields()) {
    if (field.workload.empty()) continue;
    SCOPED_TRACE(field.workload);
    const auto with = parse_workload(document(field.beside, field.workload, field.example), "jobs",
                                     models, kernels);
    ASSERT_TRUE(with) << with.error().text();
    // Phases take the place of the duration beside them.
    const bool alone = field.beside.empty() || field.workload == "phases";
    const auto without = read(alone ? "" : std::string(field.beside));
    ASSERT_TRUE(without) << without.error().text();
    EXPECT_NE(workload_text(*with), workload_text(*without)) << "the key changes nothing";
  }
}

/// Words between quotes in the sources of the workload's reader.
std::set<std::string> words_of_the_reader() {
  std::set<std::string> words;
  const std::regex word(R"re("([a-z_]+)")re");
  for (const auto& file :
       std::filesystem::directory_iterator(source_dir() + "/src/model/workload")) {
    const auto text = read_text(file.path().string());
    if (!text) continue;
    for (std::sregex_iterator at(text->begin(), text->end(), word), end; at != end; ++at)
      words.insert((*at)[1]);
  }
  return words;
}

TEST(JobFields, WorkloadsTakeNoOtherKey) {
  std::set<std::string, std::less<>> known;
  for (const JobField& field : job_fields()) {
    known.insert(std::string(field.workload));
    known.insert(std::string(field.submission));
  }
  const std::set<std::string> words = words_of_the_reader();
  ASSERT_GT(words.size(), 50U) << "the sources are not read as they are written";
  for (const std::string& word : words) {
    if (known.contains(word)) continue;
    const auto answer = read(fmt::format(R"("{}": 1)", word));
    ASSERT_FALSE(answer) << word << " is taken, and the table does not have it";
    EXPECT_EQ(answer.error().message, fmt::format("unknown key '{}'", word))
        << "the table does not have it";
  }
}

TEST(JobFields, EveryFieldOfASubmissionHasOneRow) {
  std::set<std::string_view> seen;
  for (const JobField& field : job_fields()) {
    if (field.submission.empty()) continue;
    EXPECT_NE(submission_field(field), nullptr) << field.submission << " is not in a submission";
    EXPECT_TRUE(seen.insert(field.submission).second) << field.submission << " has two rows";
    EXPECT_FALSE(option_of(field).empty()) << field.submission << " has no option";
  }
  for (const FieldInfo& row : field_infos<Submission>)
    EXPECT_TRUE(row.use == FieldUse::stored || seen.contains(row.key))
        << row.key << " has no row in model/job_fields.cpp";
}

TEST(JobFields, EveryRowSaysWhatItMeans) {
  for (const JobField& field : job_fields()) {
    EXPECT_FALSE(help_of(field).empty()) << field.workload << field.submission;
    EXPECT_FALSE(field.value.empty()) << field.workload << field.submission;
    EXPECT_FALSE(help_of(field).ends_with('.')) << help_of(field);
  }
}

TEST(JobFields, AreDocumented) {
  const auto page = read_text(source_dir() + "/docs/job-fields.md");
  ASSERT_TRUE(page);
  EXPECT_NE(page->find(job_fields_table()), std::string::npos)
      << "put this table into docs/job-fields.md:\n"
      << job_fields_table();
}

TEST(JobFields, WorkloadsTakeTheNamesOfSubmissions) {
  const auto submitted = parse_workload(
      R"({"command": ["train"], "environment": ["A=b"], "directory": "/tmp", "name": "a",)"
      R"( "expected_s": 60, "model": {"name": "m", "memory_mib": 5000}, "retries": 2,)"
      R"( "stop_grace_s": 5, "checkpoint_signal": 10, "out_of_memory_code": 3, "priority": 4})",
      "jobs");
  ASSERT_TRUE(submitted) << submitted.error().text();
  const auto plain =
      parse_workload(R"({"id": "a", "duration_s": 60, "memory_mib": 5000, "priority": 4})", "jobs");
  ASSERT_TRUE(plain);
  EXPECT_EQ(workload_text(*submitted), workload_text(*plain));
  const auto error = [](const std::string& members) {
    const auto answer = read(members);
    return answer ? std::string("none") : answer.error().text();
  };
  EXPECT_EQ(error(R"("name": "b")"), "jobs:1: name: id says the same; leave one of the two out");
  EXPECT_EQ(error(R"("expected_s": 5)"),
            "jobs:1: expected_s: duration_s says the same; leave one of the two out");
  EXPECT_EQ(error(R"("shape": "m", "model": {"name": "m", "memory_mib": 5})"),
            "jobs:1: model: shape says the same; leave one of the two out");
  EXPECT_EQ(error(R"("model": {"name": "m"})"), "jobs:1: model: the key 'memory_mib' is missing");
  EXPECT_EQ(error(R"("retries": "two")"),
            "jobs:1: retries: expected a whole number from 0 to 1000, found the text 'two'");
}

}  // namespace
}  // namespace cleave
