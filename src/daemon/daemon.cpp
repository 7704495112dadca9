#include "daemon/daemon.hpp"

#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/format.hpp"
#include "base/installation.hpp"
#include "base/text.hpp"
#include "daemon/control_loop.hpp"
#include "daemon/http/http_server.hpp"
#include "daemon/http/socket_file.hpp"
#include "daemon/job_isolation.hpp"
#include "daemon/jobs_place.hpp"
#include "daemon/metrics/metrics_listener.hpp"
#include "daemon/metrics/metrics_page.hpp"
#include "daemon/page/live_page.hpp"
#include "daemon/place_watch.hpp"
#include "daemon/service/service.hpp"
#include "daemon/stop_points.hpp"
#include "daemon/store/sqlite_store.hpp"
#include "daemon/threaded_executor.hpp"
#include "device/program_name.hpp"
#include "nvmlsim/sim_holders.hpp"
#include "nvmlsim/sim_node.hpp"
#include "runner/host_capacity.hpp"
#include "runner/process_runner.hpp"
#include "runner/system_file.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

/// Time to send answers that are under way when the daemon is told to end.
constexpr auto farewell = std::chrono::milliseconds(300);
constexpr const char* boot_file = "/proc/sys/kernel/random/boot_id";

/// The file's settings, with what follows from how the daemon was started.
DaemonSettings completed(DaemonSettings settings, const DaemonPlaces& places) {
  settings.may_switch_mig = settings.may_switch_mig || places.sim_node.has_value();
  settings.control.may_switch_mig = settings.may_switch_mig;
  settings.control.containers = find_container_runtimes(settings.container_runtime);
  if (!places.sim_node) {
    const HostAsk all = host_capacity();
    if (!settings.control.host_cpus && all.millicpus)
      settings.control.host_cpus = static_cast<double>(*all.millicpus) / 1000;
    if (!settings.control.host_memory) settings.control.host_memory = all.memory;
    return settings;
  }
  if (settings.managed_gpus.empty()) settings.managed_gpus = {"all"};
  settings.control.job_environment.push_back(
      fmt::format("{}={}", sim_node_variable, places.sim_node->string()));
  return settings;
}

/// The programs that keep instances from being destroyed, which a simulated node knows.
std::function<std::vector<DeviceHolder>(std::optional<std::uint32_t>)> simulated_holders(
    fs::path node) {
  return [node = std::move(node)](std::optional<std::uint32_t> gpu) {
    std::vector<DeviceHolder> holders;
    for (const std::uint32_t pid : gpu ? sim_holders(node, *gpu) : std::vector<std::uint32_t>{})
      holders.push_back({pid, program_of(pid)});
    return holders;
  };
}

/// What the files of the store take.
std::int64_t store_bytes(const fs::path& state) {
  std::int64_t all = 0;
  for (const char* each : {"cleave.db", "cleave.db-wal", "cleave.db-shm"}) {
    std::error_code none;
    const auto size = fs::file_size(state / each, none);
    if (!none) all += static_cast<std::int64_t>(size);
  }
  return all;
}

/// The second number of statm counts pages in memory.
std::optional<std::int64_t> resident_bytes() {
  std::istringstream text(read_system_file("/proc/self/statm"));
  std::int64_t pages = 0;
  if (!(text >> pages >> pages)) return std::nullopt;
  return pages * ::sysconf(_SC_PAGESIZE);
}

void log_error(const Error& error) {
  spdlog::error("{}", shown(error.text(), 2000));
}

/// Sends "READY=1" or the like to the service manager that started this program (sd_notify(3),
/// without its library); does nothing if NOTIFY_SOCKET is not set.
void tell_service_manager(std::string_view text) {
  const char* where = std::getenv("NOTIFY_SOCKET");
  if (where == nullptr || (*where != '/' && *where != '@')) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(where);
  if (length >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, where, length);
  if (*where == '@') address.sun_path[0] = '\0';  // a name that no file system has
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  (void)::sendto(socket.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&address), size);
}

/// Changes when one of the files of applications is another one, or was written.
std::string state_of_files(const DaemonSettings& settings) {
  std::string state;
  for (const std::string& file : {settings.profiles, settings.time_model}) {
    std::error_code none;
    const auto size = file.empty() ? 0 : std::filesystem::file_size(file, none);
    const auto written =
        file.empty() ? 0 : std::filesystem::last_write_time(file, none).time_since_epoch().count();
    state += fmt::format("{} {} {}\n", file, size, written);
  }
  return state;
}

/// Raises the soft limit on descriptors to the hard one: each connection and each supervisor takes
/// one. Returns the limit before, which jobs get; 0 if nothing was changed.
std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  if (before >= limit.rlim_max || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return before;
}

class RunningDaemon {
 public:
  RunningDaemon(const DaemonArguments& arguments, DaemonConfig config, DaemonPlaces places,
                std::uint64_t job_descriptors)
      : arguments_(arguments),
        config_(std::move(config)),
        places_(std::move(places)),
        job_descriptors_(job_descriptors),
        audit_(places_.state.string()),
        signals_(loop_) {}

  Result<void> begin() {
    // Before anybody can reach it: a signal that comes then ends it in order.
    for (const int each : {SIGTERM, SIGINT, SIGHUP}) signals_.add(each);
    if (const auto work = check_timers(); !work) return work;
    if (const auto work = check_signals(); !work) return work;
    if (const auto listens = listen(); !listens) return listens;
    // A machine that was started anew runs none of its jobs: which start this is must be known.
    boot_ = trimmed(read_system_file(boot_file));
    if (boot_.empty())
      return fail(ErrorKind::infeasible, boot_file, "it cannot be read, or is empty",
                  "mount /proc, and see that descriptors and memory are left");
    DaemonSettings settings = completed(config_.settings, places_);
    settings.control.boot = boot_;
    applications_files_ = state_of_files(settings);
    auto applications = read_applications(settings);
    if (!applications) return std::unexpected(applications.error());
    settings.control.applications = applications_ = std::move(*applications);
    if (settings.managed_gpus.empty())
      return fail(
          ErrorKind::bad_input, places_.config.string(), "managed_gpus names no GPU",
          "name the GPUs that the daemon may partition, or try simulated ones: cleaved --simulate "
          "4xA100-40GB");
    if (const auto opened = open_doors(settings); !opened) return opened;
    auto control = Control::begin({*store_, *executor_, *runner_, owner_look_up(),
                                   [this] { return look_at_disk(places_.state, jobs_place_); },
                                   [this](std::uint32_t uid) { return is_operator(uid); },
                                   [] { return moment_now().steady; }},
                                  settings.control, moment_now());
    if (!control) return std::unexpected(control.error());
    control_ = std::move(*control);
    control_loop_ = std::make_unique<ControlLoop>(
        loop_, *control_, std::vector<int>{runner_->wake_fd(), executor_->wake_fd()}, moment_now);
    begin_service(settings);
    if (const auto listens = begin_metrics(settings.metrics); !listens) return listens;
    say_what_is_managed();
    return {};
  }

  void run() {
    hear_signals();
    control_loop_->start({.after_step = [this] { after_step(); },
                          .tick = [this] { service_->tick(); },
                          .waits = [this] { return service_->waits(); }});
    tell_service_manager("READY=1");
    while (!ending_) loop_.run_one();
    say_goodbye();
  }

 private:
  /// The event loop does not say that it cannot watch its own timer, and then none ever rings.
  Result<void> check_timers() {
    bool rang = false;
    boost::asio::steady_timer timer(loop_, std::chrono::milliseconds(1));
    timer.async_wait([&rang](const boost::system::error_code& failed) { rang = !failed; });
    loop_.run_for(std::chrono::seconds(2));
    loop_.restart();
    if (rang) return {};
    return fail(ErrorKind::infeasible, "the event loop", "its timers do not ring",
                "see that descriptors and memory are left");
  }

  /// Nor does it say that it cannot watch the pipe through which signals come: nobody could end the
  /// daemon then. SIGURG does nothing where nobody waits for it.
  Result<void> check_signals() {
    bool came = false;
    boost::asio::signal_set probe(loop_, SIGURG);
    probe.async_wait([&came](const boost::system::error_code& failed, int) { came = !failed; });
    ::raise(SIGURG);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (!came && loop_.run_one_until(until) > 0) {
    }
    loop_.restart();
    if (came) return {};
    return fail(ErrorKind::infeasible, "the event loop", "signals do not reach it",
                "see that descriptors and memory are left");
  }

  /// At the first place whose folder can be had. One that another daemon of this user has is not
  /// passed over.
  Result<void> listen() {
    std::optional<Error> refused;
    for (const SocketPlace& place : places_.sockets) {
      auto file = SocketFile::listen(place, ::geteuid() == 0);
      if (file) {
        if (refused) spdlog::warn("{}", shown(refused->text(), 500));
        socket_.emplace(std::move(*file));
        return {};
      }
      if (!refused) refused = file.error();
      const bool may_write = ::access(place.path.parent_path().c_str(), W_OK) == 0;
      if (may_write && make_socket_folder(place)) break;
    }
    return std::unexpected(std::move(*refused));
  }

  Result<void> open_doors(const DaemonSettings& settings) {
    auto store = SqliteStore::open(places_.state, arguments_.accepts_loss);
    if (!store) return std::unexpected(store.error());
    for (const std::string& each : (*store)->remarks()) spdlog::warn("{}", shown(each, 500));
    (*store)->hold_reserve(settings.store_reserve);
    files_ = store->get();
    store_ = std::move(*store);
    const auto stop = places_.sim_node ? stop_of_environment() : Result<AtPoint>(AtPoint{});
    if (!stop) return std::unexpected(stop.error());
    auto jobs_place = prepare_jobs_place(places_.state, settings.jobs_directory);
    if (!jobs_place) return std::unexpected(jobs_place.error());
    jobs_place_ = std::move(*jobs_place);
    isolation_ = isolation_of(settings, places_.sim_node.has_value());
    ProcessRunner::Places places{jobs_place_.string(),
                                 installed_program("cleave-supervise").string(), job_descriptors_,
                                 isolation_.groups, isolation_.fenced};
    places.gifts = container_gifts(settings.driver_root, places_.sim_node, places_.library);
    auto runner = ProcessRunner::open(std::move(places));
    if (!runner) return std::unexpected(runner.error());
    runner_ = std::move(*runner);
    ThreadedExecutorSettings executor_settings;
    executor_settings.worker.state_directory = places_.ledger;
    executor_settings.worker.may_switch_mig = settings.may_switch_mig;
    if (places_.sim_node)
      executor_settings.worker.patience.holders = simulated_holders(*places_.sim_node);
    if (*stop) {
      store_ = stopping_store(std::move(store_), *stop);
      runner_ = stopping_runner(std::move(runner_), *stop);
      executor_settings.open_door = stopping_doors(places_.library, *stop);
    }
    std::vector<std::string> remarks;
    auto executor =
        ThreadedExecutor::open(places_.library, settings.managed_gpus, executor_settings, &remarks);
    for (const std::string& each : remarks) spdlog::warn("{}", shown(each, 500));
    if (!executor) return std::unexpected(executor.error());
    executor_ = std::move(*executor);
    return {};
  }

  /// Only root's daemon looks up users; any other runs jobs as its own user, without a change.
  std::function<Result<JobOwner>(const JobOwner&)> owner_look_up() {
    if (::geteuid() != 0) return {};
    return [this](const JobOwner& owner) { return owners_.owner_now(owner, moment_now().steady); };
  }

  /// As the service does, for users who need not be connected.
  bool is_operator(std::uint32_t uid) {
    if (uid == 0 || uid == ::geteuid()) return true;
    if (!operators_gid_) return false;
    const auto& user = owners_.user(uid, moment_now().steady);
    return user && std::ranges::find(user->groups, *operators_gid_) != user->groups.end();
  }

  void begin_service(const DaemonSettings& settings) {
    ServiceFacts facts;
    facts.version = arguments_.version;
    facts.state_directory = places_.state.string();
    facts.jobs_directory = jobs_place_.string();
    facts.simulated = places_.sim_node.has_value();
    facts.uid = ::geteuid();
    facts.started = moment_now().wall;
    facts.notices = isolation_.lacks;
    facts.isolation = isolation_.holds;
    if (isolation_.fenced && !runner_->fences())
      facts.notices.emplace_back("jobs that an earlier daemon started run without a fence");
    begin_page(settings);
    service_ = std::make_unique<Service>(
        ServiceDoors{
            *control_, *store_, audit_, moment_now, [this] { control_loop_->soon(); },
            [this] { control_loop_->attend(); },
            [this](std::function<void()> call) { boost::asio::post(loop_, std::move(call)); },
            [this] { return runner_->fences(); }, [this] { return troubles_of_places(); },
            page_ ? &page_->keys() : nullptr,
            [this] { return page_ ? page_->address() : std::nullopt; },
            [this] { return *metrics_page_->text(MetricsPage::Way::socket); }},
        std::move(facts), service_settings(settings));
    server_ =
        std::make_unique<HttpServer>(loop_, socket_->number(), settings.limits, ::geteuid(),
                                     [this](HttpRequest request, HttpAnswer answer) {
                                       if (request.web)
                                         return page_->serve(std::move(request), std::move(answer));
                                       service_->serve(std::move(request), std::move(answer));
                                     });
    watch_.emplace(*socket_, *files_, [this](int socket) { return server_->listen_on(socket); });
  }

  void begin_page(const DaemonSettings& settings) {
    const std::string& given = arguments_.page.empty() ? settings.page : arguments_.page;
    const auto wanted = parse_page_address(given);
    if (given.empty() || !wanted) return;  // both were checked when they were read
    page_.emplace(*wanted, places_.state,
                  LivePage::Doors{moment_now, owners_, audit_,
                                  [this](const HttpPeer& peer) { return service_->operates(peer); },
                                  [this](HttpRequest request, HttpAnswer answer) {
                                    service_->serve(std::move(request), std::move(answer));
                                  },
                                  [this](std::function<void()> call) {
                                    boost::asio::post(loop_, [this, call = std::move(call)] {
                                      if (server_) call();
                                    });
                                  },
                                  ::geteuid()});
  }

  std::vector<std::string> troubles_of_places() const {
    std::vector<std::string> all = watch_ ? watch_->troubles() : std::vector<std::string>();
    if (page_) std::ranges::move(page_->troubles(), std::back_inserter(all));
    if (!reload_trouble_.empty()) all.push_back(reload_trouble_);
    return all;
  }

  Result<void> begin_metrics(const MetricsSettings& settings) {
    metrics_page_ = std::make_unique<MetricsPage>(MetricsPage::Doors{
        [this] { return control_->figures(); },
        [this, began = moment_now().wall] {
          return DaemonFigures{arguments_.version, places_.sim_node.has_value(), began,
                               store_bytes(places_.state), resident_bytes()};
        },
        [] { return moment_now().steady; }});
    if (settings.address.empty()) return {};
    auto listener = MetricsListener::open(
        loop_, settings,
        {[this] { return metrics_page_->text(MetricsPage::Way::listener); },
         [this] { return control_->troubles().empty() && troubles_of_places().empty(); }});
    if (!listener) return std::unexpected(listener.error());
    metrics_ = std::move(*listener);
    spdlog::info("metrics are at {}", metrics_->url());
    for (const std::string& each : metrics_remarks(settings)) spdlog::warn("{}", shown(each, 500));
    return {};
  }

  ServiceSettings service_settings(const DaemonSettings& settings) {
    operators_gid_.reset();
    if (!settings.operators_group.empty())
      operators_gid_ = UserBook::gid_of(settings.operators_group);
    for (const std::string& each : unknown_groups(settings))
      spdlog::warn("{}: nobody is a member of it", each);
    const std::size_t half = (settings.control.most_waiting + 1) / 2;
    return {settings.operators_group,
            settings.allow_unfenced_users,
            settings.control.forecaster,
            settings.highest_priority,
            settings.most_waiting_per_user > 0 ? settings.most_waiting_per_user : half,
            settings.allowed_groups,
            settings.job_time_most,
            settings.job_time_default};
  }

  void say_what_is_managed() {
    spdlog::info("cleaved {} (pid {}) listens at {}; state in {}", arguments_.version, ::getpid(),
                 socket_->path(), places_.state.string());
    if (page_) page_->look(*server_);
    if (places_.sim_node) spdlog::info("the GPUs are simulated: {}", places_.sim_node->string());
    for (const GpuIdentity& gpu : executor_->gpus())
      spdlog::info("manages GPU {}: {} {}", gpu.index, gpu.driver_name, gpu.uuid);
    for (const std::string& each : isolation_.holds) spdlog::info("{}", each);
    for (const std::string& each : isolation_.lacks) spdlog::warn("{}", each);
    if (!runner_->fences() && ::geteuid() == 0 && !config_.settings.allow_unfenced_users)
      spdlog::info("jobs of one user at a time are taken, unless allow_unfenced_users is set");
    logged_ = control_->last_event();
  }

  void after_step() {
    service_->after_step();
    if (!ending_) watch_->look();
    if (!ending_ && page_) page_->look(*server_);
    settle_store();
    for (const EventRecord& event : control_->events_since(logged_)) {
      spdlog::info("{}: {}", event.kind, shown(event.text, 500));
      logged_ = event.number;
    }
    std::vector<std::string> troubles = control_->troubles();
    for (const std::string& each : troubles)
      if (std::ranges::find(troubles_, each) == troubles_.end())
        spdlog::warn("{}", shown(each, 500));
    troubles_ = std::move(troubles);
    spdlog::default_logger()->flush();
  }

  /// The loop steps every few seconds at least, since it looks at its GPUs.
  void settle_store() {
    constexpr auto every = std::chrono::seconds(5);
    const auto now = std::chrono::steady_clock::now();
    if (now < settle_at_) return;
    settle_at_ = now + every;
    store_->settle();
  }

  void hear_signals() {
    signals_.async_wait([this](const boost::system::error_code& failed, int number) {
      if (failed) return;
      if (number == SIGHUP)
        reload();
      else
        ending_ = true;
      hear_signals();
    });
  }

  void reload() {
    watch_->look(true);
    const auto read = load_config(arguments_);
    if (!read) return keep_configuration(read.error());
    const auto changes = config_changes(config_, *read);
    DaemonConfig next = reloaded(config_, *read);
    DaemonSettings settings = completed(next.settings, places_);
    settings.control.boot = boot_;
    // What is the same is not read again: the engine would be made anew for it.
    auto files = state_of_files(settings);
    auto applications = files == applications_files_ ? applications_ : read_applications(settings);
    if (!applications) {
      log_error(applications.error());
      spdlog::warn("the profiles and the time model that were read before stay in use");
      applications = applications_;
    } else {
      applications_files_ = std::move(files);
    }
    settings.control.applications = *applications;
    if (const auto taken = control_->reload(settings.control, moment_now()); !taken)
      return keep_configuration(taken.error());
    reload_trouble_.clear();
    config_ = std::move(next);
    applications_ = std::move(*applications);
    server_->set_limits(settings.limits);
    service_->set_settings(service_settings(settings));
    if (changes.empty()) spdlog::info("the configuration was read again and is unchanged");
    for (const std::string& each : changes) spdlog::info("configuration: {}", shown(each, 500));
    control_loop_->soon();
  }

  /// It is said until one could be taken, since nobody who sends the signal sees the log.
  void keep_configuration(const Error& why) {
    log_error(why);
    spdlog::error("the configuration is unchanged");
    reload_trouble_ = fmt::format(
        "the configuration was not read again, and is as before: {}; `cleaved --check-config` says "
        "all that is wrong, SIGHUP has it read again",
        shown(why.text(), 500));
  }

  /// Writes and answers what was asked for, and accepts nothing new.
  void say_goodbye() {
    tell_service_manager("STOPPING=1");
    spdlog::info("ends; running jobs continue, and the next daemon finds them");
    socket_->remove();
    metrics_.reset();
    service_->last_words();
    server_->stop();
    control_->step(moment_now());
    after_step();
    control_loop_->stop();
    loop_.run_for(farewell);
    server_.reset();
  }

  DaemonArguments arguments_;
  DaemonConfig config_;
  DaemonPlaces places_;
  fs::path jobs_place_;
  std::shared_ptr<const ApplicationTimes> applications_;  // as last read
  std::string applications_files_;                        // as they were then
  std::uint64_t job_descriptors_;
  std::string boot_;  // differs after each start of the machine
  JobIsolation isolation_;
  std::chrono::steady_clock::time_point settle_at_{};
  AuditFile audit_;
  boost::asio::io_context loop_{1};
  boost::asio::signal_set signals_;
  UserBook owners_;
  std::optional<std::uint32_t> operators_gid_;
  std::optional<SocketFile> socket_;
  // Each uses members declared before it.
  std::unique_ptr<Store> store_;
  SqliteStore* files_ = nullptr;  // of the store
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<ThreadedExecutor> executor_;
  std::unique_ptr<Control> control_;
  std::unique_ptr<ControlLoop> control_loop_;
  std::optional<LivePage> page_;
  std::unique_ptr<MetricsPage> metrics_page_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<MetricsListener> metrics_;
  std::optional<PlaceWatch> watch_;
  std::int64_t logged_ = 0;
  std::vector<std::string> troubles_;
  std::string reload_trouble_;  // why the last reload was refused; empty: it was not
  bool ending_ = false;
};

}  // namespace

std::vector<std::string> unknown_groups(const DaemonSettings& settings) {
  std::vector<std::string> found;
  const auto look = [&](std::string_view key, const std::string& group) {
    if (!UserBook::gid_of(group))
      found.push_back(fmt::format("{}: there is no group '{}'", key, shown(group)));
  };
  if (!settings.operators_group.empty()) look("operators_group", settings.operators_group);
  for (const std::string& each : settings.allowed_groups) look("allowed_groups", each);
  return found;
}

Result<void> run_daemon(const DaemonArguments& arguments) {
  ::umask(0077);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const std::uint64_t job_descriptors = raise_descriptor_limit();
  auto config = load_config(arguments);
  if (!config) return std::unexpected(config.error());
  auto places = prepare_places(arguments, *config);
  if (!places) return std::unexpected(places.error());
  std::optional<RunningDaemon> daemon;
  try {
    daemon.emplace(arguments, std::move(*config), std::move(*places), job_descriptors);
    if (auto begun = daemon->begin(); !begun) return begun;
  } catch (const boost::system::system_error& refused) {
    return fail(ErrorKind::infeasible, "the event loop",
                fmt::format("it cannot be made: {}", refused.what()),
                "see that descriptors and memory are left");
  }
  daemon->run();
  return {};
}

}  // namespace cleave
