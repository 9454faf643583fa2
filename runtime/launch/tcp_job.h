#pragma once

#include "core/base/result.h"
#include "runtime/launch/launcher.h"

#include <string>
#include <string_view>

namespace bubblescope {

/// A process of a job whose processes find each other by TCP, from the launcher's variables.
struct TcpJob {
    int rank = 0;
    int size = 1;
    std::string host; ///< of rank 0
    int port = 0;     ///< on which rank 0 listens until all processes have connected
    /// Equal for the processes of one job, so that two jobs on one port are detected. It is not a secret: it is visible
    /// to anyone who can read the processes' environment.
    std::string token;
};

/// Recognises torchrun, or any launcher that sets the same variables (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), and
/// Slurm's srun. torchrun itself listens on its port, so rank 0 takes the next one. BUBBLESCOPE_PORT and
/// BUBBLESCOPE_TOKEN take precedence. Error: Usage, if no launcher is found or a variable is invalid.
[[nodiscard]] Result<TcpJob> tcpJobOf(const Environment& environment);

/// The first host of a Slurm list, such as "node07" of "node[07-09,12],gpu1"; empty if the list is.
[[nodiscard]] std::string firstHostOf(std::string_view list);

} // namespace bubblescope
