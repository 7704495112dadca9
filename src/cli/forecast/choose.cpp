// `cleave choose`: which partition serves each job of a batch best, by Dyna-P's batch-aware
// partition predictor, and how many GPUs the choices take together.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/forecast/profiles.hpp"
#include "cli/say.hpp"
#include "cli/table.hpp"
#include "placement/admission.hpp"

namespace cleave::cli {

namespace {

struct ChooseCommandOptions {
  std::string jobs, repository, gpu, base, job;
  std::optional<double> lambda, margin;
  bool json = false;
};

using Choices = std::vector<PartitionChoice<ExactNumber>>;

Result<const GpuModel*> model_of(const ChooseCommandOptions& options) {
  if (options.gpu.empty()) return nullptr;
  auto model = find_gpu_model(options.gpu);
  if (!model) return fail_at("--gpu", model.error());
  return model;
}

/// The question of the file, with what the options say instead.
Result<BatchQuestion> ask(const ChooseCommandOptions& options, const GpuModel* model) {
  const auto text = read_text(options.jobs);
  if (!text) return std::unexpected(text.error());
  const bool from_repository = !options.repository.empty();
  auto question = parse_batch_question(*text, shown(options.jobs, 200),
                                       from_repository ? BatchParts::jobs_alone : BatchParts::all);
  if (!question) return question;
  if (from_repository) {
    if (model == nullptr)
      return fail(ErrorKind::bad_usage, "--repository", "it may hold several GPU models",
                  "add --gpu MODEL");
    if (!question->partitions.empty() || !question->rows.empty())
      return fail(ErrorKind::bad_usage, shown(options.jobs, 200),
                  "it has partitions and profiles of its own",
                  "leave them out, or leave out --repository");
    const auto repository = load_repository(options.repository);
    if (!repository) return std::unexpected(repository.error());
    fill_from(*question, *repository, *model);
  }
  for (const auto& partition : question->partitions)
    if (model != nullptr && model->find(partition.name) == nullptr)
      return fail(ErrorKind::bad_input, "--gpu",
                  fmt::format("the {} has no profile '{}', which {} has as a partition", model->key,
                              shown(partition.name), shown(options.jobs, 200)),
                  "name the GPU model that the partitions are of");
  question->weighing.lambda = options.lambda.value_or(question->weighing.lambda);
  question->weighing.margin = options.margin.value_or(question->weighing.margin);
  if (!options.base.empty())
    question->weighing.base = options.base == "full" ? BatchBase::full : BatchBase::own;
  if (options.job.empty()) return question;
  const auto ids = names_of(question->jobs, &ChoiceJob::id);
  std::erase_if(question->jobs, [&](const ChoiceJob& job) { return job.id != options.job; });
  if (!question->jobs.empty()) return question;
  return fail(ErrorKind::bad_input, "--job",
              fmt::format("there is no job '{}'", shown(options.job)),
              suggestion(options.job, ids));
}

/// Empty GPUs of the model that take all choices at once; the partitions are profiles of it.
Result<std::optional<std::int64_t>> gpus_for(const BatchQuestion& question, const Choices& choices,
                                             const GpuModel* model) {
  if (model == nullptr) return std::nullopt;
  std::vector<BatchRequest> requests;
  for (const auto& [partition, count] : demand_of(choices)) {
    const std::string& name = question.partitions[partition].name;
    requests.push_back({name, count});
  }
  if (requests.empty()) return 0;
  const auto one = load_fleet(fmt::format("1x{}", model->key), "all");
  if (!one) return std::unexpected(one.error());
  const auto answer = admit(Fleet(*one), requests, 0);
  if (!answer) return std::unexpected(answer.error());
  if (answer->fits) return 1;
  if (!answer->missing_gpus) return std::nullopt;
  return *answer->missing_gpus + 1;
}

void print_job(const BatchQuestion& question, const ChoiceJob& job,
               const PartitionChoice<ExactNumber>& choice) {
  say("{}: {} with batch {}{}\n", shown(job.id), shown(job.application), job.batch,
      job.deadline ? fmt::format(", deadline {}", *job.deadline) : "");
  Table table({"partition", "slices", "latency gain", "throughput gain", "weight", ""});
  for (std::size_t i = 0; i < question.partitions.size(); ++i) {
    const auto& partition = question.partitions[i];
    const std::string slices = fmt::format("{}", partition.slices);
    for (const auto& edge : choice.edges)
      if (edge.partition == i)
        table.add({shown(partition.name), slices, fmt::format("{:+.4f}", edge.delta_latency.value),
                   fmt::format("{:+.4f}", edge.delta_throughput.value),
                   fmt::format("{:+.4f}", edge.weight.value), choice.choice == i ? "chosen" : ""});
    for (const ExcludedPartition& one : choice.excluded)
      if (one.partition == i)
        table.add({shown(partition.name), slices, "-", "-", "-",
                   one.reason == Exclusion::memory ? "does not fit, or not measured with this batch"
                                                   : "misses the deadline"});
  }
  say("{}", table.text());
  const bool nowhere =
      choice.edges.empty() && std::ranges::all_of(choice.excluded, [](const auto& one) {
        return one.reason == Exclusion::memory;
      });
  if (nowhere) say("None of them is known to hold {} with this batch.\n", shown(job.application));
  say("\n");
}

void print_text(const BatchQuestion& question, const Choices& choices,
                std::optional<std::int64_t> gpus, const GpuModel* model) {
  for (std::size_t i = 0; i < choices.size(); ++i)
    print_job(question, question.jobs[i], choices[i]);
  const auto demand = demand_of(choices);
  std::vector<std::string> parts;
  std::int64_t slices = 0, placed = 0;
  for (const auto& [partition, count] : demand) {
    parts.push_back(fmt::format("{} x {}", count, shown(question.partitions[partition].name)));
    slices += count * question.partitions[partition].slices;
    placed += count;
  }
  say("lambda {}, margin {}: {} of {} have a partition{}{}; {} compute slices together{}\n",
      question.weighing.lambda, question.weighing.margin, placed, counted(choices.size(), "job"),
      parts.empty() ? "" : ": ", fmt::join(parts, ", "), slices,
      gpus && *gpus > 0 ? fmt::format("; {} empty {} hold them at once", *gpus, model->key) : "");
}

Result<int> choose_command(const ChooseCommandOptions& options) {
  const auto model = model_of(options);
  if (!model) return std::unexpected(model.error());
  const auto question = ask(options, *model);
  if (!question) return std::unexpected(question.error());
  const Choices choices = choose_partitions(*question);
  const auto gpus = gpus_for(*question, choices, *model);
  if (!gpus) return std::unexpected(gpus.error());
  if (options.json) {
    Json answer = to_json(*question, choices);
    if (*model != nullptr) answer["gpus"] = *gpus ? Json(**gpus) : Json();
    print(answer);
  } else {
    print_text(*question, choices, *gpus, *model);
  }
  if (choices.empty() || !demand_of(choices).empty()) return 0;
  return fail(ErrorKind::infeasible, shown(options.jobs, 200), "no job has a partition",
              "measure the batch on more partitions, or give it more memory or time");
}

}  // namespace

void add_choose(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "choose",
      "Choose the best partition for each job of a batch, from measurements",
      "cleave choose --jobs examples/profiles/inference-jobs.json --lambda 0.5", choose_command);
  command
      ->add_option("--jobs", options.jobs,
                   "A file of jobs, partitions and profiles (docs/choosing.md)")
      ->required()
      ->check(not_empty());
  command
      ->add_option("--lambda", options.lambda,
                   "1: only latency counts, 0: only throughput; 0.5 by default")
      ->check(number_from(0, 1));
  command
      ->add_option("--margin", options.margin,
                   "Time added to a latency before it is compared with a deadline")
      ->check(number_from(0, 1e15));
  command
      ->add_option("--base", options.base,
                   "What weights are relative to: own, the largest batch on the same partition; "
                   "full, the largest batch on the largest partition")
      ->check(Check::one_of({"own", "full"}));
  command->add_option("--job", options.job, "Answer for this job only")->check(not_empty());
  command
      ->add_option(
          "--repository", options.repository,
          "Take partitions and profiles from a profile repository; the file then has only jobs")
      ->check(not_empty());
  command
      ->add_option("--gpu", options.gpu,
                   "GPU model; also says how many of them the batch needs at the same time")
      ->check(not_empty());
  add_json(*command, options.json);
}

}  // namespace cleave::cli
