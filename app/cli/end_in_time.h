#pragma once

#include "app/cli/stop_signals.h"

#include <thread>

namespace bubblescope::cli {

/// While it lives, a program asked to stop ends within a second, whatever blocks it: a folder on a server
/// that does not answer, a trace that takes long to read. Where it has not by then, it is ended with 128 plus the
/// signal.
class EndInTime {
public:
    explicit EndInTime(const StopSignals& signals);
    ~EndInTime();
    EndInTime(const EndInTime&) = delete;
    EndInTime& operator=(const EndInTime&) = delete;

private:
    void watch(int signals) const;

    Descriptor over_; ///< readable when the program has ended by itself
    std::thread watcher_;
};

} // namespace bubblescope::cli
