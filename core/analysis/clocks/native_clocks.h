#pragma once

#include "core/analysis/clocks/solve.h"
#include "core/recognise/run.h"
#include "core/recognise/trace_share.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Where a file of our own was written. Files of one `clock` have times of one clock, whatever the host is called.
struct RecordedHost {
    std::string name;
    std::string clock; ///< the machine between two of its starts; empty where it is not known
};

/// What our own trace files say of clocks (core/timeline/trace_names.h).
struct NativeClocks {
    std::map<std::uint32_t, RecordedHost> hosts; ///< by file of the trace, of those that name it
    std::vector<Ping> pings;                     ///< between ranks of the whole run; times as the trace has them
};

[[nodiscard]] NativeClocks nativeClocks(const Run& run);

/// Asks the shares of a trace for that.
struct NativeClocksIn {
    static constexpr std::string_view kName = "own clocks";
    using Answer = NativeClocks;
    [[nodiscard]] Result<Answer> answer(TraceShare& share) const;
};

template <class Wire>
void fields(Wire&, NativeClocksIn&) {}
template <class Wire>
void fields(Wire& wire, RecordedHost& value) {
    auto& [name, clock] = value;
    wire(name, clock);
}
template <class Wire>
void fields(Wire& wire, NativeClocks& value) {
    auto& [hosts, pings] = value;
    wire(hosts, pings);
}

} // namespace bubblescope
