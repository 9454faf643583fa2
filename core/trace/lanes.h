#pragma once

#include "core/base/job.h"
#include "core/trace/string_pool.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

struct Track;

/// The kind of a track's slices.
enum class LaneKind : std::uint8_t {
    Host,          ///< calls, operators and ranges of a thread
    Device,        ///< kernels and other work on a device, copies included
    Copy,          ///< copies and memsets on a device
    Communication, ///< transfers between ranks on a device
    Compute,       ///< kernels that transfer nothing, whatever their names
    Annotation,    ///< describes what other lanes ran; never work itself
    Idle,          ///< marks time without work
};
inline constexpr std::size_t kLaneKinds = 7;
/// "host", "device", "copy", "communication", "compute", "annotation", "idle": the names in rules files.
[[nodiscard]] std::string_view laneKindName(LaneKind kind);
[[nodiscard]] std::optional<LaneKind> laneKindFrom(std::string_view name);

/// One row of the table of lanes: the slices that form a lane of some kind. In name patterns, * matches any text and #
/// a number; an empty pattern matches any name.
struct LaneRule {
    std::string category; ///< exact category of the slices; empty: slices without a category
    std::string process;  ///< pattern of the process's name
    std::string thread;   ///< pattern of the thread's name
    LaneKind kind = LaneKind::Device;
    std::string source = {}; ///< profiler whose traces have such lanes, for display
    /// Name of the device. A # in a pattern stands for the device's number; without #, all such lanes of a process
    /// belong to one device. If empty, all lanes of a process belong to one device, which has the process's number.
    std::string device = {};
    /// Pattern for slice names. If set, the row applies only to slices with such a name on devices, not to tracks.
    std::string name = {};
};

/// The rank that the user assigns to files, or processes in them, with a matching name.
struct RankRule {
    std::string pattern; ///< as in LaneRule; matches the path, its last part, or the process (TraceFile::process)
    std::int32_t rank = 0;
};

/// The user's options for reading traces.
struct TraceRules {
    std::vector<LaneRule> lanes; ///< checked before the built-in rows
    std::vector<RankRule> ranks;
};

/// The built-in rows. The first match applies.
[[nodiscard]] std::span<const LaneRule> builtinLanes();

/// True if `name` matches a pattern as in LaneRule. Sets `number` to the number that # matched, if the pattern has a #.
[[nodiscard]] bool matchesName(std::string_view pattern, std::string_view name, std::optional<std::int64_t>* number);

/// The kinds of a trace's slices, decided by category and by the names of process and thread. Immutable.
class Lanes {
public:
    Lanes() = default;
    /// `more` rows take precedence over the built-in ones.
    Lanes(std::span<const Track> tracks, const StringPool& strings, std::span<const LaneRule> more = {});

    [[nodiscard]] LaneKind kindOf(std::size_t track, StringId category, StringId name) const {
        const LaneKind kind = kindOf(track, category);
        const bool named = name < by_name_.size() && by_name_[name] != kByTrack && isWork(kind);
        return named ? static_cast<LaneKind>(by_name_[name]) : kind;
    }
    [[nodiscard]] LaneKind kindOf(std::size_t track, StringId category) const {
        if (category < by_category_.size() && by_category_[category] != kByTrack)
            return static_cast<LaneKind>(by_category_[category]);
        return category == 0 && track < by_track_.size() ? by_track_[track] : LaneKind::Host;
    }
    /// True if slices of this kind are device work.
    [[nodiscard]] static bool isWork(LaneKind kind) {
        return kind == LaneKind::Device || kind == LaneKind::Copy || kind == LaneKind::Communication ||
               kind == LaneKind::Compute;
    }
    /// True if any slice may be device work.
    [[nodiscard]] bool anyWork() const { return any_work_; }
    /// The device whose work a track contains, such as "NPU" or "agent 4"; empty if the process alone identifies it.
    [[nodiscard]] std::string_view deviceOf(std::size_t track) const {
        return track < device_.size() ? std::string_view(device_[track]) : std::string_view();
    }

private:
    static constexpr std::uint8_t kByTrack = 0xff;

    std::vector<std::uint8_t> by_category_; ///< a LaneKind, or kByTrack; indexed by StringId
    std::vector<std::uint8_t> by_name_;     ///< as by_category_, for names; empty if no rule concerns names
    std::vector<LaneKind> by_track_;        ///< for slices without a category; empty if all tracks belong to hosts
    std::vector<std::string> device_;       ///< by track; empty if names do not identify it
    bool any_work_ = false;
};

} // namespace bubblescope
