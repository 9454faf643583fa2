#include "core/live/captured_processes.h"

#include <algorithm>
#include <set>

namespace bubblescope::profiler {
namespace {

/// Of the ranks that share a stage, or a part of a sequence, the first stands for all, as where the steps are put
/// together.
std::optional<std::pair<int, int>> placeInPipeline(const RankPlaces& places, int rank) {
    const auto known = places.ranks.find(rank);
    if (known == places.ranks.end()) return std::nullopt;
    const MeshNumbers& at = known->second;
    if (at.at(MeshAxis::Tensor) != 0 || at.at(MeshAxis::Context) != 0) return std::nullopt;
    return std::pair(at.at(MeshAxis::Pipeline), at.at(MeshAxis::Data));
}

} // namespace

RecordedProcess* RecordedProcesses::of(const CaptureStatement& statement) {
    const Key key{statement.writer.host, statement.writer.pid};
    if (processes_.size() >= kMost && !processes_.contains(key)) return nullptr;
    const auto [place, is_new] = processes_.try_emplace(key);
    if (is_new) {
        place->second.told = statement;
        place->second.number = processes_.size();
    }
    return &place->second;
}

bool RecordedProcesses::allOver() const {
    return !processes_.empty() && std::ranges::all_of(processes_, [](const auto& one) { return one.second.isOver(); });
}

TimeNs RecordedProcesses::lastHeard() const {
    TimeNs last{0};
    for (const auto& [key, process] : processes_)
        last = std::max(last, process.heard);
    return last;
}

std::map<std::pair<int, int>, const RecordedProcess*> RecordedProcesses::byRank(const std::optional<RankPlaces>& places,
                                                                                int pp) const {
    std::set<int> ranks;
    for (const auto& [key, process] : processes_) {
        if (process.told.rank) ranks.insert(*process.told.rank);
    }
    std::map<std::pair<int, int>, const RecordedProcess*> found;
    for (const auto& [key, process] : processes_) {
        std::optional<std::pair<int, int>> place;
        if (process.told.rank && places)
            place = placeInPipeline(*places, *process.told.rank);
        else if (process.told.rank && ranks.size() == static_cast<std::size_t>(pp))
            place = std::pair(static_cast<int>(std::distance(ranks.begin(), ranks.find(*process.told.rank))), 0);
        else if (!process.told.rank && processes_.size() == 1 && pp == 1)
            place = std::pair(0, 0);
        if (!place) continue;
        const RecordedProcess*& known = found[*place];
        if (known == nullptr || process.number > known->number) known = &process;
    }
    return found;
}

} // namespace bubblescope::profiler
