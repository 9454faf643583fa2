#pragma once

#include "core/base/diagnostic.h"
#include "core/trace/trace_builder.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace bubblescope::rocm {

/// The tracks of ROCm's profilers: queues of an agent (a device) and threads of a process. Names are those that
/// rocprofv3 writes into Perfetto traces, so that lanes.h recognises them.
class RocmTracks {
public:
    /// `where` is the name of the file and must outlive this object.
    RocmTracks(const std::string& where, TraceBuilder& builder, DiagnosticLog& log)
        : where_(where), builder_(builder), log_(log) {}

    TrackId queue(std::int64_t process, std::int64_t agent, std::int64_t queue) {
        const auto [known, is_new] = queues_.try_emplace({process, agent, queue}, kNoId);
        if (is_new) {
            known->second = builder_.addTrack(process, queue);
            builder_.track(known->second).thread_name =
                builder_.intern(fmt::format("AGENT [{}] QUEUE [{}] (GPU)", agent, queue));
        }
        return known->second;
    }
    TrackId thread(std::int64_t process, std::int64_t thread) {
        const auto [known, is_new] = threads_.try_emplace({process, thread}, kNoId);
        if (is_new) known->second = builder_.addTrack(process, thread);
        return known->second;
    }
    /// Adds a slice from `start` to `end`; counts it as lost if these times are unusable.
    void add(TrackId track, std::optional<std::int64_t> start, std::optional<std::int64_t> end, StringId name,
             StringId category, ArgSetId args) {
        if (!start || !end || *end < *start || !isWithinReach(TimeNs{*start}) || !isWithinReach(TimeNs{*end})) {
            log_.add("bad-time", say("{}, slice '{}'", where_, builder_.text(name)),
                     say("skipped events without a usable time"));
            return;
        }
        builder_.addSlice({track, TimeNs{*start}, TimeNs{*end - *start}, name, category, args});
    }

private:
    const std::string& where_;
    TraceBuilder& builder_;
    DiagnosticLog& log_;
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, TrackId> queues_;
    std::map<std::pair<std::int64_t, std::int64_t>, TrackId> threads_;
};

} // namespace bubblescope::rocm
