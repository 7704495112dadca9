#include "slurm/slurm_setup.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// Of a template node, which only says which profiles there are, and as large as any node.
constexpr std::int64_t template_count = 1000;
constexpr std::string_view template_size =
    "Sockets=8 CoresPerSocket=64 ThreadsPerCore=2 RealMemory=8388608";

std::string gres_of(const SlurmSetup& setup, std::int64_t count) {
  std::vector<std::string> words;
  for (const Profile* profile : counted_profiles(*setup.model))
    words.push_back(fmt::format("{}:{}:{}", gres_name, profile->name, count));
  return fmt::format("{}", fmt::join(words, ","));
}

GresCounts nothing_of(const SlurmSetup& setup) {
  GresCounts counts;
  for (const Profile* profile : counted_profiles(*setup.model))
    counts[std::string(profile->name)] = 0;
  return counts;
}

/// In fair share an instance counts as the share of a GPU that others cannot have beside it.
std::string billing(const SlurmSetup& setup) {
  const GpuModel& gpu = *setup.model;
  const auto share = [&](const Profile& profile) {
    return std::max(static_cast<double>(profile.compute.value) / gpu.compute.value,
                    static_cast<double>(profile.memory.value) / gpu.memory_slices.value);
  };
  std::vector<std::string> words;
  for (const Profile* profile : counted_profiles(*setup.model))
    words.push_back(fmt::format("gres/{}:{}={:.3f}", gres_name, profile->name, share(*profile)));
  return fmt::format("{}", fmt::join(words, ","));
}

std::string accounted(const SlurmSetup& setup) {
  std::string text = fmt::format("gres/{}", gres_name);
  for (const Profile* profile : counted_profiles(*setup.model))
    text += fmt::format(",gres/{}:{}", gres_name, profile->name);
  return text;
}

std::string slurm_conf(const SlurmSetup& setup) {
  return fmt::format(
      R"(# What slurm.conf needs for Cleave. Merge it by hand: where a key stands there already, add
# these values to its own.
GresTypes={0}
PrologFlags=Alloc
Prolog={1}/prolog
Epilog={1}/epilog
TaskProlog={1}/task-prolog
JobSubmitPlugins=lua
AccountingStorageTRES={2}
# A batch job whose launch fails, as it may while munge or slurmctld is being started again, goes
# back in the queue; without this Slurm holds it until an administrator looks.
#   SchedulerParameters=...,nohold_on_prolog_fail
# Every node with GPUs of Cleave's: add this to its NodeName line. What is not cut has a type of its
# own, so that the sum never changes: Slurm drains a node that registers with another.
#   NodeName={3} ... Gres={4}
# Nodes that never run a job and have every profile. Slurm refuses jobs that no nodes could run as
# they are at the moment: without these, all that ask for profiles of which no node has any. So they
# need at least the CPUs and the memory of your largest node, its features (Feature=...) where jobs
# ask for them, and as many as the most nodes that one job may have.
NodeName={5} NodeAddr=127.0.0.1 NodeHostname={5} {8} State=DRAIN Reason="profiles" Gres={6}
# The partition needs these too, and billing by the share of a GPU. Where GresTypes has
# gpu as well, add gres/gpu=1.0; slurmctld does not start with weights of types that it lacks.
#   PartitionName=... Nodes=...,{5} TRESBillingWeights="{7}"
)",
      gres_name, setup.folder, accounted(setup), setup.nodes, node_gres_text(nothing_of(setup)),
      setup.template_nodes, gres_of(setup, template_count), billing(setup), template_size);
}

/// After `scontrol reconfigure` the counts are those of this file: nothing is promised until the
/// controller has looked again.
std::string gres_conf(const SlurmSetup& setup) {
  std::string text = "# What gres.conf needs for Cleave, on every node and on slurmctld's.\n";
  for (const Profile* profile : counted_profiles(*setup.model)) {
    text += fmt::format("NodeName={} Name={} Type={} Count=0 Flags=CountOnly\n", setup.nodes,
                        gres_name, profile->name);
    text += fmt::format("NodeName={} Name={} Type={} Count={} Flags=CountOnly\n",
                        setup.template_nodes, gres_name, profile->name, template_count);
  }
  text += fmt::format("NodeName={} Name={} Type={} Count={} Flags=CountOnly\n", setup.nodes,
                      gres_name, uncut_type, node_total);
  return text;
}

std::string lua_profiles(const SlurmSetup& setup) {
  auto profiles = counted_profiles(*setup.model);
  std::ranges::reverse(profiles);
  std::string text;
  for (const Profile* profile : profiles)
    text += fmt::format("  {{name = \"{}\", mib = {}}},\n", profile->name,
                        profile->usable ? profile->usable->value : 0);
  return text;
}

constexpr std::string_view lua_text =
    R"lua(-- Slurm's job_submit plugin for Cleave. A site with a plugin of its own calls
-- cleave_submit and cleave_modify from it.

local profiles = {  -- from small to large
@profiles@}
local gated = @gated@       -- cluster mode: jobs wait until Cleave releases them
local gate = @gate@   -- 2100-01-01

local function smallest(mib)
  for _, each in ipairs(profiles) do
    if each.mib >= mib then return each.name end
  end
end

-- "9G", "9GiB", "9000M" or "9000" in MiB.
local function mib_of(text)
  local number, unit = string.match(text, "^([%d%.]+)([MGmg]?)i?[Bb]?$")
  number = tonumber(number)
  if number == nil then return nil end
  if unit == "G" or unit == "g" then number = number * 1024 end
  return math.ceil(number)
end

local function known(name)
  for _, each in ipairs(profiles) do
    if each.name == name then return true end
  end
  return false
end

-- What the plugin for SPANK passes on.
local function asked_by_option(job_desc)
  for _, each in pairs(job_desc.spank_job_env or {}) do
    local asked = string.match(each, "^CLEAVE_MIG_MEMORY=(.+)$")
    if asked ~= nil then return asked end
  end
end

-- "--mig-memory=9G", or "mig-memory=9G" in a comment, becomes the smallest instance with as much.
local function memory_asked(job_desc)
  local asked = asked_by_option(job_desc) or
      string.match(job_desc.comment or "", "mig%-memory=(%S+)")
  if asked == nil then return slurm.SUCCESS end
  local mib = mib_of(asked)
  local name = mib and smallest(mib)
  if name == nil then
    slurm.log_user("mig-memory=%s: no instance of a GPU has as much", asked)
    return slurm.ERROR
  end
  job_desc.tres_per_node = "gres:mig:" .. name .. ":1"
  return slurm.SUCCESS
end

-- Slurm would read the type 3g.20gb without a count as a number.
local function with_counts(job_desc)
  local words = {}
  for word in string.gmatch(job_desc.tres_per_node or "", "[^,]+") do
    local name = string.match(word, "^gres[:/]mig:([^:]+)$") or string.match(word, "^mig:([^:]+)$")
    if name ~= nil and known(name) then word = "gres:mig:" .. name .. ":1" end
    if string.match(word, "^gres[:/]mig$") or string.match(word, "^gres[:/]mig:%d+$") or
        string.match(word, "mig:@uncut@") then
      slurm.log_user("--gres=mig needs a size, such as mig:%s", profiles[1].name)
      return slurm.ERROR
    end
    words[#words + 1] = word
  end
  if #words > 0 then job_desc.tres_per_node = table.concat(words, ",") end
  return slurm.SUCCESS
end

local function wants_instances(text)
  for word in string.gmatch(text or "", "[^,]+") do
    if string.find(word, "mig:", 1, true) and not string.find(word, ":0$") then return true end
  end
  return false
end

function cleave_submit(job_desc)
  local comment = job_desc.comment or ""
  if string.find(comment, "cleave:", 1, true) then
    slurm.log_user("a comment cannot have a word that begins with 'cleave:'")
    return slurm.ERROR
  end
  local said = memory_asked(job_desc)
  if said ~= slurm.SUCCESS then return said end
  said = with_counts(job_desc)
  if said ~= slurm.SUCCESS then return said end
  if not wants_instances(job_desc.tres_per_node) then return slurm.SUCCESS end
  if gated then
    local begins = job_desc.begin_time
    if begins == nil or begins <= os.time() then job_desc.begin_time = gate end
  end
  -- The controller sees these nowhere else. In cluster mode Slurm would refuse a job whose own
  -- nodes have no instances at this moment; those of an array cannot be changed later, and stay.
  local nodes, excluded = job_desc.req_nodes or "", job_desc.exc_nodes or ""
  if string.find(nodes .. excluded, "[^%w%[%],._-]") then
    slurm.log_user("these are not names of nodes: %s %s", nodes, excluded)
    return slurm.ERROR
  end
  local moved = gated and (job_desc.array_inx or "") == "" and nodes or ""
  local wish = moved .. (excluded == "" and "" or "!" .. excluded)
  if wish ~= "" then
    job_desc.comment = comment .. (comment == "" and "" or " ") .. "cleave:was=" .. wish
  end
  if moved ~= "" then job_desc.req_nodes = "" end
  return slurm.SUCCESS
end

-- Users neither open the gate nor say where they are.
function cleave_modify(job_desc, job_rec, modify_uid)
  if modify_uid == 0 or modify_uid == @controller_uid@ then return slurm.SUCCESS end
  if job_desc.comment ~= nil and string.find(job_desc.comment, "cleave:", 1, true) then
    slurm.log_user("a comment cannot have a word that begins with 'cleave:'")
    return slurm.ERROR
  end
  if string.find(job_desc.tres_per_node or "", "mig:@uncut@", 1, true) then
    slurm.log_user("--gres=mig needs a size, such as mig:%s", profiles[1].name)
    return slurm.ERROR
  end
  -- What the job's comment says of its nodes stays.
  local word = string.match(job_rec.comment or "", "(cleave:%S+)$")
  if job_desc.comment ~= nil and word ~= nil then
    job_desc.comment = job_desc.comment .. (job_desc.comment == "" and "" or " ") .. word
  end
  local begins = job_desc.begin_time
  local asks = job_rec.tres_per_node or job_rec.gres_req or job_rec.gres
  if gated and (asks == nil or wants_instances(asks)) and begins ~= nil and begins > 0 and
      begins < gate then
    slurm.log_user("Cleave starts this job; see: cleave slurm show")
    return slurm.ERROR
  end
  return slurm.SUCCESS
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  return cleave_submit(job_desc)
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return cleave_modify(job_desc, job_rec, modify_uid)
end

return slurm.SUCCESS
)lua";

std::string filled(std::string text, std::string_view name, const std::string& value) {
  if (const std::size_t at = text.find(name); at != std::string::npos)
    text.replace(at, name.size(), value);
  return text;
}

std::string lua_plugin(const SlurmSetup& setup) {
  const auto gate =
      std::chrono::duration_cast<std::chrono::seconds>(slurm_gate.time_since_epoch()).count();
  std::string text(lua_text);
  text = filled(text, "@profiles@", lua_profiles(setup));
  text = filled(text, "@gated@", setup.mode == SlurmMode::cluster ? "true" : "false");
  for (int place = 0; place < 2; ++place) text = filled(text, "@uncut@", std::string(uncut_type));
  text = filled(text, "@gate@", fmt::format("{}", gate));
  return filled(text, "@controller_uid@", "0");
}

SetupFile hook(const SlurmSetup& setup, const std::string& name, const std::string& why) {
  return {name,
          fmt::format("#!/bin/sh\n# {}\nexec {}/cleave slurm {}\n", why, setup.programs, name),
          true};
}

std::string lower(std::string_view text) {
  return lowercase(trimmed(text));
}

/// Whether a list of words has this one; Slurm ignores case.
bool has_word(const std::vector<std::string>& values, std::string_view word) {
  return std::ranges::any_of(values, [&](const std::string& value) {
    return std::ranges::any_of(split(value, ','),
                               [&](std::string_view each) { return lower(each) == lower(word); });
  });
}

/// A key that must have a word among its values.
struct NeededWord {
  std::string_view key, word, why;
};
constexpr NeededWord needed[] = {
    {"GresTypes", "mig", "Slurm counts instances under this name"},
    {"PrologFlags", "Alloc", "the prolog must have made the instance before the first step"},
    {"JobSubmitPlugins", "lua", "it gives --gres=mig:3g.20gb its count, and gates jobs"},
    {"SelectType", "select/cons_tres", "other plugins do not count GRES by type"},
    {"SchedulerParameters", "nohold_on_prolog_fail",
     "without it Slurm holds jobs that it could not launch"},
};

SetupFinding finding(std::string_view key, const std::vector<std::string>& values, bool fine,
                     const std::string& remedy) {
  using State = SetupFinding::State;
  const State state = fine ? State::fine : values.empty() ? State::missing : State::differs;
  return {state, std::string(key), fmt::format("{}", fmt::join(values, ",")),
          fine ? std::string() : remedy};
}

void check_words(std::string_view conf, std::vector<SetupFinding>& findings) {
  for (const auto& [key, word, why] : needed) {
    const auto values = conf_values(conf, key);
    const bool single = key == "SelectType";
    const std::string all = values.empty() || single
                                ? std::string(word)
                                : fmt::format("{},{}", fmt::join(values, ","), word);
    findings.push_back(
        finding(key, values, has_word(values, word), fmt::format("{}={}: {}", key, all, why)));
  }
}

/// Programs of the site's own are called from ours, or ours from them: which is the site's to say.
void check_hooks(std::string_view conf, const SlurmSetup& setup,
                 std::vector<SetupFinding>& findings) {
  for (const auto& [key, file] : {std::pair("Prolog", "prolog"), std::pair("Epilog", "epilog"),
                                  std::pair("TaskProlog", "task-prolog")}) {
    const auto values = conf_values(conf, key);
    const std::string ours = fmt::format("{}/{}", setup.folder, file);
    const bool fine = std::ranges::find(values, ours) != values.end();
    findings.push_back(finding(key, values, fine,
                               values.empty()
                                   ? fmt::format("{}={}", key, ours)
                                   : fmt::format("call {} at the end of {}, or set {}={}", ours,
                                                 values.front(), key, ours)));
  }
}

/// Whether lines that begin with NodeName name all of these.
bool names_nodes(std::string_view conf, const std::string& nodes) {
  std::set<std::string> named;
  for (const std::string& value : conf_values(conf, "NodeName"))
    for (std::string& node : nodes_of_list(value.substr(0, value.find(' '))))
      named.insert(std::move(node));
  const auto wanted = nodes_of_list(nodes);
  return !wanted.empty() &&
         std::ranges::all_of(wanted, [&](const std::string& node) { return named.contains(node); });
}

void check_counts(std::string_view gres, const SlurmSetup& setup,
                  std::vector<SetupFinding>& findings) {
  for (const Profile* profile : counted_profiles(*setup.model)) {
    std::vector<std::string> lines;
    for (const std::string_view line : split(gres, '\n')) {
      const std::string text = lower(line.substr(0, line.find('#')));
      if (text.contains("name=mig") && text.contains(fmt::format("type={} ", profile->name)) &&
          text.contains("flags=countonly"))
        lines.emplace_back(trimmed(line));
    }
    findings.push_back(finding(fmt::format("gres.conf {}", profile->name),
                               lines.empty() ? lines : std::vector{lines.front()},
                               lines.size() >= 2,
                               "take the lines of gres.conf.add for the nodes and the template"));
  }
}

/// Both files need it: slurmd reports no more than what both have.
void check_uncut(std::string_view conf, std::string_view gres,
                 std::vector<SetupFinding>& findings) {
  const std::string type = fmt::format("type={} ", uncut_type);
  const std::string count = fmt::format("{}:{}:{}", gres_name, uncut_type, node_total);
  findings.push_back(
      finding("gres.conf uncut", {}, lower(gres).contains(type), "take the line of gres.conf.add"));
  findings.push_back(finding("NodeName Gres", {}, lower(conf).contains(count),
                             "give the nodes the Gres of slurm.conf.add, or Slurm drains a node "
                             "whose slurmd starts again"));
}

}  // namespace

std::vector<const Profile*> counted_profiles(const GpuModel& model) {
  std::vector<const Profile*> profiles;
  for (const Profile& profile : model.profiles)
    if (profile.attribute == Attribute::none) profiles.push_back(&profile);
  return profiles;
}

std::vector<SetupFile> setup_files(const SlurmSetup& setup) {
  return {{"slurm.conf.add", slurm_conf(setup)},
          {"gres.conf.add", gres_conf(setup)},
          {"job_submit.lua", lua_plugin(setup)},
          hook(setup, "prolog", "Before a job's first step: its instances are made."),
          hook(setup, "epilog", "After a job: its instances are free again."),
          hook(setup, "task-prolog", "Before each task: CUDA_VISIBLE_DEVICES of its instances.")};
}

std::vector<std::string> conf_values(std::string_view conf, std::string_view key) {
  std::vector<std::string> values;
  for (std::string_view line : split(conf, '\n')) {
    line = trimmed(line.substr(0, line.find('#')));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || lower(line.substr(0, equals)) != lower(key)) continue;
    std::string_view value = trimmed(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (!value.empty()) values.emplace_back(value);
  }
  return values;
}

std::vector<SetupFinding> check_setup(std::string_view slurm_conf, std::string_view gres_conf,
                                      const SlurmSetup& setup) {
  std::vector<SetupFinding> findings;
  check_words(slurm_conf, findings);
  check_hooks(slurm_conf, setup, findings);
  const bool has_template = names_nodes(slurm_conf, setup.template_nodes);
  findings.push_back(finding(
      "template nodes",
      has_template ? std::vector{setup.template_nodes} : std::vector<std::string>(), has_template,
      fmt::format("take the line NodeName={} of slurm.conf.add", setup.template_nodes)));
  const auto tres = conf_values(slurm_conf, "AccountingStorageTRES");
  findings.push_back(finding("AccountingStorageTRES", tres, has_word(tres, "gres/mig"),
                             "take the line of slurm.conf.add, or sacct shows no instances"));
  check_counts(gres_conf, setup, findings);
  check_uncut(slurm_conf, gres_conf, findings);
  if (std::ranges::any_of(split(gres_conf, '\n'), [](std::string_view line) {
        return lower(line.substr(0, line.find('#'))).contains("autodetect=nvml");
      }))
    findings.push_back({SetupFinding::State::note, "AutoDetect", "nvml",
                        "slurmd reads instances once, when it starts: it may keep them under "
                        "gres/gpu, beside gres/mig, only on nodes that Cleave does not manage"});
  return findings;
}

}  // namespace cleave
