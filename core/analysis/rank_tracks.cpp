#include "core/analysis/rank_tracks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kOpsOfTrack = 32; // of each rank

/// A process of a file; those that have a text for a number are distinguished by it.
using Process = std::tuple<std::uint32_t, std::int64_t, StringId>;

Process processOf(const Track& track) {
    return {track.file, track.pid, track.pid == 0 ? track.process_name : 0};
}

using RankKey = std::pair<int, Rank>;

/// When some of a rank's ops begin, by its own clock.
std::vector<std::int64_t> beginsOf(const std::vector<TimelineOp>& ops, const ClockFit& clock) {
    std::vector<std::int64_t> begins;
    for (std::size_t i = 0; i < std::min(kOpsOfTrack, ops.size()); ++i)
        begins.push_back(clock.fromReference(ops[i].start).count());
    return begins;
}

std::optional<Process> mostLikely(const Trace& trace, const std::vector<std::int64_t>& begins) {
    std::map<Process, int> votes;
    for (const Track& track : trace.tracks()) {
        const auto starts = trace.sliceStarts().subspan(track.first_slice, track.end_slice - track.first_slice);
        for (const std::int64_t begin : begins) {
            if (std::ranges::binary_search(starts, begin)) ++votes[processOf(track)];
        }
    }
    const auto best = std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
    if (best == votes.end()) return std::nullopt;
    return best->first;
}

/// The process of the file that states this rank, if there is one: its rank in the job, or in the pipeline where the
/// job's mesh is not known. Of several processes, the one with most slices.
std::optional<Process> statedBy(const Run& run, const RankKey& key) {
    const Trace& trace = *run.trace;
    const auto is = [&](std::int32_t stated) {
        if (!run.places) return key.first == 0 && stated == key.second.value;
        const auto place = run.places->ranks.find(stated);
        return place != run.places->ranks.end() && place->second.at(MeshAxis::Pipeline) == key.second.value &&
               place->second.at(MeshAxis::Data) == key.first && place->second.at(MeshAxis::Tensor) == 0 &&
               place->second.at(MeshAxis::Context) == 0;
    };
    std::map<Process, std::size_t> slices;
    for (const Track& track : trace.tracks()) {
        const auto& stated = trace.files()[track.file].rank;
        if (stated && is(*stated)) slices[processOf(track)] += track.end_slice - track.first_slice;
    }
    const auto most = std::ranges::max_element(slices, {}, [](const auto& one) { return one.second; });
    if (most == slices.end()) return std::nullopt;
    return most->first;
}

} // namespace

std::vector<RankTracks> rankTracks(const Run& run, const RunClocks& clocks) {
    std::vector<RankTracks> found;
    if (run.trace == nullptr) return found;
    std::map<RankKey, const std::vector<TimelineOp>*> ranks; // with the first step's ops
    for (const StepTimeline& step : run.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            if (!step.ranks[r].empty()) ranks.try_emplace({step.replica, Rank{r}}, &step.ranks[r]);
        }
    }
    std::map<RankKey, Process> process_of;
    std::map<std::uint32_t, int> ranks_in_file;
    for (const auto& [key, ops] : ranks) {
        RankTracks& rank = found.emplace_back();
        std::tie(rank.replica, rank.rank) = key;
        for (const RankClock& clock : clocks.ranks) {
            if (clocks.method == ClockMethod::Aligned && clock.replica == rank.replica && clock.rank == rank.rank)
                rank.clock = clock.fit;
        }
        // Ops whose begin was cut, by the wait for their input, begin with no slice.
        std::optional<Process> process = mostLikely(*run.trace, beginsOf(*ops, rank.clock));
        if (!process) process = statedBy(run, key);
        if (!process) continue;
        process_of[key] = *process;
        ++ranks_in_file[std::get<0>(*process)];
    }
    const auto& tracks = run.trace->tracks();
    for (RankTracks& rank : found) {
        const auto process = process_of.find({rank.replica, rank.rank});
        if (process == process_of.end()) continue;
        const std::uint32_t file = std::get<0>(process->second);
        for (TrackId id = 0; id < tracks.size(); ++id) {
            const Track& track = tracks[id];
            if (track.first_slice == track.end_slice || track.file != file) continue;
            if (ranks_in_file[file] == 1 || processOf(track) == process->second) rank.tracks.push_back(id);
        }
    }
    return found;
}

} // namespace bubblescope
