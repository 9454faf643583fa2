#pragma once

#include <functional>
#include <optional>
#include <string>

namespace bubblescope {

/// What a launcher of parallel jobs told this process when it started it.
struct Launched {
    std::string launcher; ///< the variable that tells, such as "OMPI_COMM_WORLD_SIZE"
    std::optional<int> rank;
    std::optional<int> size;
};

/// Reads a variable of the environment; null where it is not set.
using Environment = std::function<const char*(const char* name)>;

/// Nothing for a process that was started by itself. Known are Open MPI's mpirun, MPICH and its kin (PMI), and Slurm's
/// srun with a PMI plugin; srun without one, and the shell of a Slurm batch job, start single processes.
[[nodiscard]] std::optional<Launched> launchedAs(const Environment& environment);
[[nodiscard]] std::optional<Launched> launchedAs(); ///< by this process's environment

/// This process's number among those of its job on its host, by which each takes a GPU of its own; nothing where no
/// launcher says.
[[nodiscard]] std::optional<int> rankOnHost(const Environment& environment);
[[nodiscard]] std::optional<int> rankOnHost();

/// This process's environment.
[[nodiscard]] const char* ownEnvironment(const char* name);

} // namespace bubblescope
