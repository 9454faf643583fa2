#pragma once

#include "core/base/process_info.h"
#include "core/base/time.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// Reads an environment variable; returns nothing if it is not set.
using ReadVariable = std::function<std::optional<std::string>(std::string_view name)>;
[[nodiscard]] std::optional<std::string> ownVariable(std::string_view name);

/// The process's position in the job, from the launcher's environment variables.
struct RankIdentity {
    std::optional<int> rank; ///< rank among all processes of the job
    std::optional<int> size; ///< number of processes in the job
    std::optional<int> local_rank;
    std::string told_by;                           ///< name of the variable that contains the rank
    std::vector<std::pair<std::string, int>> mesh; ///< coordinates by axis ("pp", 1), from variables such as PP_RANK
};

/// Reads the variables of torchrun, Paddle's launcher, Open MPI, PMI (MPICH, Intel MPI), MVAPICH and Slurm, in this
/// order. If one launcher starts another, the inner launcher thus takes precedence. Ignores variables that are not
/// numbers.
[[nodiscard]] RankIdentity identify(const ReadVariable& variable);

/// Describes a process as lines of text, for the `record` process, which saves the described process's remaining
/// records. Missing or malformed fields stay empty.
struct DescribedProcess {
    RankIdentity identity;
    ProcessInfo process;
    std::string options; ///< see captureOptionsText()
    TimeNs began{0};     ///< CLOCK_MONOTONIC
};
[[nodiscard]] std::string processText(const DescribedProcess& process);
[[nodiscard]] DescribedProcess describedProcess(std::string_view text);

/// The name of a process's trace: "rank3.pid4711", or "node7.pid4711" if the rank is unknown. Known coordinates are
/// included, as in "rank3-pp1-tp0.pid4711"; readers parse them. Characters that are unsuitable for file names become
/// "_".
[[nodiscard]] std::string traceName(const RankIdentity& identity, const ProcessInfo& process);

} // namespace bubblescope::profiler
