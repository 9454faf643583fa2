#pragma once

#include "core/base/result.h"
#include "runtime/launch/launcher.h"

#include <string>
#include <string_view>

namespace bubblescope {

/// One of several processes that find each other by TCP, by the launcher's variables.
struct TcpJob {
    int rank = 0;
    int size = 1;
    std::string host; ///< where rank 0 is
    int port = 0;     ///< on which it listens until all have come
    /// Equal for the processes of one job, so that two jobs on one port notice. No secret: whoever sees the environment
    /// of the processes knows it.
    std::string token;
};

/// Known are torchrun, and whoever sets the same variables (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), and Slurm's
/// srun. torchrun itself listens on its port, so rank 0 takes the next one. BUBBLESCOPE_PORT and BUBBLESCOPE_TOKEN have
/// the last word. Usage error where no launcher is found or a variable is wrong.
[[nodiscard]] Result<TcpJob> tcpJobOf(const Environment& environment);

/// The first host of a Slurm list, such as "node07" of "node[07-09,12],gpu1"; empty if the list is.
[[nodiscard]] std::string firstHostOf(std::string_view list);

} // namespace bubblescope
