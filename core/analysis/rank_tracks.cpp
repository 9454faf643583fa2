#include "core/analysis/rank_tracks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kOpsOfTrack = 32; // per rank

/// A process of a file; processes with a text instead of a number are distinguished by it.
using Process = std::tuple<std::uint32_t, std::int64_t, StringId>;

Process processOf(const Track& track) {
    return {track.file, track.pid, track.pid == 0 ? track.process_name : 0};
}

using RankKey = std::pair<int, Rank>;

/// The start times of some ops of each rank, on the rank's own clock.
class OpBegins {
public:
    /// Adds the ops of the rank with the next number.
    void add(const std::vector<TimelineOp>& ops, const ClockFit& clock) {
        for (std::size_t i = 0; i < std::min(kOpsOfTrack, ops.size()); ++i)
            begins_.push_back({clock.fromReference(ops[i].start).count(), ranks_});
        ++ranks_;
    }

    /// Per rank, the process in whose rows most of its ops begin with a slice; if equal, the first.
    [[nodiscard]] std::vector<std::optional<Process>> processes(const Trace& trace) {
        std::ranges::sort(begins_, {}, &Begin::time);
        std::map<Process, std::vector<const Track*>> rows;
        for (const Track& track : trace.tracks())
            rows[processOf(track)].push_back(&track);
        std::vector<std::optional<Process>> best(ranks_);
        std::vector<int> most(ranks_, 0);
        std::vector<int> votes(ranks_, 0);
        std::vector<std::size_t> voted; // ranks with votes
        for (const auto& [process, tracks] : rows) {
            for (const Track* const track : tracks) {
                eachMet(trace.sliceStarts().subspan(track->first_slice, track->end_slice - track->first_slice),
                        [&](std::size_t rank) {
                            if (votes[rank]++ == 0) voted.push_back(rank);
                        });
            }
            for (const std::size_t rank : voted) {
                if (votes[rank] > most[rank]) {
                    most[rank] = votes[rank];
                    best[rank] = process;
                }
                votes[rank] = 0;
            }
            voted.clear();
        }
        return best;
    }

private:
    struct Begin {
        std::int64_t time;
        std::size_t rank;
    };

    /// Calls visit(rank) for each begin that is in `starts`, which must be ascending. Both lists are searched in turn,
    /// with strides that double, so that values far from the other list take no time.
    template <class Visit>
    void eachMet(std::span<const std::int64_t> starts, const Visit& visit) const {
        const auto time_of = [this](std::size_t i) { return begins_[i].time; };
        const auto start_of = [starts](std::size_t i) { return starts[i]; };
        std::size_t begin = 0;
        std::size_t start = 0;
        while (true) {
            if (begin >= begins_.size()) return;
            start = firstFrom(time_of(begin), start, starts.size(), start_of);
            if (start >= starts.size()) return;
            begin = firstFrom(starts[start], begin, begins_.size(), time_of);
            for (; begin < begins_.size() && begins_[begin].time == starts[start]; ++begin)
                visit(begins_[begin].rank);
        }
    }
    /// The first index from `from` on whose value is not less than `value`.
    template <class ValueOf>
    static std::size_t firstFrom(std::int64_t value, std::size_t from, std::size_t end, const ValueOf& valueOf) {
        std::size_t behind = from; // all before it are less
        for (std::size_t stride = 1; from < end && valueOf(from) < value; stride *= 2) {
            behind = from + 1;
            from += stride;
        }
        from = std::min(from, end);
        while (behind < from) {
            const std::size_t middle = behind + (from - behind) / 2;
            if (valueOf(middle) < value)
                behind = middle + 1;
            else
                from = middle;
        }
        return behind;
    }

    std::vector<Begin> begins_;
    std::size_t ranks_ = 0;
};

/// The process of the file that names this rank, if any: its rank in the job, or in the pipeline if the job's mesh is
/// unknown. If there are several processes, the one with the most slices.
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
    OpBegins begins;
    for (const auto& [key, ops] : ranks) {
        RankTracks& rank = found.emplace_back();
        std::tie(rank.replica, rank.rank) = key;
        for (const RankClock& clock : clocks.ranks) {
            if (clocks.method == ClockMethod::Aligned && clock.replica == rank.replica && clock.rank == rank.rank)
                rank.clock = clock.fit;
        }
        begins.add(*ops, rank.clock);
    }
    std::vector<std::optional<Process>> processes = begins.processes(*run.trace);
    std::map<std::uint32_t, int> ranks_in_file;
    for (std::size_t i = 0; i < found.size(); ++i) {
        // Ops whose start was cut off by the wait for their input do not begin with a slice.
        if (!processes[i]) processes[i] = statedBy(run, {found[i].replica, found[i].rank});
        if (processes[i]) ++ranks_in_file[std::get<0>(*processes[i])];
    }
    const auto& tracks = run.trace->tracks();
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (!processes[i]) continue;
        RankTracks& rank = found[i];
        const std::uint32_t file = std::get<0>(*processes[i]);
        for (TrackId id = 0; id < tracks.size(); ++id) {
            const Track& track = tracks[id];
            if (track.first_slice == track.end_slice || track.file != file) continue;
            if (ranks_in_file[file] == 1 || processOf(track) == *processes[i]) rank.tracks.push_back(id);
        }
    }
    return found;
}

} // namespace bubblescope
