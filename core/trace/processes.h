#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The part of a process's name that identifies its rank, if a tool merged the files of several ranks.
struct ProcessLabel {
    std::string text; ///< such as "[TP00-PP01]" or "rank 3"; the same for all processes of a rank
    std::optional<std::int32_t> rank;
};
/// Recognises "[TP00-PP01] 4711", "rank 3: python" and "python (rank 3)"; empty for other names.
[[nodiscard]] std::optional<ProcessLabel> labelOfProcess(std::string_view name);

/// Splits a file with several processes into one TraceFile per process that ran operators or launched device work,
/// because correlation, flow and thread ids are unique only within a process. A device belongs to the process that
/// launched its work, found by label, by number, or else by correlation id. All other tracks remain in the first
/// process.
class ProcessSplitter {
public:
    ProcessSplitter(Trace& trace, DiagnosticLog& log, const JobControl& control)
        : trace_(trace), log_(log), control_(control) {}

    void run();

private:
    struct Process;
    [[nodiscard]] std::vector<Process> processesOf(std::uint32_t file) const;
    [[nodiscard]] bool group(std::vector<Process>& processes) const;
    void tieDevices(std::vector<Process>& processes) const;
    void divide(std::uint32_t file, const std::vector<Process>& processes);

    Trace& trace_;
    DiagnosticLog& log_;
    const JobControl& control_;
};

} // namespace bubblescope
