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

/// Kind of the slices on a track.
enum class LaneKind : std::uint8_t {
    Host,          ///< calls, operators and ranges on a thread
    Device,        ///< kernels and other work on a device, including copies
    Copy,          ///< copies and memsets on a device
    Communication, ///< transfers between ranks on a device
    Compute,       ///< kernels that are not transfers, regardless of their names
    Annotation,    ///< describes work on other lanes, but is never work itself
    Idle,          ///< marks time without work
};
inline constexpr std::size_t kLaneKinds = 7;
/// Names in rules files: "host", "device", "copy", "communication", "compute", "annotation", "idle".
[[nodiscard]] std::string_view laneKindName(LaneKind kind);
[[nodiscard]] std::optional<LaneKind> laneKindFrom(std::string_view name);

/// A row in the table of lanes, which assigns a kind to matching slices. In name patterns, * matches any text and #
/// matches a number; an empty pattern matches any name.
struct LaneRule {
    std::string category; ///< exact category of the slices; if empty, applies to slices without a category
    std::string process;  ///< pattern for the name of the process
    std::string thread;   ///< pattern for the name of the thread
    LaneKind kind = LaneKind::Device;
    std::string source = {}; ///< profiler whose traces contain such lanes, for display
    /// Name of the device. A # in a pattern is the number of the device; without #, all such lanes of a process belong
    /// to one device. If empty, all lanes of a process belong to one device, whose number is that of the process.
    std::string device = {};
    /// Pattern for slice names. If not empty, the row applies only to slices on devices with such names, not to tracks.
    std::string name = {};
};

/// The rank assigned by the user to files with a matching name, or to processes in them.
struct RankRule {
    std::string pattern; ///< as in LaneRule; matches the path, its last part, or TraceFile::process
    std::int32_t rank = 0;
};

/// The user's options for reading traces.
struct TraceRules {
    std::vector<LaneRule> lanes; ///< rows that are checked before the built-in rows
    std::vector<RankRule> ranks;
};

/// The built-in rows. The first matching row applies.
[[nodiscard]] std::span<const LaneRule> builtinLanes();

/// True if `name` matches a pattern as in LaneRule. If the pattern contains #, `number` is set to the matched number.
[[nodiscard]] bool matchesName(std::string_view pattern, std::string_view name, std::optional<std::int64_t>* number);

/// Kinds of a trace's slices, determined by category and by the names of process and thread. Immutable.
class Lanes {
public:
    Lanes() = default;
    /// The rows in `more` take precedence over built-in ones.
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
    /// True if slices of this kind are work on a device.
    [[nodiscard]] static bool isWork(LaneKind kind) {
        return kind == LaneKind::Device || kind == LaneKind::Copy || kind == LaneKind::Communication ||
               kind == LaneKind::Compute;
    }
    /// True if any slice may be work on a device.
    [[nodiscard]] bool anyWork() const { return any_work_; }
    /// The device whose work is on a track, such as "NPU" or "agent 4"; empty if the process identifies the device.
    [[nodiscard]] std::string_view deviceOf(std::size_t track) const {
        return track < device_.size() ? std::string_view(device_[track]) : std::string_view();
    }

private:
    static constexpr std::uint8_t kByTrack = 0xff;

    std::vector<std::uint8_t> by_category_; ///< a LaneKind or kByTrack, indexed by StringId
    std::vector<std::uint8_t> by_name_;     ///< same as by_category_, for names; empty if no rule uses names
    std::vector<LaneKind> by_track_;        ///< kind of slices without a category; empty if all tracks belong to hosts
    std::vector<std::string> device_;       ///< by track; empty if names do not identify the device
    bool any_work_ = false;
};

} // namespace bubblescope
