#include "core/recognise/assemble.h"
#include "core/schedule/dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace bubblescope {
namespace {

// More is a damaged number, not a pipeline; the bound keeps a bad file from exhausting the memory.
constexpr std::int64_t kMaxParts = 1 << 16;
constexpr std::int64_t kMaxSlots = 1 << 26;

using HomesByStage = std::map<std::int64_t, std::int64_t>;

struct Extent {
    std::set<std::int64_t> homes;
    std::int64_t parts = 0;
    std::int64_t microbatches = 0;
    std::int64_t slices = 1;
};

Result<Extent> extentOf(const FoundOps& found, const std::string& where) {
    Extent extent;
    for (const FoundOp& op : found.ops) {
        if (op.kind == OpKind::Optimizer) continue;
        if (op.part < 0 || op.part >= kMaxParts || op.microbatch < 0 || op.microbatch >= kMaxSlots || op.home < 0 ||
            op.home > INT32_MAX || op.step < 0 || op.step > INT32_MAX || op.sequence < 0 ||
            op.sequence >= kMaxSequenceSlices) {
            return inputError(where, fmt::format("an op has numbers that cannot be: rank {}, part {}, micro-batch {}, "
                                                 "step {}, sequence slice {}",
                                                 op.home, op.part, op.microbatch, op.step, op.sequence));
        }
        extent.homes.insert(op.home);
        extent.parts = std::max(extent.parts, op.part + 1);
        extent.microbatches = std::max(extent.microbatches, op.microbatch + 1);
        extent.slices = std::max(extent.slices, op.sequence + 1);
    }
    const auto parts = static_cast<std::int64_t>(extent.homes.size()) * extent.parts;
    if (parts > kMaxSlots / extent.slices || parts * extent.slices * extent.microbatches > kMaxSlots) {
        return inputError(where,
                          fmt::format("the trace claims {} ranks, {} parts, {} micro-batches and {} sequence slices, "
                                      "which cannot be",
                                      extent.homes.size(), extent.parts, extent.microbatches, extent.slices));
    }
    return extent;
}

Error missingRanks(const std::string& where, const std::string& what) {
    return inputError(where, what, "load the files of all pipeline ranks together, or the folder that holds them");
}

Result<HomesByStage> homesByStage(const FoundOps& found, const std::string& where) {
    HomesByStage homes;
    for (const FoundOp& op : found.ops) {
        if (op.kind == OpKind::Optimizer) continue;
        const auto known = homes.emplace(op.part, op.home).first;
        if (known->second != op.home) {
            return inputError(where, fmt::format("stage {} ran on ranks {} and {}", op.part, known->second, op.home),
                              "the files hold several replicas of the pipeline; load those of one");
        }
    }
    std::int64_t expected = 0;
    for (const auto& [stage, home] : homes) {
        if (stage != expected) return missingRanks(where, fmt::format("no rank ran stage {}", expected));
        ++expected;
    }
    return homes;
}

bool placed(const HomesByStage& homes, const Layout& layout, Placement placement) {
    return std::all_of(homes.begin(), homes.end(), [&](const auto& entry) {
        const Stage stage{static_cast<std::int32_t>(entry.first)};
        return locate(placement, layout.pp, stage).rank == layout.rank_of_home.at(entry.second);
    });
}

// Ranks are numbered by their first stage, chunks by the order of their rank's stages.
Status placeStages(const HomesByStage& homes, Layout& layout, const std::string& where) {
    for (const auto& [stage, home] : homes) {
        if (layout.rank_of_home.contains(home)) continue;
        layout.rank_of_home.emplace(home, Rank{layout.rank_of_home.size()});
    }
    layout.pp = static_cast<int>(layout.rank_of_home.size());
    const auto stages = static_cast<int>(homes.size());
    layout.vpp = stages / layout.pp;
    if (stages % layout.pp != 0) {
        return inputError(where, fmt::format("{} stages do not spread evenly over {} ranks", stages, layout.pp),
                          "load the files of all pipeline ranks together");
    }
    if (placed(homes, layout, Placement::Loop))
        layout.placement = Placement::Loop;
    else if (placed(homes, layout, Placement::V))
        layout.placement = Placement::V;
    else {
        return inputError(
            where, fmt::format("the {} stages lie on the {} ranks neither as a loop nor as a V", stages, layout.pp));
    }
    for (const auto& [stage, home] : homes) {
        layout.location_of_stage[stage] =
            bubblescope::locate(layout.placement, layout.pp, Stage{static_cast<std::int32_t>(stage)});
    }
    return {};
}

Status placeRanks(const Extent& extent, const FoundOps& found, Layout& layout, const std::string& where) {
    const bool numbered = found.parts == Parts::Chunks;
    for (const std::int64_t home : extent.homes) {
        const Rank rank{layout.rank_of_home.size()};
        if (numbered && home != rank.value) {
            return missingRanks(where, fmt::format("there is no op of rank {}", rank.value));
        }
        layout.rank_of_home.emplace(home, rank);
    }
    layout.pp = static_cast<int>(layout.rank_of_home.size());
    layout.vpp = numbered ? static_cast<int>(extent.parts) : 1;
    return {};
}

// What the file states about its run also shows what is missing from it.
Status applyInfo(const RunInfo& info, Layout& layout, const std::string& where) {
    if (info.pp > layout.pp) {
        return missingRanks(where, fmt::format("the run had {} ranks, but only {} have ops", info.pp, layout.pp));
    }
    const std::int64_t microbatches = std::max(layout.microbatches, info.microbatches);
    const std::int64_t vpp = std::max(layout.vpp, info.vpp);
    if (microbatches > kMaxSlots || vpp > kMaxParts || vpp % routes(info.placement) != 0 ||
        microbatches * vpp > kMaxSlots / layout.slices / layout.pp) {
        return inputError(where, fmt::format("the run's settings cannot be: {} micro-batches, {} chunks, {} placement",
                                             info.microbatches, info.vpp, placementName(info.placement)));
    }
    layout.microbatches = static_cast<int>(microbatches);
    layout.vpp = static_cast<int>(vpp);
    layout.placement = info.placement;
    return {};
}

} // namespace

Location Layout::locate(const FoundOp& op, Parts parts) const {
    if (op.kind != OpKind::Optimizer) {
        if (parts == Parts::Stages) return location_of_stage.at(op.part);
        if (parts == Parts::Chunks) return {rank_of_home.at(op.home), Chunk{static_cast<std::int32_t>(op.part)}};
    }
    return {rank_of_home.at(op.home), Chunk{0}};
}

Result<Layout> inferLayout(const FoundOps& found, const std::string& where) {
    BUBBLESCOPE_ASSIGN(const Extent extent, extentOf(found, where));
    Layout layout;
    layout.microbatches = static_cast<int>(extent.microbatches);
    layout.slices = static_cast<int>(extent.slices);
    if (found.parts == Parts::Stages) {
        BUBBLESCOPE_ASSIGN(const HomesByStage homes, homesByStage(found, where));
        BUBBLESCOPE_TRY(placeStages(homes, layout, where));
    } else {
        BUBBLESCOPE_TRY(placeRanks(extent, found, layout, where));
    }
    if (found.info) BUBBLESCOPE_TRY(applyInfo(*found.info, layout, where));
    return layout;
}

namespace {

struct Place {
    std::int64_t home = 0; ///< that of replica 0
    std::int64_t replica = 0;
};

} // namespace

Status splitReplicas(FoundOps& found, const std::string& where) {
    if (found.parts != Parts::Stages) return {};
    std::map<std::int64_t, std::set<std::int64_t>> homes_of_stage;
    for (const FoundOp& op : found.ops) {
        if (op.kind != OpKind::Optimizer) homes_of_stage[op.part].insert(op.home);
    }
    const auto several = [](const auto& entry) { return entry.second.size() > 1; };
    if (std::none_of(homes_of_stage.begin(), homes_of_stage.end(), several)) return {};

    std::map<std::int64_t, Place> places;
    const std::size_t replicas = homes_of_stage.begin()->second.size();
    for (const auto& [stage, homes] : homes_of_stage) {
        if (homes.size() != replicas) {
            return inputError(where,
                              fmt::format("{} ranks ran stage {}, but {} ran stage {}", replicas,
                                          homes_of_stage.begin()->first, homes.size(), stage),
                              "load the files of whole pipelines: all pipeline ranks of each replica");
        }
        std::int64_t replica = 0;
        for (const std::int64_t home : homes) {
            const Place& place = places.emplace(home, Place{*homes.begin(), replica}).first->second;
            if (place.replica != replica) {
                return inputError(where,
                                  fmt::format("rank {} belongs to replica {} by one of its stages and to {} by another",
                                              home, place.replica, replica),
                                  "load the files of one replica");
            }
            ++replica;
        }
    }
    const auto move = [&places](auto& item) {
        const auto place = places.find(item.home);
        if (place == places.end()) return;
        item.replica = place->second.replica;
        item.home = place->second.home;
    };
    std::for_each(found.ops.begin(), found.ops.end(), move);
    std::for_each(found.comm.begin(), found.comm.end(), move);
    return {};
}

} // namespace bubblescope
