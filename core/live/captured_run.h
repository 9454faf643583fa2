#pragma once

#include "core/live/live_analyzer.h"

#include <filesystem>
#include <string>
#include <vector>

namespace bubblescope::live {

/// Recognises the steps of a recorded job while it runs: reads its files again when they grew, as `analyze` reads them
/// when they are finished. Files of limited size keep that short; it takes at most a fifth of the time. One thread at a
/// time.
class CapturedRun {
public:
    /// `patience`: how long files must not grow until their last step is taken to be complete.
    CapturedRun(std::vector<std::filesystem::path> folders, TimeNs patience)
        : folders_(std::move(folders)), patience_(patience) {}

    /// Hands new steps to the analyzer, which was fed with the same files. `now` is on the analyzer's clock.
    void look(LiveAnalyzer& analyzer, TimeNs now);

    /// Why no step was recognised at the last look; empty if one was.
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    std::vector<std::filesystem::path> folders_;
    TimeNs patience_;
    std::int64_t heard_ = 0; ///< bytes received, at the last call
    TimeNs grew_{0};
    TimeNs next_{0};
    bool fresh_ = false;   ///< files grew since they were read
    bool settled_ = false; ///< what was read last was complete
    std::string problem_;
};

} // namespace bubblescope::live
