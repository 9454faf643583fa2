#pragma once

#include "core/base/process_info.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// A variable of the environment, nothing where it is not set.
using ReadVariable = std::function<std::optional<std::string>(std::string_view name)>;
[[nodiscard]] std::optional<std::string> ownVariable(std::string_view name);

/// Which process of which job this is, as far as its launcher's variables show.
struct RankIdentity {
    std::optional<int> rank; ///< among all of the job
    std::optional<int> size; ///< of the job
    std::optional<int> local_rank;
    std::string told_by;                           ///< the variable that holds the rank
    std::vector<std::pair<std::string, int>> mesh; ///< places by axis ("pp", 1), from variables such as PP_RANK
};

/// Asks the variables of torchrun, Paddle's launcher, Open MPI, PMI (MPICH, Intel MPI), MVAPICH and Slurm, in this
/// order: a launcher within a launcher's job knows better. A variable that holds no number is as good as none.
[[nodiscard]] RankIdentity identify(const ReadVariable& variable);

/// What a process's trace is called: "rank3.pid4711", or "node7.pid4711" where its rank is not known; places are in it
/// where they are known, "rank3-pp1-tp0.pid4711", which is where a reader looks for them. Letters that files should not
/// have become "_".
[[nodiscard]] std::string traceName(const RankIdentity& identity, const ProcessInfo& process);

} // namespace bubblescope::profiler
