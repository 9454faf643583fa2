#pragma once

#include "app/cli/stop_signals.h"

#include <stop_token>
#include <thread>

namespace bubblescope::cli {

/// While it lives, the first SIGINT or SIGTERM asks a run to end with the step that is running, and says so; another
/// one ends the process at once. To be made before the threads that are not to be hit.
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
    Descriptor over_; ///< readable when nothing more is to be watched
    std::stop_source ask_;
    std::thread watcher_;
};

} // namespace bubblescope::cli
