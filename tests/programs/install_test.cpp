// `cmake --install` puts everything in its place, and it works from there.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "../cli/program.hpp"
#include "base/places_test.hpp"

namespace cleave::testing_program {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

/// One installation for all tests, in a folder of its own.
class Installed : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new Scratch;
    outcome_ = new Outcome(shell("DESTDIR='" + root() + "' cmake --install '" + binary_dir() +
                                 "' --prefix /opt/cleave"));
  }
  static void TearDownTestSuite() {
    delete outcome_;
    delete scratch_;
  }
  void SetUp() override { ASSERT_EQ(outcome_->exit_code, 0) << outcome_->out << outcome_->err; }

  static std::string root() { return scratch_->path("root"); }
  static fs::path below(const std::string& path) { return fs::path(root()) / "opt/cleave" / path; }
  static std::string bin() { return below("bin").string(); }
  static std::string path(const std::string& name) { return scratch_->path(name); }

 private:
  static inline Scratch* scratch_ = nullptr;
  static inline Outcome* outcome_ = nullptr;
};

TEST_F(Installed, AllIsThere) {
  for (const char* file : {"bin/cleave",
                           "bin/cleaved",
                           "bin/cleave-job",
                           "libexec/cleave/cleave-study",
                           "libexec/cleave/cleave-supervise",
                           "libexec/cleave/cleave-cuda-loop",
                           "lib/cleave/libcleave-solver.so",
                           "lib/cleave/libcleave-learner.so",
                           "lib/libcleave.a",
                           "lib/pkgconfig/cleave.pc",
                           "lib/cmake/Cleave/CleaveConfig.cmake",
                           "include/cleave/simulate/simulator.hpp",
                           "share/doc/libcleave-dev/examples/two_schedulers.cpp",
                           "share/doc/cleaved/examples/cleaved.toml",
                           "share/man/man1/cleave-job.1",
                           "lib/cleave-nvmlsim/libnvidia-ml.so.1",
                           "lib/cleave-nvmlsim/cleave-smi",
                           "lib/cleave-cuda/libcleave-cuda.so",
                           "lib/cleave-cuda/dry/libcleave-cuda-dry.so",
                           "lib/cleave-cuda/dry/libcuda.so.1",
                           "lib/systemd/system/cleaved.service",
                           "lib/systemd/system/cleave-jobs.service",
                           "share/man/man1/cleave.1",
                           "share/man/man1/cleaved.1",
                           "share/man/man1/cleaved-check.1",
                           "share/man/man1/cleaved-backup.1",
                           "share/man/man1/cleave-plan-deploy.1",
                           "share/bash-completion/completions/cleave",
                           "share/bash-completion/completions/cleaved",
                           "share/bash-completion/completions/cleave-job",
                           "share/zsh/site-functions/_cleave",
                           "share/fish/vendor_completions.d/cleave.fish",
                           "share/doc/cleave/docs/service.md",
                           "share/doc/cleave/docs/cleaved.toml",
                           "share/doc/cleave/ARCHITECTURE.md",
                           "share/doc/cleave/SECURITY.md",
                           "share/doc/cleave/examples/fleets/one-node.json",
                           "share/doc/cleave/data/workloads/lab-day.jsonl",
                           "share/doc/cleave/python/cleave_report/__init__.py",
                           "share/man/man1/cleave-slurm-prolog.1",
                           "share/man/man1/cleave-claim.1",
                           "share/cleave/monitoring/cleave.rules.yml",
                           "share/cleave/python/cleave_report/__init__.py"}) {
    std::error_code failed;
    EXPECT_GT(fs::file_size(below(file), failed), 0U) << file << " is missing or empty";
  }
  if (!fs::exists(below("bin/cleave-kube"))) return;  // it is built where gRPC is
  for (const char* file :
       {"share/cleave/kubernetes/Dockerfile", "share/cleave/kubernetes/rbac.yaml",
        "share/cleave/kubernetes/controller.yaml", "share/man/man1/cleave-kube.1",
        "share/bash-completion/completions/cleave-kube"})
    EXPECT_TRUE(fs::exists(below(file))) << file << " is missing";
}

TEST_F(Installed, EveryCommandHasAPage) {
  std::istringstream pages(cleave("man --list").out);
  for (std::string page; std::getline(pages, page);) {
    std::ranges::replace(page, ' ', '-');
    EXPECT_TRUE(text_of(below("share/man/man1/" + page + ".1")).starts_with(".TH ")) << page;
  }
}

/// Links of the documentation lead to files that are installed too.
TEST_F(Installed, LinksOfTheDocumentationLeadSomewhere) {
  static const std::regex link(R"(\]\(([^)#\s]+)[^)]*\))");
  std::size_t links = 0;
  for (const auto& entry : fs::recursive_directory_iterator(below("share/doc/cleave"))) {
    if (entry.path().extension() != ".md") continue;
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at, ++links) {
      const std::string file = (*at)[1];
      EXPECT_TRUE(file.find("://") != std::string::npos ||
                  fs::exists(entry.path().parent_path() / file))
          << entry.path() << ": " << file;
    }
  }
  EXPECT_GT(links, 100U);
}

/// The commands of the documentation name files of the folder it is in.
TEST_F(Installed, ExamplesOfTheDocumentationRunInItsFolder) {
  const Outcome said =
      shell("cd '" + below("share/doc/cleave").string() + "' && " + bin() +
            "/cleave place --fleet examples/fleets/one-node.json --profile 3g.20gb");
  EXPECT_EQ(said.exit_code, 0) << said.err;
}

/// Slurm calls the hooks by the programs that wrote them.
TEST_F(Installed, HooksOfSlurmCallWhatIsInstalled) {
  const Outcome wrote = shell(bin() + "/cleave slurm setup --write '" + path("slurm") +
                              "' --nodes n1 --gpus 2xA100-40GB");
  ASSERT_EQ(wrote.exit_code, 0) << wrote.err;
  EXPECT_NE(text_of(path("slurm/prolog")).find("exec " + bin() + "/cleave slurm prolog"),
            std::string::npos);
  // In no job of Slurm's, it leaves all as it is.
  EXPECT_EQ(shell("'" + path("slurm/prolog") + "'").exit_code, 0);
}

TEST_F(Installed, NothingNamesTheFolderWhereItWasBuilt) {
  for (const auto& entry : fs::recursive_directory_iterator(root()))
    if (entry.is_regular_file() && entry.path().extension() != ".so") {
      const std::string name = entry.path().string();
      // Assertions name their sources.
      if (name.find("/bin/") != std::string::npos || name.find("/libexec/") != std::string::npos ||
          entry.path().extension() == ".a")
        continue;
      EXPECT_EQ(text_of(entry.path()).find(binary_dir()), std::string::npos) << name;
    }
}

TEST_F(Installed, ProgramsRun) {
  for (const char* program :
       {"cleave", "cleaved", "../libexec/cleave/cleave-study", "cleave-job"}) {
    const Outcome said = shell(bin() + "/" + program + " --version");
    EXPECT_EQ(said.exit_code, 0) << program << said.err;
    EXPECT_NE(said.out.find("0."), std::string::npos) << said.out;
  }
  // By other programs, each of which finds its own.
  EXPECT_EQ(shell(bin() + "/cleave bench --help").exit_code, 0);
  EXPECT_TRUE(shell(bin() + "/cleave man cleaved").out.starts_with(".TH CLEAVED"));
}

TEST_F(Installed, OnlyWhatPeopleCallIsOnThePath) {
  std::set<std::string> programs;
  for (const auto& entry : fs::directory_iterator(below("bin")))
    programs.insert(entry.path().filename().string());
  std::set<std::string> called = {"cleave", "cleave-job", "cleaved"};
  if (fs::exists(binary_dir() + "/bin/cleave-kube")) called.insert("cleave-kube");  // needs gRPC
  EXPECT_EQ(programs, called);
}

/// The loader searches lib itself. A library there would be every program's NVML or CUDA.
TEST_F(Installed, NothingIsOnTheLoadersPath) {
  for (const auto& entry : fs::directory_iterator(below("lib")))
    EXPECT_EQ(entry.path().filename().string().find(".so"), std::string::npos) << entry.path();
}

TEST_F(Installed, PlansAndForecastsLoadWhatTheyNeed) {
  const Outcome plan = shell(bin() + "/cleave plan compact --fleet examples/fleets/scattered.json");
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  const Outcome times =
      shell(bin() +
            "/cleave forecast time --train examples/forecast/measured.csv --group app --whole "
            "whole_s --slices slices");
  EXPECT_EQ(times.exit_code, 0) << times.err;
}

TEST_F(Installed, BashSourcesTheCompletions) {
  const std::string folder = below("share/bash-completion/completions").string();
  const Outcome said =
      shell("bash --norc -c 'source " + folder + "/cleave && source " + folder +
            "/cleaved && complete -p cleave && COMP_WORDS=(cleaved --acc) COMP_CWORD=1 && "
            "_cleaved && echo ${COMPREPLY[@]} && COMP_WORDS=(cleaved ba) && _cleaved && echo "
            "${COMPREPLY[@]}'");
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_NE(said.out.find("-F _cleave cleave"), std::string::npos) << said.out;
  EXPECT_TRUE(said.out.ends_with("--accept-loss\nbackup\n")) << said.out;
}

/// It takes the compiler some seconds, and needs no more than the engine and the simulator.
TEST_F(Installed, AProgramIsBuiltWithTheLibrary) {
  if (shell("command -v pkg-config && command -v c++").exit_code != 0)
    GTEST_SKIP() << "there is no pkg-config or no compiler here";
  const Outcome built =
      shell("cd '" + root() + "' && PKG_CONFIG_PATH='" + below("lib/pkgconfig").string() +
            "' && export PKG_CONFIG_PATH && c++ -std=c++23 "
            "opt/cleave/share/doc/libcleave-dev/examples/two_schedulers.cpp "
            "$(pkg-config --cflags --libs cleave) -o two-schedulers");
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const Outcome ran = shell("'" + root() + "/two-schedulers'");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("adaptive  200 jobs"), std::string::npos) << ran.out;
}

/// The skeleton of docs/extend.md.
TEST_F(Installed, ASchedulerIsBuiltWithTheLibrary) {
  if (shell("command -v pkg-config && command -v c++").exit_code != 0)
    GTEST_SKIP() << "there is no pkg-config or no compiler here";
  const Outcome built =
      shell("cd '" + root() + "' && PKG_CONFIG_PATH='" + below("lib/pkgconfig").string() +
            "' && export PKG_CONFIG_PATH && c++ -std=c++23 "
            "opt/cleave/share/doc/libcleave-dev/examples/scheduler/*.cpp "
            "$(pkg-config --cflags --libs cleave) -o try-scheduler");
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const Outcome ran = shell("'" + root() + "/try-scheduler' :longest-wait=60");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("shortest-first:longest-wait=60"), std::string::npos) << ran.out;
  EXPECT_NE(shell("'" + root() + "/try-scheduler' :longest-wait=soon").exit_code, 0);
}

/// The daemon needs its supervisor beside it and the simulated NVML in ../lib.
TEST_F(Installed, ADaemonRunsAJob) {
  const Outcome said =
      shell("export CLEAVE_SOCKET='" + path("s") + "' HOME='" + path("home") + "'\n" + bin() +
            "/cleaved --simulate 1xA100-40GB --instant --state '" + path("state") + "' --socket '" +
            path("s") + "' --config /dev/null 2>'" + path("log") +
            "' &\n"
            "daemon=$!\n"
            "for i in $(seq 200); do [ -S '" +
            path("s") + "' ] && break; sleep 0.05; done\n" + bin() +
            "/cleave submit --profile 1g.5gb --wait -- /bin/sh -c 'exit 7'\nstatus=$?\n"
            "kill $daemon; wait $daemon\nexit $status");
  EXPECT_EQ(said.exit_code, 7) << said.out << said.err << text_of(path("log"));
}

TEST_F(Installed, SystemdTakesTheUnits) {
  if (shell("command -v systemd-analyze").exit_code != 0)
    GTEST_SKIP() << "there is no systemd-analyze here";
  fs::create_directory(path("units"));
  for (const std::string unit : {"cleaved.service", "cleave-jobs.service"}) {
    std::string text = text_of(below("lib/systemd/system/" + unit));
    EXPECT_EQ(text.find('@'), std::string::npos) << "a place was left out of " << unit;
    replace_all(text, "/opt/cleave/bin", bin());
    std::ofstream(path("units/" + unit)) << text;
  }
  EXPECT_NE(text_of(path("units/cleaved.service")).find("ExecStart=" + bin() + "/cleaved\n"),
            std::string::npos);
  const Outcome said = shell("systemd-analyze verify --man=no '" + path("units/cleaved.service") +
                             "' '" + path("units/cleave-jobs.service") + "'");
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_EQ(said.out + said.err, "");
}

}  // namespace
}  // namespace cleave::testing_program
