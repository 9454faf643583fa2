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

/// Returns the text before the letter, and removes that text and the letter.
std::string_view takeBefore(char letter, std::string_view& text) {
    const std::size_t at = std::min(text.find(letter), text.size());
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return taken;
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

std::string processText(const DescribedProcess& described) {
    std::string text;
    const auto add = [&text](std::string_view key, std::string value) {
        std::ranges::replace(value, '\n', ' ');
        text += std::string(key) + "=" + value + "\n";
    };
    const auto number = [&add](std::string_view key, std::optional<int> value) {
        if (value) add(key, std::to_string(*value));
    };
    const ProcessInfo& process = described.process;
    add("host", process.host);
    add("clock", process.clock);
    add("pid", std::to_string(process.pid));
    add("began", std::to_string(described.began.count()));
    add("pids", process.pids);
    add("program", process.program);
    const RankIdentity& identity = described.identity;
    number("rank", identity.rank);
    number("size", identity.size);
    number("local_rank", identity.local_rank);
    add("told_by", identity.told_by);
    for (const auto& [axis, place] : identity.mesh)
        add("mesh." + axis, std::to_string(place));
    add("options", described.options);
    return text;
}

DescribedProcess describedProcess(std::string_view text) {
    DescribedProcess described;
    ProcessInfo& process = described.process;
    RankIdentity& identity = described.identity;
    const std::array<std::pair<std::string_view, std::string*>, 6> texts{{{"host", &process.host},
                                                                          {"clock", &process.clock},
                                                                          {"pids", &process.pids},
                                                                          {"program", &process.program},
                                                                          {"told_by", &identity.told_by},
                                                                          {"options", &described.options}}};
    const std::array<std::pair<std::string_view, std::optional<int>*>, 3> numbers{
        {{"rank", &identity.rank}, {"size", &identity.size}, {"local_rank", &identity.local_rank}}};
    constexpr std::string_view kMesh = "mesh.";
    while (!text.empty()) {
        std::string_view value = takeBefore('\n', text);
        const std::string_view key = takeBefore('=', value);
        for (const auto& [name, to] : texts) {
            if (name == key) *to = value;
        }
        for (const auto& [name, to] : numbers) {
            if (name == key) *to = parseNumber<int>(value);
        }
        if (key == "pid") process.pid = parseNumber<std::int64_t>(value).value_or(0);
        if (key == "began") described.began = TimeNs{parseNumber<std::int64_t>(value).value_or(0)};
        const auto place = key.starts_with(kMesh) ? parseNumber<int>(value) : std::nullopt;
        if (place) identity.mesh.emplace_back(key.substr(kMesh.size()), *place);
    }
    return described;
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
