#pragma once

#include "core/base/result.h"
#include "runtime/launch/launcher.h"

#include <string>
#include <string_view>

namespace bubblescope {

/// One process of a job whose processes connect over TCP, as described by the launcher's variables.
struct TcpJob {
    int rank = 0;
    int size = 1;
    std::string host; ///< host of rank 0
    int port = 0;     ///< port on which rank 0 listens until all processes have connected
    /// A secret shared only by the processes of one job; each process proves that it has the secret. By default, the
    /// secret is the launcher's job id, which keeps other jobs out but can be guessed.
    std::string token;
    bool guessable = false;
};

/// Recognises torchrun, or any launcher that sets the same variables (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), and
/// Slurm's srun. With torchrun, which listens on MASTER_PORT itself, rank 0 uses the next port. BUBBLESCOPE_PORT and
/// BUBBLESCOPE_TOKEN, or the first line of the file that BUBBLESCOPE_TOKEN_FILE names, take precedence. Errors: Usage,
/// if no launcher is found or a variable is invalid; Input, as in net::readToken().
[[nodiscard]] Result<TcpJob> tcpJobOf(const Environment& environment);

/// The first host of a Slurm list, such as "node07" for "node[07-09,12],gpu1"; empty if the list is empty.
[[nodiscard]] std::string firstHostOf(std::string_view list);

} // namespace bubblescope
