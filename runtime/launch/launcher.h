#pragma once

#include <functional>
#include <optional>
#include <string>

namespace bubblescope {

/// The data that the launcher of a parallel job passed to this process.
struct Launched {
    std::string launcher; ///< the variable that identifies the launcher, such as "OMPI_COMM_WORLD_SIZE"
    std::optional<int> rank;
    std::optional<int> size;
};

/// Reads an environment variable; null if it is not set.
using Environment = std::function<const char*(const char* name)>;

/// Returns nothing if the process was started directly. Recognises Open MPI's mpirun, MPICH and related launchers
/// (PMI), and Slurm's srun with a PMI plugin. The shell of a Slurm batch job, and srun without a plugin, start a single
/// process each.
[[nodiscard]] std::optional<Launched> launchedAs(const Environment& environment);
[[nodiscard]] std::optional<Launched> launchedAs(); ///< uses this process's environment

/// Index of this process among the job's processes on its host, which determines its GPU; nothing if no launcher sets
/// the index.
[[nodiscard]] std::optional<int> rankOnHost(const Environment& environment);
[[nodiscard]] std::optional<int> rankOnHost();

/// This process's environment.
[[nodiscard]] const char* ownEnvironment(const char* name);

} // namespace bubblescope
