#include "daemon/job_list_text.hpp"

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "control/records_test.hpp"
#include "daemon/views.hpp"

namespace cleave {
namespace {

TEST(JobListText, IsTheTextOfTheDocument) {
  RandomRecords records(20261121);
  for (int i = 0; i < 2000; ++i) {
    const JobRecord job = records.any_job(1 + i);
    AttemptRecord attempt = records.any_attempt({job.number, 1});
    if (records.chance(0.5)) attempt.ended.reset();
    const ApiJob view = job_view(job, records.chance(0.7) ? &attempt : nullptr,
                                 [](const std::string& uuid) { return std::int64_t(uuid.size()) - 1; });
    std::string text = "before";
    append_job_text(text, view);
    ASSERT_EQ(text, "before" + api_text(to_json(view, false)));
  }
}

}  // namespace
}  // namespace cleave
