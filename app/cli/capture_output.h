#pragma once

#include "app/cli/command_line.h"
#include "core/report/document.h"
#include "profiler/capture/capture_options.h"
#include "profiler/job/report.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bubblescope::cli {

/// Options of `record` and `env` that select the recorded activities of a job.
class CaptureCommandOptions {
public:
    void addTo(const Command& command);
    /// Returns the selected options, with the given folder or the default one. Error: Usage.
    [[nodiscard]] Result<profiler::CaptureOptions> options() const;

private:
    std::string dir_ = "capture";
    bool pipeline_ = false;
    std::string kinds_;
    std::string kernels_;
    bool memory_ = false;
    bool no_python_ = false;
    bool python_ranges_ = false;
    bool aadiff_ = false;
    double aadiff_margin_ = 10; ///< percent
    double aadiff_cost_ = 0.3;  ///< percent
    std::optional<std::int64_t> aadiff_memory_;
    std::string steps_;
    std::string step_name_;
    std::string delay_;
    std::string duration_;
    std::string size_;
    std::string more_;
};

/// Report on the recorded data and any lost data.
[[nodiscard]] report::Document captureDocument(const profiler::CaptureReport& captured, const std::string& dir);

} // namespace bubblescope::cli
