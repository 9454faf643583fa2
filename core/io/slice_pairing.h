#pragma once

#include "core/base/diagnostic.h"
#include "core/trace/trace_builder.h"

#include <string>
#include <vector>

namespace bubblescope {

/// The begin or the end of a slice, from formats that write the two apart.
struct SliceMark {
    TrackId track = 0;
    bool is_end = false;
    TimeNs time{0};
    StringId name = 0; ///< may be empty at an end
    StringId category = 0;
    ArgSetId args = 0;
};

/// Turns begins and ends into slices once a file is read to its end: files need not be in order of time.
/// An end closes the innermost open slice of its track. Slices that are still open at the end of the file
/// are left out and counted: when they would have ended is not known, and a made-up end would look like a
/// measured one.
class SlicePairing {
public:
    void add(const SliceMark& mark) { addAsync(mark, 0); }
    /// Begins and ends that meet by an id within their track, not by nesting in it.
    void addAsync(const SliceMark& mark, std::uint64_t id) {
        marks_.push_back({mark, id, static_cast<std::uint32_t>(marks_.size())});
    }
    /// An arrow touching the slice whose begin was added last.
    void addFlowToLast(std::uint64_t id);

    /// Adds the slices to the builder; `where` names the file in diagnostics.
    void finish(TraceBuilder& builder, DiagnosticLog& log, const std::string& where);

private:
    struct Numbered {
        SliceMark mark;
        std::uint64_t id;     ///< 0 for those that nest
        std::uint32_t number; ///< in order of arrival
    };
    struct Flow {
        std::uint32_t mark;
        std::uint64_t id;
    };

    void sortByTrackAndTime();
    void addFlows(TraceBuilder& builder, const Numbered& begin, SliceId slice) const;

    std::vector<Numbered> marks_;
    std::vector<Flow> flows_; // by mark
};

} // namespace bubblescope
