#include "runtime/launch/tcp_job.h"

#include "core/base/text.h"
#include "core/net/secret.h"

#include <cstdint>

namespace bubblescope {
namespace {

constexpr int kMaxPort = 65535;

std::string textIn(const Environment& environment, const char* name) {
    const char* const text = environment(name);
    return text == nullptr ? std::string() : std::string(text);
}

Result<std::int64_t> numberIn(const Environment& environment, const char* name, std::int64_t least, std::int64_t most) {
    const std::string text = textIn(environment, name);
    const auto number = parseNumber<std::int64_t>(text);
    if (!number || *number < least || *number > most) {
        return usageError(std::string("the environment's ") + name + " is '" + text + "', which is not a number from " +
                          std::to_string(least) + " to " + std::to_string(most));
    }
    return *number;
}

/// Reads rank and size.
Status readPlace(const Environment& environment, const char* rank, const char* size, TcpJob& job) {
    constexpr std::int64_t kMaxRanks = 1 << 20;
    BUBBLESCOPE_ASSIGN(const std::int64_t ranks, numberIn(environment, size, 1, kMaxRanks));
    BUBBLESCOPE_ASSIGN(const std::int64_t own, numberIn(environment, rank, 0, ranks - 1));
    job.rank = static_cast<int>(own);
    job.size = static_cast<int>(ranks);
    return {};
}

Status readMaster(const Environment& environment, TcpJob& job) {
    job.host = textIn(environment, "MASTER_ADDR");
    BUBBLESCOPE_ASSIGN(const std::int64_t port, numberIn(environment, "MASTER_PORT", 1, kMaxPort - 1));
    const bool taken = textIn(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
    job.port = static_cast<int>(port) + (taken ? 1 : 0);
    return {};
}

Status readSlurm(const Environment& environment, TcpJob& job) {
    BUBBLESCOPE_TRY(readPlace(environment, "SLURM_PROCID", "SLURM_NTASKS", job));
    const std::string id = textIn(environment, "SLURM_JOB_ID");
    const std::string step = textIn(environment, "SLURM_STEP_ID");
    job.token = "slurm " + id + "." + step;
    for (const char* const name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
        if (job.host.empty()) job.host = firstHostOf(textIn(environment, name));
    }
    if (job.host.empty()) return usageError("Slurm provides no hosts in SLURM_STEP_NODELIST or SLURM_JOB_NODELIST");
    // Outside the range of ephemeral ports; neighbouring jobs on one host get different ports.
    constexpr int kFirst = 20000;
    constexpr int kPorts = 10000;
    std::uint64_t hash = 0;
    for (const char letter : job.token)
        hash = hash * 31 + static_cast<unsigned char>(letter);
    job.port = kFirst + static_cast<int>(hash % kPorts);
    return {};
}

} // namespace

std::string firstHostOf(std::string_view list) {
    const std::size_t bracket = list.find_first_of("[,");
    if (bracket == std::string_view::npos || list[bracket] == ',') return std::string(list.substr(0, bracket));
    const std::string_view inside = list.substr(bracket + 1);
    const std::string_view first = inside.substr(0, inside.find_first_of("-,]"));
    const std::size_t end = list.find(']', bracket);
    // A suffix after a bracket belongs to each name in the bracket: rack[1-2]-gpu.
    const std::string_view rest = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
    return std::string(list.substr(0, bracket)) + std::string(first) + firstHostOf(rest);
}

Result<TcpJob> tcpJobOf(const Environment& environment) {
    TcpJob job;
    if (environment("RANK") != nullptr && environment("MASTER_ADDR") != nullptr) {
        BUBBLESCOPE_TRY(readPlace(environment, "RANK", "WORLD_SIZE", job));
        BUBBLESCOPE_TRY(readMaster(environment, job));
        job.token = "torchrun " + textIn(environment, "TORCHELASTIC_RUN_ID");
    } else if (environment("SLURM_PROCID") != nullptr) {
        BUBBLESCOPE_TRY(readSlurm(environment, job));
        if (environment("MASTER_ADDR") != nullptr) BUBBLESCOPE_TRY(readMaster(environment, job));
    } else {
        return usageError("this process's rank in the job is unknown",
                          "start one process per rank with torchrun --no-python or srun, or with mpirun if this "
                          "program was built with MPI");
    }
    if (environment("BUBBLESCOPE_PORT") != nullptr) {
        BUBBLESCOPE_ASSIGN(const std::int64_t port, numberIn(environment, "BUBBLESCOPE_PORT", 1, kMaxPort));
        job.port = static_cast<int>(port);
    }
    job.guessable = true;
    if (const std::string file = textIn(environment, "BUBBLESCOPE_TOKEN_FILE"); !file.empty()) {
        BUBBLESCOPE_ASSIGN(job.token, net::readToken(file));
        job.guessable = false;
    } else if (const std::string token = textIn(environment, net::kTokenVariable); !token.empty()) {
        job.token = token;
        job.guessable = false;
    }
    return job;
}

} // namespace bubblescope
