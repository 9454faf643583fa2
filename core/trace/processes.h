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

/// The label in a process's name that identifies its rank, where a tool merged the files of several ranks.
struct ProcessLabel {
    std::string text; ///< "[TP00-PP01]", "rank 3": equal for all processes of one rank
    std::optional<std::int32_t> rank;
};
/// Recognises "[TP00-PP01] 4711", "rank 3: python", "python (rank 3)"; nothing for other names.
[[nodiscard]] std::optional<ProcessLabel> labelOfProcess(std::string_view name);

/// Splits a file of several processes into one TraceFile per process that ran operators or launched device work,
/// because correlation, flow and thread ids are unique only within a process. Devices are assigned to the process that
/// launched their work, matched by label, by number, or else by correlation id. Anything else stays with the first
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
