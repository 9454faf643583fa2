#pragma once

#include "app/cli/stop_signals.h"

#include <thread>

namespace bubblescope::cli {

/// While an object of this class exists, a program that is asked to stop ends within a second, even if a call blocks
/// it: a folder on a server that does not answer, or a trace that takes long to read. If it has not ended by then, it
/// exits with 128 plus the number of the signal.
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
