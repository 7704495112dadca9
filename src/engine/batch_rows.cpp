#include "engine/batch_rows.hpp"

#include "forecast/choice/profile_exports.hpp"

namespace cleave {

std::vector<BatchRow> batch_rows_of(const ProfileRepository& repository, const GpuModel& model,
                                    std::size_t kind) {
  std::vector<BatchRow> rows;
  for (const BatchQuestion::Row& row : batch_tables(repository, model).rows) {
    const Profile* profile = model.find(row.partition);
    if (profile == nullptr) continue;
    rows.push_back({row.application, row.measured.batch, kind,
                    static_cast<int>(profile - model.profiles.data()), row.measured.latency,
                    row.measured.throughput});
  }
  return rows;
}

}  // namespace cleave
