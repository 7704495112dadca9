#include "api/job_list.hpp"

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "base/random.hpp"
#include "control/records_test.hpp"
#include "daemon/service/views.hpp"

namespace cleave {
namespace {

TEST(JobListText, IsTheTextOfTheDocument) {
  RandomRecords records(20261121);
  for (int i = 0; i < 2000; ++i) {
    const JobRecord job = records.any_job(1 + i);
    AttemptRecord attempt = records.any_attempt({job.number, 1});
    if (records.chance(0.5)) attempt.ended.reset();
    const ApiJob view =
        job_view(job, records.chance(0.7) ? &attempt : nullptr,
                 [](const std::string& uuid) { return std::int64_t(uuid.size()) - 1; });
    std::string text = "before";
    append_job_text(text, view);
    ASSERT_EQ(text, "before" + api_text(to_json(view, false)));
  }
}

TEST(JobListText, IsReadFromTheTextAsFromTheDocument) {
  RandomRecords records(20261122);
  Random random(7);
  int damaged = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = "{\"jobs\":[";
    for (std::uint64_t many = random.below(3); many > 0; --many) {
      const JobRecord job = records.any_job(1 + i);
      const AttemptRecord attempt = records.any_attempt({job.number, 1});
      append_job_text(text, job_view(job, records.chance(0.7) ? &attempt : nullptr,
                                     [](const std::string&) { return std::int64_t{1}; }));
      if (many > 1) text += ',';
    }
    text += "]}\n";
    for (std::uint64_t harm = random.below(3); harm > 0; --harm) {
      const std::string_view letters = "{}[]\",:0159-.eaun";
      text[random.below(text.size())] = letters[random.below(letters.size())];
    }
    const auto quick = read_jobs_text(text, "it");
    const auto document = parse_json(text, "it");
    const auto careful = document ? read_jobs(*document, "it") : std::unexpected(document.error());
    ASSERT_EQ(quick.has_value(), careful.has_value()) << text;
    if (quick) {
      ASSERT_TRUE(*quick == *careful) << text;
    } else {
      ++damaged;
      ASSERT_EQ(quick.error().text(), careful.error().text());
    }
  }
  EXPECT_GT(damaged, 500);
}

}  // namespace
}  // namespace cleave
