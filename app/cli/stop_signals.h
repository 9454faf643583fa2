#pragma once

#include "core/base/descriptor.h"

#include <sys/signalfd.h>

#include <unistd.h>

#include <csignal>

namespace bubblescope::cli {

/// SIGINT and SIGTERM as something that can be waited for, so that what is stopped can report what it saw.
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
    [[nodiscard]] bool came() {
        signalfd_siginfo info{};
        came_ = came_ || ::read(descriptor_.get(), &info, sizeof info) > 0;
        return came_;
    }

private:
    sigset_t before_{};
    Descriptor descriptor_;
    bool came_ = false;
};

} // namespace bubblescope::cli
