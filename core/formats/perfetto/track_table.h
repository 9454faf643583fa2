#pragma once

#include "core/formats/perfetto/packet.h"
#include "core/formats/source/source_files.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace bubblescope::perfetto {

/// First uuid that Bubblescope's writer assigns to a trace's tracks.
inline constexpr std::uint64_t kFirstTrackUuid = std::uint64_t{1} << 32;

/// The tracks of one file by uuid. Descriptors may come after the events that use them, so the tracks are named at the
/// end.
class TrackTable {
public:
    explicit TrackTable(TraceBuilder& builder) : builder_(builder) {}

    /// Throws protozero::exception on malformed input.
    void addDescriptor(std::string_view message);
    /// Reads the description of a sequence's process and thread as that of a track with this uuid.
    void addProcess(std::uint64_t uuid, std::string_view message);
    void addThread(std::uint64_t uuid, std::string_view message);
    /// The trace's track for events with this uuid, created on first use.
    [[nodiscard]] TrackId trackFor(std::uint64_t uuid);

    [[nodiscard]] StringId nameOf(std::uint64_t uuid) const;
    [[nodiscard]] std::int64_t pidOf(std::uint64_t uuid) const;
    /// The interpretation of a counter's values.
    struct CounterUnit {
        bool adds_up = false; ///< true if each value is the change since the previous one
        std::int64_t multiplier = 1;
    };
    [[nodiscard]] CounterUnit counterUnitOf(std::uint64_t uuid) const;

    /// After finish(): restores the rows of a converted file.
    void restoreRows(const SourceFiles& sources);

    /// Names the tracks by their descriptors and ancestors.
    void finish();

private:
    struct Descriptor {
        StringId name = 0;
        std::uint64_t parent = 0;
        std::optional<std::int64_t> pid;
        std::optional<std::int64_t> tid;
        StringId process_name = 0;
        StringId thread_name = 0;
        CounterUnit counter;
    };

    void add(const TrackDescriptor& stated, Descriptor& out);
    /// Calls `visit` for the descriptor and its ancestors until it returns true.
    template <class Visit>
    void climb(std::uint64_t uuid, const Visit& visit) const;

    TraceBuilder& builder_;
    std::unordered_map<std::uint64_t, Descriptor> descriptors_;
    std::unordered_map<std::uint64_t, TrackId> tracks_;
    std::pair<std::uint64_t, TrackId> last_{0, kNoId}; ///< latest track; successive events are usually on the same one
};

} // namespace bubblescope::perfetto
