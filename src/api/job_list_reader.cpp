// Lists of jobs may be long, and a document of all of them takes more time than all that is done
// with it. So the text is read into the jobs at once where it is as the daemon writes it; where
// anything is otherwise, it is read as every answer is, which also knows the words for what is
// wrong.

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "api/documents.hpp"
#include "api/time_text.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

/// What a value is put into, and by its kind how.
struct JobField {
  std::string_view key = {};
  std::string ApiJob::*text = nullptr;
  std::optional<Instant> ApiJob::*time = nullptr;
  bool ApiJob::*flag = nullptr;
  bool (*number)(ApiJob&, std::int64_t) = nullptr;
  bool may_be_null = false;
};

constexpr std::int64_t least_number = 0;

const auto& job_fields() {
  static const std::array fields = {
      JobField{.key = "id",
               .number = [](ApiJob& job, std::int64_t value) { return (job.id = value) >= 1; }},
      JobField{.key = "name", .text = &ApiJob::name},
      JobField{.key = "user", .text = &ApiJob::user},
      JobField{.key = "uid",
               .number =
                   [](ApiJob& job, std::int64_t value) {
                     job.uid = static_cast<std::uint32_t>(value);
                     return value >= least_number &&
                            value <= std::numeric_limits<std::uint32_t>::max();
                   }},
      JobField{.key = "state", .text = &ApiJob::state},
      JobField{.key = "reason", .text = &ApiJob::reason},
      JobField{.key = "exit_code",
               .number =
                   [](ApiJob& job, std::int64_t value) {
                     job.exit_code = static_cast<int>(value);
                     return value >= -1 && value <= 1000;
                   },
               .may_be_null = true},
      JobField{.key = "instance", .may_be_null = true},
      JobField{.key = "asked", .text = &ApiJob::asked},
      JobField{.key = "asks_now", .text = &ApiJob::asks_now},
      JobField{.key = "priority",
               .number =
                   [](ApiJob& job, std::int64_t value) {
                     job.priority = value;
                     return value >= -1'000'000 && value <= 1'000'000;
                   }},
      JobField{.key = "restartable", .flag = &ApiJob::restartable},
      JobField{.key = "movable", .flag = &ApiJob::movable},
      JobField{.key = "deadline_at", .time = &ApiJob::deadline_at, .may_be_null = true},
      JobField{.key = "submitted_at", .time = &ApiJob::submitted_at, .may_be_null = true},
      JobField{.key = "started_at", .time = &ApiJob::started_at, .may_be_null = true},
      JobField{.key = "ended_at", .time = &ApiJob::ended_at, .may_be_null = true},
      JobField{.key = "attempts",
               .number = [](ApiJob& job,
                            std::int64_t value) { return (job.attempts = value) >= least_number; }},
      JobField{.key = "early_restarts",
               .number =
                   [](ApiJob& job, std::int64_t value) {
                     return (job.early_restarts = value) >= least_number;
                   }},
      JobField{.key = "memory_mib",
               .number =
                   [](ApiJob& job, std::int64_t value) {
                     job.memory = MiB{value};
                     return value >= least_number;
                   },
               .may_be_null = true},
      JobField{.key = "energy_j", .may_be_null = true},
  };
  return fields;
}
constexpr std::size_t instance_field = 7;
constexpr std::size_t no_field = SIZE_MAX;
/// Larger whole numbers are left to the careful reader.
constexpr std::int64_t largest_read_here = std::int64_t{1} << 40;

/// Of nlohmann's SAX interface. Each call says whether the text is still as expected.
class JobListReader {
 public:
  std::vector<ApiJob> jobs;

  [[nodiscard]] bool complete() const { return place_ == Place::end; }

  bool null() {
    return place_ == Place::job && field_ != no_field && job_fields()[field_].may_be_null;
  }
  bool boolean(bool value) {
    if (place_ != Place::job || field_ == no_field || job_fields()[field_].flag == nullptr)
      return false;
    jobs.back().*(job_fields()[field_].flag) = value;
    return true;
  }
  bool number_integer(std::int64_t value) {
    if (value > largest_read_here || value < -largest_read_here) return false;
    if (place_ == Place::instance && number_ != nullptr)
      return value >= 0 && ((where().*number_ = value), true);
    if (place_ != Place::job || field_ == no_field || job_fields()[field_].number == nullptr)
      return false;
    return job_fields()[field_].number(jobs.back(), value);
  }
  bool number_unsigned(std::uint64_t value) {
    return value <= static_cast<std::uint64_t>(largest_read_here) &&
           number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double, const std::string&) { return false; }
  bool binary(Json::binary_t&) { return false; }
  bool string(std::string& value) {
    if (place_ == Place::instance && text_ != nullptr) {
      where().*text_ = std::move(value);
      return true;
    }
    if (place_ != Place::job || field_ == no_field) return false;
    const JobField& field = job_fields()[field_];
    if (field.text != nullptr) {
      jobs.back().*(field.text) = std::move(value);
      return true;
    }
    if (field.time == nullptr) return false;
    const auto time = parse_utc_text(value);
    jobs.back().*(field.time) = time;
    return time.has_value();
  }
  bool start_object(std::size_t) {
    if (place_ == Place::begin) {
      place_ = Place::document;
    } else if (place_ == Place::list) {
      place_ = Place::job;
      jobs.emplace_back();
      seen_ = 0;
      field_ = no_field;
    } else if (place_ == Place::job && field_ == instance_field) {
      place_ = Place::instance;
      jobs.back().instance.emplace();
      seen_inside_ = 0;
    } else {
      return false;
    }
    return true;
  }
  bool key(const std::string& name) {
    if (place_ == Place::document) return name == "jobs" && !std::exchange(has_list_, true);
    if (place_ == Place::instance) return inside(name);
    const auto& fields = job_fields();
    // They mostly come in this order.
    const std::size_t from = field_ == no_field ? 0 : field_ + 1;
    std::size_t found = no_field;
    for (std::size_t i = 0; i < fields.size() && found == no_field; ++i)
      if (fields[(from + i) % fields.size()].key == name) found = (from + i) % fields.size();
    field_ = found;
    if (found == no_field || (seen_ >> found & 1U) != 0) return false;
    seen_ |= 1U << found;
    return true;
  }
  bool end_object() {
    if (place_ == Place::instance) {
      place_ = Place::job;
      return true;
    }
    if (place_ == Place::job) {
      place_ = Place::list;
      constexpr std::uint32_t all =
          (1U << std::tuple_size_v<std::decay_t<decltype(job_fields())>>)-1;
      return seen_ == all;
    }
    place_ = Place::end;
    return has_list_;
  }
  bool start_array(std::size_t) {
    if (place_ != Place::document || !has_list_ || std::exchange(had_list_, true)) return false;
    place_ = Place::list;
    return true;
  }
  bool end_array() {
    place_ = Place::document;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) { return false; }

 private:
  enum class Place : std::uint8_t { begin, document, list, job, instance, end };

  ApiPlace& where() { return *jobs.back().instance; }
  bool inside(std::string_view name) {
    text_ = name == "gpu"       ? &ApiPlace::gpu
            : name == "device"  ? &ApiPlace::device
            : name == "profile" ? &ApiPlace::profile
                                : nullptr;
    number_ = name == "gpu_index" ? &ApiPlace::gpu_index
              : name == "start"   ? &ApiPlace::start
                                  : nullptr;
    const std::uint32_t bit = name == "gpu"       ? 1
                              : name == "device"  ? 2
                              : name == "profile" ? 4
                              : name == "start"   ? 8
                                                  : 16;
    if ((seen_inside_ & bit) != 0) return false;
    seen_inside_ |= bit;
    return text_ != nullptr || number_ != nullptr;
  }

  Place place_ = Place::begin;
  bool has_list_ = false, had_list_ = false;
  std::size_t field_ = no_field;
  std::uint32_t seen_ = 0, seen_inside_ = 0;
  std::string ApiPlace::*text_ = nullptr;
  std::int64_t ApiPlace::*number_ = nullptr;
};

}  // namespace

Result<std::vector<ApiJob>> read_jobs_text(std::string_view text, const std::string& place) {
  JobListReader reader;
  bool read = false;
  try {
    read = Json::sax_parse(text, &reader) && reader.complete();
  } catch (const Json::exception&) {
  }
  if (read) return std::move(reader.jobs);
  const auto document = parse_json(text, place);
  if (!document) return std::unexpected(document.error());
  return read_jobs(*document, place);
}

}  // namespace cleave
