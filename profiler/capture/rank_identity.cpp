#include "profiler/capture/rank_identity.h"

#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace bubblescope::profiler {
namespace {

struct Launcher {
    std::string_view rank;
    std::string_view size;
    std::string_view local_rank;
};
constexpr std::array<Launcher, 6> kLaunchers{{
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_RANK_IN_NODE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
}};

struct Axis {
    std::string_view variable;
    std::string_view name;
};
constexpr std::array<Axis, 5> kAxes{
    {{"PP_RANK", "pp"}, {"DP_RANK", "dp"}, {"CP_RANK", "cp"}, {"TP_RANK", "tp"}, {"EP_RANK", "ep"}}};

std::optional<int> number(const ReadVariable& variable, std::string_view name) {
    const auto text = variable(name);
    if (!text) return std::nullopt;
    const auto value = parseNumber<int>(*text);
    return value && *value >= 0 ? value : std::nullopt;
}

} // namespace

std::optional<std::string> ownVariable(std::string_view name) {
    const char* const value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

RankIdentity identify(const ReadVariable& variable) {
    RankIdentity identity;
    for (const Launcher& launcher : kLaunchers) {
        const auto rank = number(variable, launcher.rank);
        if (!rank) continue;
        identity.rank = rank;
        identity.size = number(variable, launcher.size);
        identity.local_rank = number(variable, launcher.local_rank);
        identity.told_by = launcher.rank;
        break;
    }
    for (const Axis& axis : kAxes) {
        if (const auto place = number(variable, axis.variable)) identity.mesh.emplace_back(axis.name, *place);
    }
    return identity;
}

std::string traceName(const RankIdentity& identity, const ProcessInfo& process) {
    std::string name = process.host;
    if (identity.rank) {
        name = "rank" + std::to_string(*identity.rank);
        for (const auto& [axis, place] : identity.mesh)
            name += "-" + axis + std::to_string(place);
    }
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; }, '_');
    return name + ".pid" + std::to_string(process.pid);
}

} // namespace bubblescope::profiler
