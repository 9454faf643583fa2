#include "core/schedule/schedule.h"

#include "core/base/text.h"
#include "core/base/visible.h"

#include <fmt/format.h>

namespace bubblescope {
namespace {

constexpr std::string_view kEncoders = "encoders-";
constexpr std::string_view kMoving = "moving";

/// The position of a rank in one pass of a route through the ranks. The function is its own inverse.
int column(Placement placement, int pp, int route, int pass, int rank) {
    const bool turned =
        withoutEncoders(placement) != Placement::Loop && pass % 2 == 1; // V: every other pass runs backwards
    return turned != (route == 1) ? pp - 1 - rank : rank;
}

} // namespace

Stage stageOf(Placement placement, int pp, Rank rank, Chunk chunk) {
    if (placement == Placement::Moving) return Stage{chunk.value};
    const int route = chunk.value % routes(placement);
    const int pass = chunk.value / routes(placement);
    return Stage{(pass * pp + column(placement, pp, route, pass, rank.value)) * routes(placement) + route};
}

Location locate(Placement placement, int pp, Stage stage) {
    if (placement == Placement::Moving) return {Rank{0}, Chunk{stage.value}};
    const int route = stage.value % routes(placement);
    const int place = stage.value / routes(placement);
    const int pass = place / pp;
    return {Rank{column(placement, pp, route, pass, place % pp)}, Chunk{pass * routes(placement) + route}};
}

std::string placementName(Placement placement) {
    switch (placement) {
    case Placement::Loop: return "loop";
    case Placement::V: return "v";
    case Placement::Bidirectional: return "bidirectional";
    case Placement::Moving: return std::string(kMoving);
    }
    const Encoders encoders = encodersOf(placement);
    return encoders.second > 0 ? fmt::format("{}{}-{}", kEncoders, encoders.first, encoders.second)
                               : fmt::format("{}{}", kEncoders, encoders.first);
}

std::optional<Placement> placementFromName(std::string_view name) {
    if (name == "loop") return Placement::Loop;
    if (name == "v") return Placement::V;
    if (name == "bidirectional") return Placement::Bidirectional;
    if (name == kMoving) return Placement::Moving;
    if (!name.starts_with(kEncoders)) return std::nullopt;
    name.remove_prefix(kEncoders.size());
    const auto first = takeNumber<int>(name);
    std::optional<int> second = 0;
    if (!name.empty()) {
        if (!name.starts_with('-')) return std::nullopt;
        name.remove_prefix(1);
        second = takeNumber<int>(name);
        if (!second || *second < 1) return std::nullopt;
    }
    if (!name.empty() || !first || *first < 1 || *first > kMaxEncoderRanks || *second > kMaxEncoderRanks)
        return std::nullopt;
    return encoderPlacement({*first, *second});
}

std::size_t Schedule::opCount() const {
    std::size_t count = 0;
    for (const auto& ops : ranks)
        count += ops.size();
    return count;
}

Status rejectMoving(Placement placement, std::string_view what) {
    if (placement != Placement::Moving) return {};
    return usageError(fmt::format("{} needs stages that stay on their ranks, but in this order they move", what),
                      "`bubblescope simulate` supports orders with moving stages");
}

Status rejectEncoders(Placement placement, std::string_view what) {
    BUBBLESCOPE_TRY(rejectMoving(placement, what));
    if (encodersOf(placement).ranks() == 0) return {};
    return usageError(fmt::format("{} needs one chain of stages, but this order has encoders before a trunk", what),
                      "choose an order without encoders");
}

std::string orderName(std::string_view family, std::string_view flavor) {
    return flavor.empty() ? std::string(family) : fmt::format("{} ({})", family, flavor);
}

std::string orderName(const Schedule& schedule) {
    return visible(orderName(schedule.name, schedule.flavor)); // a file may contain any name
}

std::string sizesText(int pp, int microbatches, int vpp) {
    return fmt::format("p = {}, m = {}, v = {}", pp, microbatches, vpp);
}

std::string sizesText(const Schedule& schedule) {
    if (schedule.placement == Placement::Moving)
        return fmt::format("p = {}, m = {}, {} moving stages", schedule.pp, schedule.microbatches, schedule.vpp);
    const std::string sizes = sizesText(schedule.pp, schedule.microbatches, schedule.vpp);
    const Encoders encoders = encodersOf(schedule.placement);
    if (encoders.ranks() == 0) return sizes;
    return fmt::format("{}, encoders {}{}", sizes, encoders.first,
                       encoders.second > 0 ? fmt::format("+{}", encoders.second) : std::string());
}

std::string scheduleTitle(const Schedule& schedule) {
    return fmt::format("{}, {}", orderName(schedule), sizesText(schedule));
}

} // namespace bubblescope
