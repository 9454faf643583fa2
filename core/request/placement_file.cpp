#include "core/request/placement_file.h"

#include "core/base/field.h"
#include "core/base/open_input.h"
#include "core/base/text.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::string_view kPlacementShape = "write one line stage,rank per stage, or give a schedule file";

/// A line of the file: a stage, and the rank that holds it.
struct StagePlace {
    std::size_t line = 0;
    int stage = 0;
    int rank = 0;
};

/// Nothing if the line is not two integers.
std::optional<StagePlace> placeFrom(std::string_view text, std::size_t line) {
    const auto comma = text.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    const auto stage = parseNumber<int>(trimmed(text.substr(0, comma)));
    const auto rank = parseNumber<int>(trimmed(text.substr(comma + 1)));
    if (!stage || !rank) return std::nullopt;
    return StagePlace{line, *stage, *rank};
}

Result<Placement> placementOfSchedule(const std::string& file, int pp, int vpp) {
    BUBBLESCOPE_ASSIGN(const Schedule schedule, readScheduleFile(file));
    if (schedule.pp != pp || schedule.vpp != vpp) {
        return inputError(file,
                          fmt::format("its placement is for {} ranks with {} chunks each, not for {} with {}",
                                      schedule.pp, schedule.vpp, pp, vpp),
                          "give a schedule file of this size");
    }
    if (routes(schedule.placement) > 1)
        return inputError(file, "its placement is for two pipelines in opposite directions",
                          fmt::format("give {} for these", Field("second")));
    return schedule.placement;
}

Result<Placement> placementOfStages(const std::string& file, const std::vector<StagePlace>& places, int pp, int vpp) {
    const int stages = pp * vpp;
    std::vector<char> seen(static_cast<std::size_t>(stages), 0);
    for (const StagePlace& place : places) {
        const std::string where = fmt::format("{}, line {}", file, place.line);
        if (place.stage < 0 || place.stage >= stages)
            return inputError(where, fmt::format("stage {} does not exist", place.stage),
                              fmt::format("stages are 0 to {}", stages - 1));
        if (place.rank < 0 || place.rank >= pp)
            return inputError(where, fmt::format("there is no rank {}", place.rank),
                              fmt::format("ranks are 0 to {}", pp - 1));
        if (std::exchange(seen[static_cast<std::size_t>(place.stage)], char{1}) != 0)
            return inputError(where, fmt::format("stage {} already has a rank", place.stage), "name each stage once");
    }
    const auto missing = std::ranges::find(seen, char{0});
    if (missing != seen.end())
        return inputError(file, fmt::format("no rank holds stage {}", missing - seen.begin()),
                          std::string(kPlacementShape));
    for (const Placement placement : {Placement::Loop, Placement::V}) {
        if (std::ranges::all_of(places, [&](const StagePlace& place) {
                return locate(placement, pp, Stage{place.stage}).rank == Rank{place.rank};
            }))
            return placement;
    }
    const auto differs = std::ranges::find_if(places, [&](const StagePlace& place) {
        return locate(Placement::Loop, pp, Stage{place.stage}).rank != Rank{place.rank};
    });
    return inputError(fmt::format("{}, line {}", file, differs->line),
                      fmt::format("stage {} is on rank {}; in loop placement it is on rank {}, in v placement on {}",
                                  differs->stage, differs->rank,
                                  locate(Placement::Loop, pp, Stage{differs->stage}).rank.value,
                                  locate(Placement::V, pp, Stage{differs->stage}).rank.value),
                      "number the ranks so that the stages form a loop or a v; other placements are not supported");
}

} // namespace

Result<Placement> readPlacement(const std::string& file, int pp, int vpp) {
    const auto text_of_file = readInputText(file, "a placement");
    if (!text_of_file.ok()) {
        Error error = text_of_file.error();
        error.hint = "use any, loop, v or a file that can be read";
        return error;
    }
    std::vector<StagePlace> places;
    std::istringstream lines(text_of_file.value());
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        line.resize(std::min(line.find('#'), line.size()));
        const std::string_view text = trimmed(line);
        if (text.empty() || (places.empty() && text == "stage,rank")) continue;
        const auto place = placeFrom(text, number);
        if (!place && places.empty()) return placementOfSchedule(file, pp, vpp);
        if (!place)
            return inputError(fmt::format("{}, line {}", file, number),
                              fmt::format("'{}' is not a stage and rank", text), std::string(kPlacementShape));
        places.push_back(*place);
    }
    return placementOfStages(file, places, pp, vpp);
}

} // namespace bubblescope
