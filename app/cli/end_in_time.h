#pragma once

#include "app/cli/stop_signals.h"

#include <thread>

namespace bubblescope::cli {

/// While an object of this class exists, the program ends within a second of SIGINT or SIGTERM, even during a blocking
/// call such as a read from an unresponsive file server. If the program has not ended by then, it exits with 128 plus
/// the signal number.
class EndInTime {
public:
    explicit EndInTime(const StopSignals& signals);
    ~EndInTime();
    EndInTime(const EndInTime&) = delete;
    EndInTime& operator=(const EndInTime&) = delete;

private:
    void watch(const StopSignals& signals) const;

    Descriptor over_; ///< becomes readable when the program ends normally
    std::thread watcher_;
};

} // namespace bubblescope::cli
