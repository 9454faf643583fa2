#pragma once

#include "core/base/time.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace bubblescope::perfetto {

/// A named value on a slice (a DebugAnnotation in the file).
struct Arg {
    std::string_view name;
    std::variant<std::int64_t, double, bool, std::string_view> value;
};

/// Turns tracks, slices and instants into Perfetto TracePackets of one packet sequence. The output is a
/// plain concatenation of packets, so files may be appended to and cut at any packet border; field
/// numbers are those of perfetto's protos (TracePacket, TrackDescriptor, TrackEvent, InternedData).
///
/// Not thread-safe: one encoder per writing thread, with a sequence id unique in the file set.
class Encoder {
public:
    explicit Encoder(std::uint32_t sequence_id);

    /// A process track; `order` sorts processes in viewers.
    void process(std::uint64_t uuid, std::int32_t pid, std::string_view name, std::int32_t order);
    /// A track below `parent`; siblings are sorted by `order` and never merged by name.
    void track(std::uint64_t uuid, std::uint64_t parent, std::string_view name, std::int32_t order);

    /// A counter below `parent`, and its values.
    void counterTrack(std::uint64_t uuid, std::uint64_t parent, std::string_view name);
    void counter(std::uint64_t track, TimeNs time, double value);

    /// BEGIN and END of one track must nest. Equal flow ids connect slices by arrows, from the one that
    /// begins earlier to the later; of two that begin at once the direction is left to chance.
    void beginSlice(std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
                    std::span<const Arg> args = {}, std::span<const std::uint64_t> flow_ids = {});
    void endSlice(std::uint64_t track, TimeNs time);
    void instant(std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
                 std::span<const Arg> args = {});

    /// Makes CLOCK_MONOTONIC the trace's clock; must come before the first event, since a viewer that
    /// cannot relate a packet's clock to the trace's drops the packet. With `realtime`, pairs it with
    /// CLOCK_REALTIME, so that files of one host can be related to others.
    void clockSnapshot(TimeNs monotonic, std::optional<TimeNs> realtime = {});

    /// Everything encoded since the last call: whole packets only. Interning state carries on.
    [[nodiscard]] std::string take();

private:
    using InternTable = std::map<std::string, std::uint64_t, std::less<>>;

    static std::uint64_t intern(InternTable& table, std::uint32_t field, std::string_view text, std::string& interned);
    [[nodiscard]] std::string argMessage(const Arg& arg, std::string& interned);
    void event(std::int32_t type, std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
               std::span<const Arg> args, std::span<const std::uint64_t> flow_ids);
    void trackEvent(TimeNs time, const std::string& message, const std::string& interned, bool needs_state);
    void packet(std::string& body, bool needs_state);

    std::uint32_t sequence_id_;
    bool first_ = true;
    std::string out_;
    InternTable names_;
    InternTable categories_;
    InternTable arg_names_;
};

} // namespace bubblescope::perfetto
