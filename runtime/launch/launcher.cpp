#include "runtime/launch/launcher.h"

#include "core/base/text.h"

#include <array>
#include <cstdlib>

namespace bubblescope {
namespace {

struct Variables {
    const char* marker; ///< a variable that only this launcher sets
    const char* rank;
    const char* size;
};

// Slurm's PMIx plugin sets the rank but not the size, which comes from Slurm's own variable.
constexpr std::array<Variables, 4> kKnown{{{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_SIZE", "PMI_RANK", "PMI_SIZE"},
                                           {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                           {"PMIX_RANK", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"}}};

std::optional<int> numberIn(const Environment& environment, const char* name) {
    const char* const text = environment(name);
    if (text == nullptr) return std::nullopt;
    std::string_view digits = text;
    const auto number = takeNumber<int>(digits);
    return number && *number >= 0 ? number : std::nullopt;
}

} // namespace

std::optional<Launched> launchedAs(const Environment& environment) {
    for (const Variables& known : kKnown) {
        if (environment(known.marker) == nullptr) continue;
        return Launched{known.marker, numberIn(environment, known.rank), numberIn(environment, known.size)};
    }
    return std::nullopt;
}

std::optional<Launched> launchedAs() {
    return launchedAs(ownEnvironment);
}

std::optional<int> rankOnHost(const Environment& environment) {
    constexpr std::array kNames{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
                                "PALS_LOCAL_RANKID",          "LOCAL_RANK",      "SLURM_LOCALID"};
    for (const char* const name : kNames) {
        if (const auto number = numberIn(environment, name)) return number;
    }
    return std::nullopt;
}

std::optional<int> rankOnHost() {
    return rankOnHost(ownEnvironment);
}

const char* ownEnvironment(const char* name) {
    return std::getenv(name);
}

} // namespace bubblescope
