#pragma once

#include "core/query/relation.h"
#include "core/query/subject.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::query {

/// What the rows of a trace have in common that are on one track.
struct TrackFacts {
    std::uint32_t file = 0;
    std::string process; ///< the name, else the number
    std::string thread;
    std::int64_t pid = 0;
    std::int64_t tid = 0;
    std::int64_t rank = 0; ///< that the file states, else of the pipeline, else the file's number
    std::string device;    ///< empty on tracks without work of one
    Cell stream;           ///< number or name, of those with it
    std::optional<std::int32_t> pipeline_rank;
    std::optional<std::int32_t> replica;
    ClockFit clock;       ///< that the track's times are by; a run's are by the reference
    bool aligned = false; ///< whether the two differ

    /// A time of the trace on the run's clock.
    [[nodiscard]] std::int64_t timeOf(std::int64_t shown) const {
        return aligned ? clock.toReference(TimeNs{shown}).count() : shown;
    }
    /// Whether times of the trace keep their order: not where the clock was set.
    [[nodiscard]] bool keepsOrder() const { return clock.later.empty(); }
};

/// Columns that follow from a row's track.
enum class OfTrack : std::uint8_t { Process, Thread, Pid, Tid, Rank, Device, Stream, PipelineRank, Replica, File };

/// The facts of all tracks, and of processes for what belongs to no track.
class AllTracks {
public:
    explicit AllTracks(const Subject& subject);

    [[nodiscard]] const TrackFacts& operator[](TrackId track) const { return tracks_[track]; }
    [[nodiscard]] std::size_t size() const { return tracks_.size(); }
    /// Of a process of a file, without thread, device and stream.
    [[nodiscard]] TrackFacts ofProcess(std::uint32_t file, std::int64_t pid) const;

private:
    std::vector<TrackFacts> tracks_;
    std::map<std::pair<std::uint32_t, std::int64_t>, TrackId> processes_; ///< with one of their tracks
};

[[nodiscard]] Cell factOf(const TrackFacts& track, OfTrack fact);

} // namespace bubblescope::query
