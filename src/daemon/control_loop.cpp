#include "daemon/control_loop.hpp"

#include <fcntl.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace cleave {

using boost::system::error_code;

namespace {

constexpr auto gather_for = std::chrono::milliseconds(3);
constexpr auto tick_every = std::chrono::milliseconds(100);
/// Even a control loop that asks for its next step at once leaves time for other work.
constexpr auto least_rest = std::chrono::milliseconds(1);
constexpr Duration longest_rest = std::chrono::minutes(1);

}  // namespace

Moment moment_now() {
  return {std::chrono::steady_clock::now().time_since_epoch(),
          std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now())};
}

class ControlLoop::Inside : public std::enable_shared_from_this<ControlLoop::Inside> {
 public:
  Inside(boost::asio::io_context& loop, Control& control, const std::vector<int>& wake,
         std::function<Moment()> now)
      : control_(control), now_(std::move(now)), timer_(loop), gather_(loop), tick_(loop) {
    for (const int descriptor : wake)
      if (descriptor >= 0) wake_.emplace_back(loop, ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  }

  void start(Hooks hooks) {
    hooks_ = std::move(hooks);
    for (auto& each : wake_) listen(each);
    soon();
  }

  void soon() {
    if (gathering_ || stopped_) return;
    gathering_ = true;
    gather_.expires_after(gather_for);
    gather_.async_wait([self = shared_from_this()](const error_code& failed) {
      if (failed || self->stopped_) return;
      self->step();
    });
  }

  void attend() { tick(); }

  void stop() {
    stopped_ = true;
    for (auto& each : wake_) each.close();
    timer_.cancel();
    gather_.cancel();
    tick_.cancel();
    hooks_ = {};
  }

 private:
  void listen(boost::asio::posix::stream_descriptor& descriptor) {
    descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [self = shared_from_this(), &descriptor](const error_code& failed) {
                            if (failed || self->stopped_) return;
                            self->step();
                            if (!self->stopped_) self->listen(descriptor);
                          });
  }

  void step() {
    // This is the step that soon() promised.
    gathering_ = false;
    gather_.cancel();
    control_.step(now_());
    if (hooks_.after_step) hooks_.after_step();
    if (stopped_) return;
    const Duration rest =
        std::clamp<Duration>(control_.wake_at() - now_().steady, least_rest, longest_rest);
    timer_.expires_after(rest);
    timer_.async_wait([self = shared_from_this()](const error_code& failed) {
      if (!failed && !self->stopped_) self->step();
    });
    tick();
  }

  void tick() {
    if (ticking_ || stopped_ || !hooks_.waits || !hooks_.waits()) return;
    ticking_ = true;
    tick_.expires_after(tick_every);
    tick_.async_wait([self = shared_from_this()](const error_code& failed) {
      self->ticking_ = false;
      if (failed || self->stopped_) return;
      self->hooks_.tick();
      self->tick();
    });
  }

  Control& control_;
  std::function<Moment()> now_;
  Hooks hooks_;
  std::vector<boost::asio::posix::stream_descriptor> wake_;
  boost::asio::steady_timer timer_, gather_, tick_;
  bool gathering_ = false, ticking_ = false, stopped_ = false;
};

ControlLoop::ControlLoop(boost::asio::io_context& loop, Control& control,
                         const std::vector<int>& wake, std::function<Moment()> now)
    : inside_(std::make_shared<Inside>(loop, control, wake, std::move(now))) {}

ControlLoop::~ControlLoop() {
  inside_->stop();
}

void ControlLoop::start(Hooks hooks) {
  inside_->start(std::move(hooks));
}
void ControlLoop::soon() {
  inside_->soon();
}
void ControlLoop::attend() {
  inside_->attend();
}
void ControlLoop::stop() {
  inside_->stop();
}

}  // namespace cleave
