// What was used of GPUs: rows of the store and of what is not written yet, added up as the client
// asks, in pieces.

#include <algorithm>
#include <tuple>

#include "api/usage_documents.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "daemon/service/service.hpp"

namespace cleave {

namespace {

constexpr std::size_t rows_a_piece = 500, most_sums = 10'000;
constexpr std::int64_t usual_days = 30;
constexpr const char* usual_by = "user";

/// What a sum adds up.
struct UsageSum {
  std::string user;
  UsageSums sums;
  double gpu_hours = 0, unmetered = 0;
};

double hours(Duration time, std::int64_t slices) {
  return slices > 0 ? in_seconds(time) / 3600 / static_cast<double>(slices) : 0;
}

}  // namespace

/// Sums being made for one answer.
struct UsageListing {
  ApiCallPtr call;
  std::vector<UsageBy> by;
  std::int64_t since = 0;
  UsageQuery query;
  std::map<UsageKey, UsageSum> sums;

  [[nodiscard]] bool has(UsageBy what) const { return std::ranges::find(by, what) != by.end(); }
  /// The key with what rows are not told apart by left out.
  [[nodiscard]] UsageKey key_of(const UsageKey& row) const {
    UsageKey key;
    key.kind = row.kind;
    if (has(UsageBy::day)) key.day = row.day;
    if (has(UsageBy::gpu)) key.gpu = row.gpu;
    if (has(UsageBy::user)) key.party.uid = row.party.uid;
    if (has(UsageBy::account)) key.party.gid = row.party.gid;
    if (has(UsageBy::application)) key.party.application = row.party.application;
    return key;
  }
  void add(const UsageRow& row) {
    UsageSum& sum = sums[key_of(row.key)];
    sum.user = row.user;
    sum.sums += row.sums;
    sum.gpu_hours += hours(row.sums.slice_time, row.gpu_slices);
    sum.unmetered += hours(row.sums.unmetered, row.gpu_slices);
  }
  /// Of what is not written yet.
  [[nodiscard]] bool wants(const UsageRow& row) const {
    const bool seen =
        !query.uid || (row.key.kind == UseKind::jobs && row.key.party.uid == *query.uid);
    return seen && row.key.day >= since && row.key.day <= query.until;
  }
};

namespace {

ApiUsage usage_view(const UsageListing& listing, const UsageKey& key, const UsageSum& sum,
                    const GpuIndexOf& index_of) {
  ApiUsage view;
  view.whose = std::string(use_kind_names[static_cast<std::size_t>(key.kind)]);
  const bool jobs = key.kind == UseKind::jobs;
  if (jobs && listing.has(UsageBy::user)) {
    view.uid = key.party.uid;
    view.user = sum.user.empty() ? fmt::format("{}", key.party.uid) : sum.user;
  }
  if (jobs && listing.has(UsageBy::account)) view.account = UserBook::group_name(key.party.gid);
  if (jobs && listing.has(UsageBy::application)) view.application = key.party.application;
  if (listing.has(UsageBy::gpu)) {
    view.gpu = key.gpu;
    view.gpu_index = index_of(key.gpu);
  }
  if (listing.has(UsageBy::day)) view.day = day_text(key.day);
  view.jobs = sum.sums.jobs;
  view.attempts = sum.sums.attempts;
  view.lost = sum.sums.lost;
  view.moves = sum.sums.moves;
  view.slice_hours = hours(sum.sums.slice_time, 1);
  view.gpu_hours = sum.gpu_hours;
  view.unmetered = sum.unmetered;
  if (sum.sums.unmetered < sum.sums.slice_time || sum.sums.millijoules > 0) {
    view.energy_j = static_cast<double>(sum.sums.millijoules) / 1000;
    view.energy_kwh = *view.energy_j / 3.6e6;
  }
  return view;
}

/// In the order in which rows are told apart; jobs before what is not theirs.
bool comes_before(const std::vector<UsageBy>& by, const ApiUsage& a, const ApiUsage& b) {
  const auto rank = [](const ApiUsage& each) {
    return std::ranges::find(usage_whose_names, each.whose) - usage_whose_names.begin();
  };
  const auto not_jobs_last = [](const std::optional<std::string>& text) {
    return std::pair(!text.has_value(), text.value_or(""));
  };
  for (const UsageBy each : by) {
    if (each == UsageBy::gpu && std::tie(a.gpu_index, a.gpu) != std::tie(b.gpu_index, b.gpu))
      return std::tie(a.gpu_index, a.gpu) < std::tie(b.gpu_index, b.gpu);
    if (each == UsageBy::day && a.day != b.day) return a.day < b.day;
    const auto member = each == UsageBy::user      ? &ApiUsage::user
                        : each == UsageBy::account ? &ApiUsage::account
                                                   : &ApiUsage::application;
    const bool of_party = each != UsageBy::gpu && each != UsageBy::day;
    if (of_party && a.*member != b.*member)
      return not_jobs_last(a.*member) < not_jobs_last(b.*member);
  }
  return std::pair(rank(a), a.uid) < std::pair(rank(b), b.uid);
}

}  // namespace

/// The question; nothing if it was refused.
std::shared_ptr<UsageListing> Service::usage_question(const ApiCallPtr& call) {
  const auto by = call->text("by"), since = call->text("since"), until = call->text("until"),
             user = call->text("user");
  if (!call->query_is_fine()) return nullptr;
  const auto listing = std::make_shared<UsageListing>();
  listing->call = call;
  const auto words = parse_usage_by(by.value_or(usual_by), "query: by");
  if (!words) {
    call->refuse(words.error());
    return nullptr;
  }
  listing->by = *words;
  const auto day = [&](const std::optional<std::string>& text, std::int64_t otherwise,
                       const char* place) -> std::optional<std::int64_t> {
    if (!text) return otherwise;
    const auto read = parse_day(*text);
    if (!read)
      call->refuse(Error{ErrorKind::bad_input, place,
                         fmt::format("'{}' is not a day", shown(*text)),
                         "write days like 2026-05-04; they are those of UTC"});
    return read;
  };
  const std::int64_t today = day_of(doors_.now().wall);
  const auto last = day(until, today, "query: until");
  if (!last) return nullptr;
  const auto first = day(since, std::max<std::int64_t>(*last - usual_days + 1, 0), "query: since");
  if (!first) return nullptr;
  const auto whose = user_meant(call, user);
  if (!whose) return nullptr;
  listing->since = *first;
  listing->query.after.day = *first;
  listing->query.until = *last;
  listing->query.uid = *whose;
  listing->query.most = rows_a_piece;
  return listing;
}

/// Adds up the next rows, and at their end what is not written yet.
bool Service::usage_piece(UsageListing& listing) {
  const auto rows = doors_.store.usage(listing.query);
  if (!rows) {
    listing.call->refuse(rows.error(), 503);
    return false;
  }
  for (const UsageRow& row : *rows) listing.add(row);
  if (!rows->empty() && listing.sums.size() <= most_sums) {
    listing.query.after = rows->back().key;
    return true;
  }
  for (const UsageRow& row : doors_.control.unwritten_usage())
    if (listing.wants(row)) listing.add(row);
  if (listing.sums.size() > most_sums) {
    listing.call->refuse(Error{ErrorKind::infeasible, "query",
                               fmt::format("the answer would have more than {} rows", most_sums),
                               "ask for fewer days, or by fewer things"},
                         413);
    return false;
  }
  const GpuIndexOf indices = index_of();
  std::vector<ApiUsage> views;
  for (const auto& [key, sum] : listing.sums)
    views.push_back(usage_view(listing, key, sum, indices));
  std::ranges::stable_sort(
      views, [&](const ApiUsage& a, const ApiUsage& b) { return comes_before(listing.by, a, b); });
  Json list = Json::array();
  for (const ApiUsage& view : views) list.push_back(to_json(view));
  listing.call->reply(200, Json{{"since", day_text(listing.since)},
                                {"until", day_text(listing.query.until)},
                                {"usage", std::move(list)}});
  return false;
}

void Service::usage(const ApiCallPtr& call) {
  if (const auto listing = usage_question(call))
    in_pieces(call, [this, listing] { return usage_piece(*listing); });
}

}  // namespace cleave
