// Everything that reads bytes from outside is given damaged bytes: files cut, spliced, with bits
// flipped and tokens replaced by awkward ones. Every answer must be a value or an error with a
// message; accepted input must then run. The address and undefined-behaviour sanitizers would show
// crashes.
//
// Seeded, so that a failure repeats: the seed is printed. CLEAVE_FUZZ_ROUNDS sets the number of
// rounds (default 2000 a reader).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>

#include "base/json.hpp"
#include "base/random.hpp"
#include "base/ratio.hpp"
#include "base/text.hpp"
#include "forecast/choice/choice_file.hpp"
#include "forecast/choice/profile_exports.hpp"
#include "forecast/memory/memory_series.hpp"
#include "forecast/shape/hf_config.hpp"
#include "forecast/shape/model_file.hpp"
#include "forecast/shape/model_memory.hpp"
#include "forecast/shape/tensor_file_maker_test.hpp"
#include "forecast/source/cuda_ir.hpp"
#include "forecast/time/completion_time.hpp"
#include "model/fleet_file.hpp"
#include "model/layout_text.hpp"
#include "model/smi_node.hpp"
#include "model/workload_file.hpp"
#include "planner/given_goal.hpp"
#include "planner/plan_text.hpp"
#include "planner/planner.hpp"
#include "runner/job_speed_text.hpp"
#include "runner/reports/memory_report_line.hpp"
#include "runner/reports/out_of_memory_text.hpp"
#include "simulate/simulator.hpp"
#include "simulate/traces/alibaba2023.hpp"
#include "simulate/traces/miso_trace.hpp"
#include "simulate/traces/philly.hpp"
#include "simulate/traces/sacct.hpp"
#include "simulate/traces/swf.hpp"

namespace cleave {
namespace {

int rounds() {
  const char* given = std::getenv("CLEAVE_FUZZ_ROUNDS");
  return given == nullptr ? 2000 : std::atoi(given);
}

/// Tokens that often confuse readers.
constexpr std::string_view awkward[] = {
    "",
    "-1",
    "0",
    "1e308",
    "1e-308",
    "-0",
    "99999999999999999999",
    "NaN",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"",
    "\\",
    "\\u0000",
    ",",
    "\n",
    "\r\n",
    "@",
    "7g.40gb",
    "2g.10gb",
    "none",
    "%d",
    "\xff\xfe",
    "\xe2\x82",
    "1.5",
    "\"count\": 4000000",
    "{\"a\":",
    "2147483648",
    "-9223372036854775808",
    "1g.5gb+me",
    "0x10",
    "9GiB",
    "3e9",
    "\"phases\": {\"cpu_s\": 3e9, \"compute_s\": 3e9, \"bandwidth_s\": 3e9}",
    "instances",
    ":",
    "=",
    "4x1g.5gb",
    "99999x",
    "100000",
    "|",
    "| GPU instances: |\n",
    "4:2",
    " MIG ",
    "+----+\n",
    ";"};

std::string mutated(std::string text, Random& random) {
  const std::size_t changes = 1 + random.below(4);
  for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = random.below(text.size());
    const std::size_t length = std::min<std::size_t>(random.below(12), text.size() - at);
    switch (random.below(6)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 3:
        text.insert(at, awkward[random.below(std::size(awkward))]);
        break;
      case 4:
        text.replace(at, length, awkward[random.below(std::size(awkward))]);
        break;
      default:
        text.insert(random.below(text.size()), text.substr(at, length * 5));
        break;
    }
  }
  return text;
}

/// Feeds mutations of `seeds` to `read`, which returns the error or nothing.
void fuzz(std::initializer_list<std::string_view> seeds,
          const std::function<std::optional<Error>(const std::string&)>& read) {
  for (const std::string_view seed : seeds)
    ASSERT_FALSE(read(std::string(seed))) << "the seed itself is refused: " << seed;
  std::size_t accepted = 0;
  for (int round = 0; round < rounds(); ++round) {
    Random random(static_cast<std::uint64_t>(round));
    const std::string text =
        mutated(std::string(seeds.begin()[random.below(seeds.size())]), random);
    SCOPED_TRACE("round " + std::to_string(round) + ": " + shown(text, 400));
    const auto error = read(text);
    accepted += error ? 0 : 1;
    if (!error) continue;
    ASSERT_FALSE(error->message.empty());
    ASSERT_EQ(exit_code(error->kind), 2) << error->text();
    for (const char c : error->text())
      ASSERT_GE(static_cast<unsigned char>(c), 0x20) << "control characters reach the terminal";
  }
  // Both branches of every reader are taken.
  EXPECT_GT(accepted, 0U);
  EXPECT_LT(accepted, static_cast<std::size_t>(rounds()));
}

template <class Value>
std::optional<Error> error_of(const Result<Value>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

constexpr std::string_view fleet_seed =
    R"({"gpus": [{"name": "n0/%d", "model": "A100-40GB", "count": 2, )"
    R"("instances": [{"profile": "4g.20gb", "start": 0, "workload": "a%d", "movable": false, )"
    R"("pin": "n0"}, {"profile": "1g.5gb", "start": 6, "owned": false, "memory_mib": "3GiB"}]},
 {"name": "n1", "model": "RTX-PRO-6000-BW-96GB"}], "nodes": [{"name": "n0", "cpus": 4}], )"
    R"("waiting": [{"workload": "w", "profile": "2g.10gb", "group": "g", "spread": "node"}]})";
constexpr std::string_view jobs_seed =
    "{\"id\": \"a\", \"arrival_s\": 1.5, \"profile\": \"1g.5gb\", \"duration_s\": 30, \"speed\": "
    "{\"1g.5gb\": 0.36, \"7g.40gb\": 1, \"none\": 1.1}}\n"
    "{\"id\": \"b\", \"memory_mib\": \"9GiB\", \"compute_slices\": 2, \"duration_s\": 60, "
    "\"deadline_s\": "
    "100, \"priority\": -3}\n"
    "{\"id\": \"c\", \"phases\": {\"cpu_s\": 1, \"compute_s\": 9}, \"memory\": {\"base_mib\": 10, "
    "\"iterations\": 5}}\n"
    "{\"id\": \"d\", \"duration_s\": 3, \"gpus\": 2, \"together\": \"node\"}\n"
    "{\"id\": \"e\", \"duration_s\": 3, \"instances\": \"3x1g.5gb\", \"together\": \"gpu\"}\n"
    "{\"id\": \"f\", \"duration_s\": 3, \"instances\": 2, \"gpu_share\": 0.3, \"share_rule\": "
    "\"nearest\", \"flat\": true}\n";
constexpr std::string_view csv_seed =
    "id,arrival_s,profile,memory_mib,duration_s,speed,instances,gpus,together\n"
    "a,0,1g.5gb,,5,\"{\"\"1g.5gb\"\": 0.5}\",2,,spread\nb,2,,9000,7.5,,,,\nc,2,,,7,,,3,node\n";
constexpr std::string_view trace_seed =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_"
    "time,"
    "scheduled_time\n"
    "p0,12000,16384,1,1000,,LS,Running,0,12537496,0\np1,6000,12288,1,460,V100M16|V100M32,BE,Failed,"
    "427061,"
    "12902960,427061\n"
    "p2,1,1,2,1000,,LS,Pending,5,9,\np4,1,1,2,1000,,LS,Running,6,9,7\np5,1,1,3,500,,LS,Running,7,9,"
    "7\n"
    "p3,1,1,0,0,,LS,Running,3,8,4\n";

constexpr std::string_view philly_seed =
    "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
    "2017-10-09 06:13:03,2951.0,1,2951.0,6214e9\n2017-10-09 "
    "06:14:03,29.0,3,87.0,6214e9\n2017-09-29 07:58:32,860662.0,8,6885296.0,6c71a0\n";

constexpr std::string_view miso_seed =
    "job,model,batch_size,runtime_on_full_gpu_s,iterations\n0,transformer,32,120,2980\n"
    "1,resnet,128,120,3684\n2,nobody,1,60,5\n";

constexpr std::string_view sacct_seed =
    "JobID|Submit|Start|End|Elapsed|State|AllocTRES\n"
    "1|2024-01-31T08:00:00|2024-01-31T08:00:04|2024-01-31T12:30:10|04:30:06|COMPLETED|billing=16,"
    "cpu=8,"
    "gres/gpu:a100=1,gres/gpu=1,mem=31.50G,node=1\n"
    "1.batch|2024-01-31T08:00:04|2024-01-31T08:00:04|2024-01-31T12:30:10|04:30:06|COMPLETED|cpu=8\n"
    "2_1|1706690000|1706690001|1706690100|1-00:30:00|CANCELLED by 7|gres/gpu:a100_1g.5gb=1\n"
    "3|2024-01-31T08:45:00|None|Unknown|00:00:00|PENDING|\n"
    "4|1706690000|1706690001|1706690100|00:10:00|COMPLETED|gres/gpu:1g.5gb=4,gres/gpu=4,node=1\n"
    "5|1706690000|1706690001|1706690100|00:10:00|FAILED|cpu=9,gres/gpu:a100=2,node=2\n";

constexpr std::string_view sacct_ends_seed =
    "AllocTRES|State|JobIDRaw|Submit|Start|End|\n"
    "gres/gpu=1|FAILED|5|2024-02-28T23:00:00|2024-02-28T23:00:00|2024-03-01T01:00:00|\n";

constexpr std::string_view swf_seed =
    "; Version: 2.2\n"
    "   1      0     4 16206   7    -1    -1   7  43200    -1  1  3  1 -1  1 -1 -1 -1\n"
    "   2    600     1  25.5   1    -1    -1   1   3600    -1  0  4  1 -1  1 -1 -1 -1\n"
    "   3    600     1    -1   1    -1    -1   1   3600    -1  5  4  1 -1  1 -1 -1 -1\n"
    "   4    700     1    60  15    -1    -1  15   3600    -1  1  4  1 -1  1 -1 -1 -1\n";

constexpr std::string_view smi_seed =
    "$ nvidia-smi mig -lgi; nvidia-smi mig -lci\n"
    "+-------------------------------------------------------+\n"
    "| GPU instances:                                        |\n"
    "| GPU   Name             Profile  Instance   Placement  |\n"
    "|                          ID       ID       Start:Size |\n"
    "|=======================================================|\n"
    "|   0  MIG 1g.5gb+me        20       11          6:1    |\n"
    "+-------------------------------------------------------+\n"
    "|   0  MIG 4g.20gb           5        2          0:4    |\n"
    "+-------------------------------------------------------+\n"
    "|   3  MIG 3g.20gb           9        1          4:4    |\n"
    "+-------------------------------------------------------+\n"
    "+--------------------------------------------------------------------+\n"
    "| Compute instances:                                                 |\n"
    "| GPU     GPU       Name             Profile   Instance   Placement  |\n"
    "|       Instance                       ID        ID       Start:Size |\n"
    "|         ID                                                         |\n"
    "|====================================================================|\n"
    "|   0      2       MIG 1c.4g.20gb       0         0          0:1     |\n"
    "+--------------------------------------------------------------------+\n"
    "|   3      1       MIG 3g.20gb          2         0          0:3     |\n"
    "+--------------------------------------------------------------------+\n";

/// Small and empty, so that a million invented GPUs are never simulated here.
const FleetFile& small_fleet() {
  static const FleetFile fleet = *parse_fleet_in_short("2xA100-40GB,1xA30-24GB", {});
  return fleet;
}

/// Accepted input must run to an end; only overlong runs may be refused.
void run(const FleetFile& fleet, const Workload& workload) {
  for (const char* spec : {"online", "full-gpu"}) {
    const auto summary = simulate(fleet, workload, *parse_scheduler(spec));
    if (!summary) {
      ASSERT_EQ(summary.error().kind, ErrorKind::infeasible) << summary.error().text();
      continue;
    }
    ASSERT_EQ(summary->jobs,
              summary->finished + summary->failed + summary->rejected + summary->waiting);
  }
}

TEST(Fuzz, FleetFiles) {
  const Workload workload = *parse_workload(jobs_seed, "jobs");
  fuzz({fleet_seed}, [&](const std::string& text) {
    const auto fleet = parse_fleet(text, "fleet.json", {});
    if (fleet && fleet->gpus.size() < 100) run(*fleet, workload);
    return error_of(fleet);
  });
}

/// A fleet of two GPUs with work that moves, a plan for it, and its goal.
constexpr std::string_view planned_fleet = R"({"gpus": [
  {"name": "n0/0", "model": "A100-40GB", "instances": [
    {"profile": "3g.20gb", "start": 0, "workload": "a"}, {"profile": "1g.5gb", "start": 6, )"
                                           R"("owned": false}]},
  {"name": "n0/1", "model": "A100-40GB", "instances": [
    {"profile": "2g.10gb", "start": 4, "workload": "b", "group": "g", "max_moving": 1}, )"
                                           R"({"profile": "1g.5gb", "start": 0}]}],
  "waiting": [{"workload": "c", "profile": "1g.5gb"}]})";
constexpr std::string_view planned_goal = R"({"gpus": [
  {"name": "n0/0", "model": "A100-40GB", "instances": [
    {"profile": "2g.10gb", "start": 0, "workload": "b"}, {"profile": "1g.5gb", "start": 6, )"
                                          R"("owned": false}]},
  {"name": "n0/1", "model": "A100-40GB", "instances": [
    {"profile": "3g.20gb", "start": 4, "workload": "a"}, {"profile": "1g.5gb", "start": 0, )"
                                          R"("workload": "d"}]}]})";

TEST(Fuzz, PlanFiles) {
  const auto fleet = parse_fleet(planned_fleet, "fleet", {});
  ASSERT_TRUE(fleet);
  const auto problem = PlanProblem::make(*fleet, ProblemKind::joint, "fleet");
  ASSERT_TRUE(problem);
  const auto plan = make_plan(*problem, {});
  ASSERT_TRUE(plan);
  const std::string text = plan_text(*problem, *plan);
  ASSERT_TRUE(given_moves(*fleet, text, "fleet", "plan"));
  fuzz({text}, [&](const std::string& torn) -> std::optional<Error> {
    const auto moves = given_moves(*fleet, torn, "fleet", "plan");
    if (!moves && moves.error().kind == ErrorKind::infeasible)
      return std::nullopt;  // another state: understood
    if (!moves) return moves.error();
    (void)fault(moves->from.problem, moves->moves);  // legal or not, there must be an answer
    return std::nullopt;
  });
}

TEST(Fuzz, GoalFiles) {
  const auto fleet = parse_fleet(planned_fleet, "fleet", {});
  ASSERT_TRUE(fleet);
  fuzz({planned_goal}, [&](const std::string& torn) -> std::optional<Error> {
    const auto goal = parse_fleet(torn, "goal", {});
    if (!goal) return goal.error();
    if (goal->gpus.size() > 1000) return std::nullopt;
    const auto given = given_goal(*fleet, *goal, "fleet", "goal");
    if (!given) return given.error();
    const auto plan = plan_to(given->from.problem, given->target, {true});
    if (!plan && plan.error().kind != ErrorKind::infeasible) return plan.error();
    return std::nullopt;
  });
}

TEST(Fuzz, WorkloadFiles) {
  fuzz({jobs_seed, csv_seed}, [](const std::string& text) {
    const auto workload = parse_workload(text, "jobs");
    if (workload) {
      run(small_fleet(), *workload);
      EXPECT_TRUE(parse_workload(workload_text(*workload), "again"));
    }
    return error_of(workload);
  });
}

TEST(Fuzz, Traces) {
  TraceOptions options;
  options.shares = Shares::alibaba;
  options.processors_per_gpu = 7;
  const auto try_out =
      [&](Result<Workload> (*reader)(std::string_view, const std::string&, const TraceOptions&),
          std::initializer_list<std::string_view> seeds) {
        fuzz(seeds, [&](const std::string& text) {
          const auto workload = reader(text, "trace", options);
          if (workload) run(small_fleet(), *workload);
          return error_of(workload);
        });
      };
  try_out(read_alibaba2023, {trace_seed});
  try_out(read_philly, {philly_seed});
  try_out(read_miso, {miso_seed});
  try_out(read_sacct, {sacct_seed, sacct_ends_seed});
  try_out(read_swf, {swf_seed});
}

TEST(Fuzz, ListingsOfNvidiaSmi) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  const Geometry geometry(model, ProfileChoice().on(model));
  fuzz({smi_seed, "No MIG-enabled devices found.\n"},
       [&](const std::string& text) -> std::optional<Error> {
         const auto listing = parse_smi(text, "smi.txt");
         const auto gpus =
             listing ? smi_gpus(*listing, geometry, {}) : std::unexpected(listing.error());
         if (!gpus) {
           EXPECT_TRUE(gpus.error().place.starts_with("smi.txt: line ")) << gpus.error().text();
           return gpus.error();
         }
         // Never an instance that the text does not have, nor two on one slice.
         for (const SmiGpu& gpu : *gpus) {
           PlacementSet state;
           for (const SmiGpuInstance& instance : gpu.instances) state.insert(instance.placement);
           EXPECT_EQ(state.size(), static_cast<int>(gpu.instances.size()));
           EXPECT_TRUE(geometry.legal(state));
         }
         return std::nullopt;
       });
}

constexpr std::string_view profiles_seed =
    R"({"application":"bert","gpu_model":"A30-24GB","batch":16,"profile":"1g.6gb","offload":true,)"
    R"("counters":{"sm_activity":0.93,"sm_occupancy":0.5},"time_s":200,"peak_memory_mib":4100,)"
    R"("throughput_per_s":80,"p98_latency_s":2,"samples":3,"date":"2025-03-31",)"
    R"("x-run":{"host":"n0"}}
{"application":"bert","gpu_model":"A30-24GB","batch":16,"profile":"4g.24gb",)"
    R"("counters":{"sm_occupancy":0.25},"time_s":50,"peak_memory_mib":4200,"tokens_per_s":300}
)";

TEST(Fuzz, ProfileRepositories) {
  fuzz({profiles_seed}, [](const std::string& text) -> std::optional<Error> {
    ProfileRepository repository;
    const auto lines = add_profiles(repository, text, "r", MergeRule::mean);
    if (!lines) return lines.error();
    // Accepted input is written back unchanged, and everything can be exported from it.
    const std::string written = repository_text(repository);
    ProfileRepository again;
    EXPECT_TRUE(add_profiles(again, written, "w", MergeRule::mean));
    EXPECT_EQ(repository_text(again), written);
    EXPECT_EQ(training_table(repository, {}).rows + training_table(repository, {}).left_out.size(),
              repository.records().size());
    const auto measured = reward_question(repository, {});
    EXPECT_TRUE(!measured || parse_reward_question(to_json(measured->question).dump(), "q"));
    EXPECT_TRUE(
        parse_batch_question(to_json(batch_tables(repository, gpu_models().front())).dump(), "q"));
    return std::nullopt;
  });
}

TEST(Fuzz, QuestionsOfChoice) {
  fuzz({R"({"alpha": 0.5, "gpu_sms": 132, "perf_full": 82, "configs": [{"name": "1g.12gb", )"
        R"("sms": 16, "occupancy": 0.048, "capacity": 11.0, "peak": 11.0, "perf": 6.5, )"
        R"("offload": true}, {"name": "2g.24gb", "sms": 32, "instance_occupancy": 0.3, )"
        R"("capacity": 23, "peak": 15, "perf": 31}]})",
        R"({"alpha": 1, "capacity": 24, "gpu_sms": 132, "occupancy": 0.1, "peak": 16, "perf": 1, )"
        R"("perf_full": 4, "sms": 32})"},
       [](const std::string& text) -> std::optional<Error> {
         const auto question = parse_reward_question(text, "q");
         if (!question) return question.error();
         const Recommendation answer = recommend(question->instances, question->basis);
         for (const Reward& each : answer.rewards) EXPECT_TRUE(std::isfinite(each.reward));
         EXPECT_EQ(best_by_alpha(question->instances, question->basis, 2).empty(),
                   question->instances.empty());
         return std::nullopt;
       });
  fuzz({R"({"lambda": 0.5, "margin": 0.1, "base": "full", "partitions": [{"name": "1g.6gb", )"
        R"("slices": 1, "memory": 6}, {"name": "2g.12gb", "slices": 2, "memory": 12}], )"
        R"("jobs": [{"id": "a", "model": "m", "batch": 4, "memory": {"1g.6gb": 5, )"
        R"("2g.12gb": 5.5}, "deadline": 3}, {"id": "b", "model": "m", "batch": 8, "memory": 7}], )"
        R"("profiles": [{"model": "m", "batch": 4, "partition": "1g.6gb", "latency": 2, )"
        R"("throughput": 3}, {"model": "m", "batch": 8, "partition": "2g.12gb", "latency": 1, )"
        R"("throughput": 7}]})"},
       [](const std::string& text) -> std::optional<Error> {
         const auto question = parse_batch_question(text, "q");
         if (!question) return question.error();
         const auto choices = choose_partitions(*question);
         EXPECT_EQ(choices.size(), question->jobs.size());
         for (const auto& choice : choices)
           EXPECT_EQ(choice.edges.size() + choice.excluded.size(), question->partitions.size());
         return std::nullopt;
       });
  fuzz({R"({"gpu_sms": 132, "gpu_memory": 94.5, "instances": [{"sms": 16, "memory": 11, )"
        R"("count": 7}]})",
        "{}"},
       [](const std::string& text) -> std::optional<Error> {
         const auto question = parse_waste_question(text, "q");
         if (!question) return question.error();
         EXPECT_TRUE(!*question || wasted_resources((*question)->gpu, (*question)->instances).sms);
         return std::nullopt;
       });
}

/// A shape that was read must answer all questions about models.
void ask_about(const ModelFile& model) {
  for (const bool train : {false, true}) {
    MemoryOptions options;
    options.train = train;
    options.batch = 3;
    const auto forecast = forecast_memory(model, options, "model");
    // Quantised weights are not trained.
    if (train && !forecast && forecast.error().kind == ErrorKind::bad_usage) continue;
    ASSERT_EQ(forecast.has_value(), model.shape.has_value());
    if (!forecast) continue;
    for (const ProfileFit& fit : profile_fits(*forecast, **find_gpu_model("A100-40GB")))
      ASSERT_NE(*fit.fits, fit.offload.has_value());
  }
}

constexpr std::string_view config_seed =
    R"({"model_type": "qwen2_moe", "num_hidden_layers": 24, "hidden_size": 2048, )"
    R"("num_attention_heads": 16, "num_key_value_heads": 16,
 "intermediate_size": 5632, "moe_intermediate_size": 1408, "num_experts": 60, )"
    R"("num_experts_per_tok": 4, "vocab_size": 151936,
 "tie_word_embeddings": false, "use_sliding_window": true, "sliding_window": 32768, )"
    R"("mlp_only_layers": [1, 2],
 "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "gptq", "bits": 4}, )"
    R"("layer_types": ["sliding_attention"]})";
constexpr std::string_view t5_seed =
    R"({"model_type": "t5", "num_layers": 12, "num_decoder_layers": 6, "d_model": 768, )"
    R"("num_heads": 12, "d_kv": 64, "d_ff": 2048, "vocab_size": 32128, )"
    R"("feed_forward_proj": "gated-gelu"})";
constexpr std::string_view shapes_seed =
    R"({"models": [{"name": "a", "family": "gemma2", "layers": 26, "hidden": 2304, "heads": 8, )"
    R"("kv_heads": 4, "head_dim": 256, "ffn": 9216,
 "vocab": 256000, "max_positions": 8192, "sliding_window": 4096, "tied_embeddings": true, )"
    R"("source": "x"}]})";

TEST(Fuzz, ModelConfigurations) {
  fuzz({config_seed, t5_seed}, [](const std::string& text) {
    const auto shape = parse_hf_config(text, "config.json");
    if (shape) ask_about({*shape, "", std::nullopt});
    return error_of(shape);
  });
  fuzz({shapes_seed}, [](const std::string& text) {
    const auto shape = parse_model_shapes(text, "a", "shapes.json");
    if (shape) ask_about({*shape, "", std::nullopt});
    return error_of(shape);
  });
}

/// Reads are within the file and none is large.
ByteSource watched(const std::string& bytes) {
  ByteSource file = made_up::source(bytes);
  file.read = [read = file.read, &bytes](std::uint64_t offset, std::size_t length) {
    EXPECT_LE(length, std::max<std::size_t>(bytes.size(), 1U << 16));
    return read(offset, length);
  };
  return file;
}

TEST(Fuzz, HeadersOfWeights) {
  const std::string tensors = made_up::small_llama(), gguf = made_up::small_gguf();
  fuzz({tensors}, [](const std::string& text) {
    const auto model = read_safetensors(watched(text));
    if (model) ask_about(*model);
    return error_of(model);
  });
  fuzz({gguf}, [](const std::string& text) {
    const auto model = read_gguf(watched(text));
    if (model) ask_about(*model);
    return error_of(model);
  });
}

TEST(Fuzz, MemorySeries) {
  fuzz({"iteration,requested_mib,allocated_mib\n1,100,90\n2,,\n3,120.5,101\n4,130,108\n5,141,"
        "117\n6,150,126\n"
        "7,161,133\n8,170,141\n9,181,150\n"},
       [](const std::string& text) {
         const auto series = read_memory_series(text, "s.csv", {});
         if (!series) return error_of(series);
         for (const char* spec :
              {"trend:shift=on;plateau=on;noise=any;interval=prediction", "laws"}) {
           const auto forecaster = make_forecaster(spec);
           for (const auto& said : watch(forecaster->get(), series->reports, MiB{120}).said)
             EXPECT_TRUE(!said || said->to_ask_for >= said->at_least);
         }
         return error_of(series);
       });
}

TEST(Fuzz, ReportsOfJobs) {
  fuzz({report_line({3, 100, MiB{4096}, MiB{4300}}), report_line({1, {}, MiB{1}, MiB{1}}),
        report_line({2, 9, MiB{40}, MiB{8}, MiB{615}, MiB{9}, MiB{20}})},
       [](const std::string& text) -> std::optional<Error> {
         const auto report = parse_report_line(text, "report");
         if (!report) return report.error();
         EXPECT_GE(report->requested.value, 0);
         EXPECT_TRUE(parse_report_line(report_line(*report), "again")) << text;
         return {};
       });
}

TEST(Fuzz, OutputOfJobs) {
  fuzz({"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has",
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4294967296 bytes."},
       [](const std::string& text) -> std::optional<Error> {
         const auto mark = recognise_out_of_memory(text);
         if (!mark) return Error{ErrorKind::bad_input, "", "not a sign of memory that ran out", ""};
         EXPECT_TRUE(!mark->requested || mark->requested->value >= 0) << text;
         return {};
       });
  fuzz({"1g.5gb=0.36,7g.40gb=1"},
       [](const std::string& text) { return error_of(parse_speeds(text)); });
  fuzz({"cpu=1,transfer=0.5,compute=8,bandwidth=2"},
       [](const std::string& text) { return error_of(parse_phases(text)); });
  fuzz({"miso:resnet:64", "rodinia:gaussian"},
       [](const std::string& text) { return error_of(speeds_like(text)); });
}

TEST(Fuzz, Json) {
  fuzz({fleet_seed, R"([1, -2.5e3, "\u00e9", null, true, {"a": [[]]}])"},
       [](const std::string& text) { return error_of(parse_json(text, "x")); });
}

TEST(Fuzz, LayoutsAndSpecs) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  const Geometry geometry(model, ProfileChoice().on(model));
  fuzz({"4g.20gb@0,2g.10gb@4,1g.5gb+me@6", "", " 1g.5gb@0 , 1g.5gb@1"},
       [&](const std::string& text) {
         const auto layout = parse_layout(text, geometry);
         EXPECT_TRUE(!layout || geometry.judge(*layout).illegal || layout->size() <= 8);
         return error_of(layout);
       });
  fuzz({"online:threshold=0.5;load=joint,full-gpu", "online:policy=first-fit"},
       [](const std::string& text) { return error_of(parse_schedulers(text)); });
  fuzz({"five", "1g.5gb,A100-40GB:2g.10gb"}, [&](const std::string& text) -> std::optional<Error> {
    const auto choice = ProfileChoice::parse(text);
    if (!choice) return choice.error();
    const GpuModel* only = &model;
    return error_of(choice->check(std::span(&only, 1)));
  });
  fuzz({"4xA100-40GB,2xA30-24GB"}, [](const std::string& text) {
    // A count of millions is allowed but slow to build: those are left to the benchmarks.
    if (text.size() > 60) return std::optional(Error{ErrorKind::bad_input, "", "too long", ""});
    for (const std::string_view part : split(text, ','))
      if (parse_integer(part.substr(0, part.find('x'))).value_or(0) > 1000)
        return std::optional(Error{ErrorKind::bad_input, "", "too many", ""});
    return error_of(parse_fleet_in_short(text, {}));
  });
}

constexpr std::string_view measured_seed =
    "app,batch,slices,whole_s,time_s\na,1,1,0.5,2.5\na,8,7,1.5,1.5\n\"b, "
    "c\",4,2,1e1,\nb,16,3,2,4.25\n";
constexpr std::string_view asked_seed =
    "slices,app,batch,whole_s\n1,x,1,0.5\n,y,8,1.5\n7,z,1e3,-2\n";

/// Two kinds of jobs on three profiles, small enough that the model's file is short.
MeasuredJobs few_measured_jobs() {
  std::string text = "batch,slices,whole_s,time_s\n";
  for (const int batch : {1, 2, 4, 8, 16, 32})
    for (const int slices : {1, 2, 4, 7})
      text += std::to_string(batch) + "," + std::to_string(slices) + "," +
              std::to_string(batch + 3) + "," + std::to_string(3.0 + batch * 7.0 / slices) + "\n";
  return *read_measured_jobs(text, "jobs", {});
}

/// Any accepted model answers every row, and is written back unchanged.
void ask(const CompletionTime& model) {
  for (const double number : {0.0, -1.0, 1.0, 4.0, 1e30, 1e-300}) {
    const std::vector<double> row(model.features().size(), number);
    EXPECT_GT(model.seconds(row), 0);
    const auto forecast = model.forecast(row);
    EXPECT_TRUE(!forecast || forecast->lower <= forecast->upper);
  }
  EXPECT_TRUE(CompletionTime::load(model.save(), "again"));
}

TEST(Fuzz, CompletionTimes) {
  MeasuredJobsOptions options;
  options.group = "app";
  fuzz({measured_seed}, [&](const std::string& text) {
    return error_of(read_measured_jobs(text, "measured.csv", options));
  });
  const std::vector<std::string> features = {"batch", "slices", "whole_s"};
  fuzz({asked_seed}, [&](const std::string& text) {
    return error_of(read_asked_jobs(text, "asked.csv", features));
  });

  CompletionTimeOptions training;
  training.form = TimeForm::ratio;
  training.whole = "whole_s";
  training.boosting.rounds = 2;
  const auto model = CompletionTime::train(few_measured_jobs(), "time_s", training);
  ASSERT_TRUE(model) << model.error().text();
  fuzz({model->save()}, [](const std::string& text) {
    const auto read = CompletionTime::load(text, "model.json");
    if (read) ask(*read);
    return error_of(read);
  });
}

TEST(Fuzz, IrOfCudaSources) {
  const std::string seed =
      "source_filename = \"a.cu\"\n"
      "@table = global [2 x ptr] [ptr @_Z4moreIiEvm, ptr @\"odd name\"], align 8\n"
      "define void @_Z20__device_stub__saxpyfPf(float %0, ptr %1) #0 {\n"
      "  %3 = call i32 @cudaLaunch(ptr nonnull @_Z20__device_stub__saxpyfPf)\n  ret void\n}\n"
      "define void @_Z4moreIiEvm(i64 %0) {\n  call void @main()\n  ret void\n}\n"
      "define noundef i32 @main(i32 %0) {\n"
      "  %3 = call i32 @cudaMalloc(ptr nonnull %1, i64 noundef 4194304) #5\n"
      "  %4 = invoke i32 @cudaMallocPitch(ptr %1, ptr %2, i64 9, i64 8)\n"
      "          to label %5 unwind label %6\n"
      "  %7 = call i32 @cleave_cudaMalloc3D(ptr %1, i64 600, i64 2, i64 3)\n"
      "  %8 = call i32 @cudaConfigureCall(i64 34359738384, i32 1, i64 4294967552, i32 1, i64 9, "
      "ptr null)\n"
      "  %9 = call i32 @cudaLaunch(ptr @_Z20__device_stub__saxpyfPf)\n"
      "  %10 = call i32 @cudaFree(ptr %1)\n  ret i32 0\n}\n";
  fuzz({seed}, [](const std::string& text) {
    auto module = read_cuda_ir(text, "a.cu");
    if (!module) return error_of(module);
    std::vector<SourceModule> modules = {*module, std::move(*module)};
    keep_what_main_reaches(modules);
    for (const SourceFunction& function : modules.front().functions)
      for (const SourceAllocation& each : function.allocations)
        EXPECT_GE(each.bytes.value_or(0), 0) << text;
    return std::optional<Error>();
  });
}

TEST(Fuzz, Numbers) {
  fuzz({"9GiB", "512 MiB", "1.5"},
       [](const std::string& text) { return error_of(parse_size(text)); });
  fuzz({"0.4", "-12.25", "1"},
       [](const std::string& text) { return error_of(Ratio::parse(text)); });
}

}  // namespace
}  // namespace cleave
