#pragma once

#include "core/formats/perfetto/sequence_state.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::perfetto {

/// GPU work recorded by Perfetto's producers outside track events. Creates one slice of the category
/// "gpu_render_stage" per piece of work, and one row per hardware queue of each GPU. Throws protozero::exception on
/// malformed input.
class RenderStages {
public:
    explicit RenderStages(TraceBuilder& builder) : builder_(builder) {}

    /// Reads a packet's interned data, which includes names of queues and stages.
    void addInterned(std::string_view message, std::uint32_t sequence);
    void clear(std::uint32_t sequence);
    void addEvent(std::string_view message, std::uint32_t sequence, TimeNs time, const SequenceState& state);

private:
    using Iid = std::pair<std::uint32_t, std::uint64_t>; ///< key within a sequence
    struct Queue {
        std::int64_t gpu = 0;
        std::int64_t pid = 0;
        StringId name = 0;
        std::int64_t number = 0;
        friend auto operator<=>(const Queue&, const Queue&) = default;
    };

    void addSpecifications(std::string_view message);
    [[nodiscard]] TrackId trackFor(const Queue& queue);

    TraceBuilder& builder_;
    std::map<Iid, StringId> specifications_;
    std::map<Iid, std::int64_t> processes_; ///< by context
    std::vector<StringId> queues_;          ///< names by number, for old traces without interning
    std::vector<StringId> stages_;
    std::map<Queue, TrackId> tracks_;
};

} // namespace bubblescope::perfetto
