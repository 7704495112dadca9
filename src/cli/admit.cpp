// `cleave admit`: does a batch of requests fit on a fleet, and if not, how many GPUs are missing.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/say.hpp"
#include "placement/admission.hpp"

namespace cleave::cli {

namespace {

struct AdmitCommandOptions {
  std::string fleet, batch, add, profiles = "all";
  bool json = false;
};

constexpr std::int64_t most_requests = 1'000'000'000;

Result<std::vector<BatchRequest>> read_batch(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  const std::string place = shown(path, 200);
  const auto document = parse_json(*text, place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  std::vector<BatchRequest> batch;
  for (JsonReader& request : in.objects("requests")) {
    batch.push_back(
        {request.text("profile"), request.integer_if("count", 0, most_requests).value_or(1)});
    request.done();
  }
  if (!in.has("requests"))
    in.refuse("", "the key 'requests' is missing",
              "a batch is {\"requests\": [{\"profile\", \"count\"}]}");
  in.done();
  if (error) return std::unexpected(*error);
  return batch;
}

/// The model of added GPUs as an index into the fleet's.
Result<std::size_t> added_model(const AdmitCommandOptions& options, const FleetFile& fleet) {
  const auto models =
      names_of(fleet.geometries, [](const Geometry& geometry) { return geometry.model().key; });
  if (options.add.empty()) {
    if (models.size() == 1) return std::size_t{0};
    return fail(ErrorKind::bad_usage, "--add",
                fmt::format("the fleet has {} models", models.size()),
                fmt::format("say which one to add: {}", any_of(models)));
  }
  const auto model = find_gpu_model(options.add);
  if (!model) return fail_at("--add", model.error());
  const auto found = std::ranges::find(models, (*model)->key);
  if (found == models.end())
    return fail(ErrorKind::bad_usage, "--add", fmt::format("the fleet has no {}", (*model)->key),
                fmt::format("it has {}", any_of(models)));
  return static_cast<std::size_t>(found - models.begin());
}

Result<int> admit_command(const AdmitCommandOptions& options) {
  const auto file = load_fleet(options.fleet, options.profiles);
  if (!file) return std::unexpected(file.error());
  const auto batch = read_batch(options.batch);
  if (!batch) return std::unexpected(batch.error());
  const auto added = added_model(options, *file);
  if (!added) return std::unexpected(added.error());
  const auto answer = admit(Fleet(*file), *batch, *added);
  if (!answer) return fail_at(shown(options.batch, 200), answer.error());
  if (options.json) {
    print(Json{{"fits", answer->fits},
               {"missing_gpus", answer->missing_gpus ? Json(*answer->missing_gpus) : Json(nullptr)},
               {"exact_by", answer->exact_by}});
    return 0;
  }
  const std::string_view model = file->geometries[*added].model().key;
  const std::string said =
      answer->fits ? "The batch fits on the fleet as it is, without moving anything"
      : answer->missing_gpus
          ? fmt::format(
                "The batch does not fit; {} more empty {} would be enough, and fewer would not",
                *answer->missing_gpus, model)
          : fmt::format(
                "The batch does not fit, and adding {} does not help: it needs another model",
                model);
  say("{} (exact, by {}).\n", said, answer->exact_by);
  return 0;
}

}  // namespace

void add_admit(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "admit",
      "Check whether a batch of requests fits on a fleet, and how many GPUs are missing if not",
      "cleave admit --fleet 4xA100-40GB --batch examples/batches/class.json", admit_command);
  command
      ->add_option("--fleet", options.fleet,
                   "A fleet file, or empty GPUs: 4xA100-40GB, or 4x8xA100-80GB on four nodes")
      ->required();
  command->add_option("--batch", options.batch, "A file {\"requests\": [{\"profile\", \"count\"}]}")
      ->required();
  command->add_option(
      "--add", options.add,
      "GPU model to add if GPUs are missing; required for fleets of several models");
  add_profiles(*command, options.profiles);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
