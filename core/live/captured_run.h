#pragma once

#include "core/live/live_analyzer.h"

#include <filesystem>
#include <string>
#include <vector>

namespace bubblescope::live {

/// Recognises the steps of a job that does not know Bubblescope while it is recorded: reads its files again when they
/// grew, as `analyze` reads them when they are finished. Files that are limited in size keep that short; it takes no
/// more than a fifth of the time at any rate. One thread at a time.
class CapturedRun {
public:
    /// `patience`: when files that do not grow are taken to hold their last step whole.
    CapturedRun(std::vector<std::filesystem::path> folders, TimeNs patience)
        : folders_(std::move(folders)), patience_(patience) {}

    /// Hands new steps to the analyzer, which was fed with the same files. `now` as the analyzer has it.
    void look(LiveAnalyzer& analyzer, TimeNs now);

    /// Why no step was recognised at the last look; empty where one was.
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    std::vector<std::filesystem::path> folders_;
    TimeNs patience_;
    std::int64_t heard_ = 0; ///< bytes, at the last call
    TimeNs grew_{0};
    TimeNs next_{0};
    bool fresh_ = false;   ///< files grew since they were read
    bool settled_ = false; ///< what was read last was all
    std::string problem_;
};

} // namespace bubblescope::live
