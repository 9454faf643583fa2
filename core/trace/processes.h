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

/// What a process's name says of whose it is where a tool merged the files of several ranks.
struct ProcessLabel {
    std::string text; ///< "[TP00-PP01]", "rank 3": equal for all processes of one rank
    std::optional<std::int32_t> rank;
};
/// "[TP00-PP01] 4711", "rank 3: python", "python (rank 3)"; nothing for other names.
[[nodiscard]] std::optional<ProcessLabel> labelOfProcess(std::string_view name);

/// Makes one TraceFile for each process that ran operators or launched work on devices, in a file that holds several:
/// ids of correlations, arrows and threads are unique within a process only. Devices go to the process that launched
/// their work: by label, by number, else by correlation. What belongs to no such process stays with the first.
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
