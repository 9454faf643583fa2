#include "core/analysis/clocks/native_clocks.h"

#include "core/recognise/trace_shares.h"
#include "core/timeline/trace_names.h"

#include <iterator>
#include <optional>
#include <utility>

namespace bubblescope {
namespace {

/// Nothing where one of its numbers is missing.
std::optional<Ping> pingOf(const Trace& trace, const Instant& instant) {
    const auto number = [&](std::string_view name) { return trace.intArg(instant.args, name); };
    const auto asker = number("asker");
    const auto replier = number("replier");
    const auto t0 = number("t0_ns");
    const auto t1 = number("t1_ns");
    const auto t2 = number("t2_ns");
    const auto t3 = number("t3_ns");
    if (!asker || !replier || !t0 || !t1 || !t2 || !t3) return std::nullopt;
    // The instant stands at t0. A trace counts from its first event, and moves the times of all our files alike.
    const TimeNs moved = instant.time - TimeNs{*t0};
    return Ping{static_cast<int>(*asker), static_cast<int>(*replier), TimeNs{*t0} + moved,
                TimeNs{*t1} + moved,      TimeNs{*t2} + moved,        TimeNs{*t3} + moved};
}

} // namespace

Result<NativeClocksIn::Answer> NativeClocksIn::answer(TraceShare& share) const {
    const Trace& trace = share.trace();
    Answer answer;
    const StringId run = trace.strings().find(trace_names::kRun);
    const StringId clock = trace.strings().find(trace_names::kClock);
    if (run == 0) return answer; // not one of ours
    for (const Instant& instant : trace.instants()) {
        if (instant.category == run && trace.text(instant.name) == trace_names::kRunEvent) {
            const auto host = trace.textArg(instant.args, "host");
            if (!host || host->empty()) continue;
            const auto name_of_clock = trace.textArg(instant.args, "clock");
            answer.hosts.try_emplace(share.fileOf(trace.tracks()[instant.track]),
                                     RecordedHost{std::string(*host), std::string(name_of_clock.value_or(""))});
        } else if (clock != 0 && instant.category == clock && trace.text(instant.name) == trace_names::kPing) {
            if (const auto ping = pingOf(trace, instant)) answer.pings.push_back(*ping);
        }
    }
    return answer;
}

NativeClocks nativeClocks(const Run& run) {
    NativeClocks all;
    if (!run.info) return all;
    for (NativeClocks& share : askRun(run, NativeClocksIn{})) {
        all.hosts.merge(share.hosts);
        std::ranges::move(share.pings, std::back_inserter(all.pings));
    }
    return all;
}

} // namespace bubblescope
