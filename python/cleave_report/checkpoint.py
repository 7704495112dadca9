"""The signal by which Cleave asks a job to save its state before it is stopped. CLEAVE_CHECKPOINT_SIGNAL has its
number or name, such as USR1; without that nothing is installed."""

import os
import signal
import sys
import traceback

VARIABLE = "CLEAVE_CHECKPOINT_SIGNAL"


def signal_of(text):
    """The signal called `USR1`, `SIGUSR1` or `10`, or None."""
    text = (text or "").strip().upper()
    try:
        if text.isdigit():
            return signal.Signals(int(text))
        return getattr(signal.Signals, text if text.startswith("SIG") else "SIG" + text)
    except (ValueError, AttributeError):
        return None


class Checkpoint:
    def __init__(self):
        self.callback = None
        self.signal = None
        self.asked = False
        self.before = None  # the handler installed before

    def install(self, callback):
        """Returns whether the callback will run; False without the variable and outside the main thread."""
        wanted = signal_of(os.environ.get(VARIABLE))
        if wanted is None or not callable(callback):
            return False
        try:
            if self.signal != wanted:
                self.before = signal.signal(wanted, self.heard)
                signal.siginterrupt(wanted, False)
                self.signal = wanted
        except Exception:  # not the main thread, or a signal that cannot be caught
            return False
        self.callback = callback
        return True

    def heard(self, number, frame):
        self.asked = True
        if callable(self.before):
            self.before(number, frame)

    def poll(self):
        """Runs the callback if the signal has arrived. An exception is printed and the job continues, since
        Cleave's request must not end it; SystemExit and KeyboardInterrupt pass."""
        if not self.asked:
            return
        self.asked = False
        try:
            if self.callback is not None:
                self.callback()
        except Exception:
            print("cleave_report: the checkpoint failed; the job continues", file=sys.stderr)
            traceback.print_exc()

    def forget(self):
        """In a forked child, which is not the job."""
        self.callback = None
        self.asked = False
