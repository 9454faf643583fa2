#pragma once

#include "core/analysis/clocks/solve.h"
#include "core/recognise/trace_share.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// One collective as it ran on one member's device or host.
struct CollectiveSpan {
    std::uint32_t file = 0; ///< of the trace
    TimeNs start{0};
    TimeNs end{0};
};

template <class Wire>
void fields(Wire& wire, CollectiveSpan& value) {
    auto& [file, start, end] = value;
    wire(file, start, end);
}

/// Asks the shares of a trace for the collectives of each kind and group that each file recorded.
struct CollectivesOf {
    static constexpr std::string_view kName = "collectives";
    using Answer = std::map<std::string, std::map<std::uint32_t, std::vector<CollectiveSpan>>>;
    [[nodiscard]] Result<Answer> answer(TraceShare& share) const;
};

template <class Wire>
void fields(Wire&, CollectivesOf&) {}

/// A collective whose members were found in several files, one entry a file.
struct MatchedCollective {
    std::string name; ///< "all_reduce", …
    std::vector<CollectiveSpan> members;
};

/// The collectives that all their members wait for each other in: kernels of NCCL and RCCL, and Gloo's annotations on
/// the host. Members of one are told by group and place in its sequence, where Kineto names the group, else by kind
/// and place. A kind that files recorded a different number of times is passed over: which are equal cannot be told
/// then. So are sends and receives between two ranks. Linear in slices.
[[nodiscard]] std::vector<MatchedCollective> matchCollectives(std::vector<CollectivesOf::Answer> shares);

/// What they say of clocks, of which `clock_of_file` gives one for each of the trace's files (or -1 for none): no
/// member leaves one before all have entered it, and they leave within `spread` of each other. The first is certain,
/// the second is not, but tells far more where one member always comes last. Kernels of NCCL on one host end within
/// microseconds of each other.
void addCollectives(const std::vector<MatchedCollective>& collectives, const std::vector<int>& clock_of_file,
                    TimeNs spread, std::vector<Precedence>& precedences, std::vector<Coincidence>& coincidences);

} // namespace bubblescope
