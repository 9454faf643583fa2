#pragma once

#include "core/base/descriptor.h"

#include <sys/signalfd.h>

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace bubblescope::cli {

/// Waits for SIGINT and SIGTERM, so that a stopped program can still report its results.
class StopSignals {
public:
    StopSignals() {
        sigset_t wanted;
        ::sigemptyset(&wanted);
        ::sigaddset(&wanted, SIGINT);
        ::sigaddset(&wanted, SIGTERM);
        ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
        descriptor_ = Descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    ~StopSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_.get(); }
    [[nodiscard]] bool came() const { return signal() != 0; }
    /// The first signal received, or 0. Any thread.
    [[nodiscard]] int signal() const {
        signalfd_siginfo info{};
        if (signal_ == 0 && ::read(descriptor_.get(), &info, sizeof info) > 0)
            signal_ = static_cast<int>(info.ssi_signo);
        return signal_;
    }

private:
    sigset_t before_{};
    Descriptor descriptor_;
    mutable std::atomic<int> signal_ = 0;
};

/// While an object of this class exists, the first SIGINT or SIGTERM prints a message and requests that the run end
/// after the current step. A second signal ends the process immediately. Create the object before starting any thread
/// that must not receive the signals.
class EndOnSignal {
public:
    EndOnSignal();
    ~EndOnSignal();
    EndOnSignal(const EndOnSignal&) = delete;
    EndOnSignal& operator=(const EndOnSignal&) = delete;

    [[nodiscard]] std::stop_token token() const { return ask_.get_token(); }

private:
    void watch();

    StopSignals signals_;
    Descriptor over_; ///< becomes readable to end the thread
    std::stop_source ask_;
    std::thread watcher_;
};

} // namespace bubblescope::cli
