#pragma once

#include "app/cli/stop_signals.h"

#include <thread>

namespace bubblescope::cli {

/// While an object of this class exists, the program ends within a second when it is asked to stop, even if a call
/// blocks it, such as access to a folder on a server that does not answer, or reading a large trace. If it has not
/// ended by then, it exits with 128 plus the number of the signal.
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
