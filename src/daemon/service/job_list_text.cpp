#include "daemon/service/job_list_text.hpp"

#include <algorithm>
#include <iterator>

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "daemon/service/views.hpp"

namespace cleave {

namespace {

void append_text(std::string& to, const std::string& text) {
  const auto plain = [](unsigned char letter) {
    return letter >= 0x20 && letter < 0x7f && letter != '"' && letter != '\\';
  };
  if (std::ranges::all_of(text, plain)) {
    to += '"';
    to += text;
    to += '"';
  } else {
    to += api_text(Json(text));
  }
}

void append_time(std::string& to, const std::optional<Instant>& time) {
  if (time)
    fmt::format_to(std::back_inserter(to), "\"{}\"", utc_text(*time));
  else
    to += "null";
}

template <class Number>
void append_number(std::string& to, const std::optional<Number>& number) {
  if (number)
    fmt::format_to(std::back_inserter(to), "{}", *number);
  else
    to += "null";
}

void append_place(std::string& to, const std::optional<ApiPlace>& place) {
  if (!place) {
    to += "null";
    return;
  }
  to += "{\"gpu\":";
  append_text(to, place->gpu);
  fmt::format_to(std::back_inserter(to), ",\"gpu_index\":{},\"device\":", place->gpu_index);
  append_text(to, place->device);
  to += ",\"profile\":";
  append_text(to, place->profile);
  fmt::format_to(std::back_inserter(to), ",\"start\":{}}}", place->start);
}

}  // namespace

void append_job_text(std::string& to, const ApiJob& job) {
  const auto out = std::back_inserter(to);
  fmt::format_to(out, "{{\"id\":{},\"name\":", job.id);
  append_text(to, job.name);
  to += ",\"user\":";
  append_text(to, job.user);
  fmt::format_to(out, ",\"uid\":{},\"state\":", job.uid);
  append_text(to, job.state);
  to += ",\"reason\":";
  append_text(to, job.reason);
  to += ",\"exit_code\":";
  append_number(to, job.exit_code);
  to += ",\"instance\":";
  append_place(to, job.instance);
  to += ",\"asked\":";
  append_text(to, job.asked);
  to += ",\"asks_now\":";
  append_text(to, job.asks_now);
  fmt::format_to(out, ",\"priority\":{},\"restartable\":{},\"movable\":{},\"deadline_at\":",
                 job.priority, job.restartable, job.movable);
  append_time(to, job.deadline_at);
  to += ",\"submitted_at\":";
  append_time(to, job.submitted_at);
  to += ",\"started_at\":";
  append_time(to, job.started_at);
  to += ",\"ended_at\":";
  append_time(to, job.ended_at);
  fmt::format_to(out, ",\"attempts\":{},\"early_restarts\":{},\"memory_mib\":", job.attempts,
                 job.early_restarts);
  append_number(to, job.memory ? std::optional(job.memory->value) : std::nullopt);
  to += ",\"energy_j\":null}";
}

}  // namespace cleave
