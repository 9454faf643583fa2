#include "runtime/comm/watchdog.h"

#include "core/base/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace bubblescope::runtime {
namespace {

std::string placeOf(const Activity& activity) {
    switch (activity.kind) {
    case Activity::Kind::Starting: return "building its stages";
    case Activity::Kind::Computing: return fmt::format("in {} of step {}", opName(activity.op), activity.step);
    case Activity::Kind::Checking:
        return fmt::format("in a check after {} of step {}", opName(activity.op), activity.step);
    case Activity::Kind::Receiving:
        return fmt::format("waiting for rank {} before {} of step {}", activity.peer.value, opName(activity.op),
                           activity.step);
    case Activity::Kind::Summing:
        return fmt::format("waiting for rank {} inside {} of step {}", activity.peer.value, opName(activity.op),
                           activity.step);
    case Activity::Kind::Draining: return fmt::format("waiting for its device in step {}", activity.step);
    case Activity::Kind::AtBarrier: return fmt::format("at the end of step {}", activity.step);
    case Activity::Kind::Done: return "done with all steps";
    }
    return {};
}

bool works(const Activity& activity) {
    return activity.kind == Activity::Kind::Starting || activity.busy();
}

} // namespace

Watchdog::Watchdog(int ranks, TimeNs timeout) : timeout_(timeout), ranks_(static_cast<std::size_t>(ranks)) {}

void Watchdog::report(Rank rank, const Activity& activity, Known known) {
    const std::lock_guard lock(mutex_);
    ranks_[rank.index()].activity = activity;
    ranks_[rank.index()].known = known;
}

void Watchdog::heardFrom(Rank rank, TimeNs now) {
    const std::lock_guard lock(mutex_);
    ranks_[rank.index()].heard = now;
}

std::optional<Error> Watchdog::verdict(TimeNs now) const {
    const std::lock_guard lock(mutex_);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (auto error = silent(Rank{r}, now)) return error;
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (auto error = stuck(Rank{r}, now)) return error;
    }
    return lostMessage(now);
}

std::optional<Error> Watchdog::silent(Rank rank, TimeNs now) const {
    const Seen& seen = ranks_[rank.index()];
    if (!seen.heard || now - *seen.heard <= timeout_ || seen.activity.kind == Activity::Kind::Done) return std::nullopt;
    return runError(fmt::format("no message from rank {} for {}; {} {}", rank.value, formatTime(now - *seen.heard),
                                seen.known == Known::Now ? "it was" : "at its last message it was",
                                placeOf(seen.activity)),
                    "its process died or was stopped, or its host is unreachable: check its last output");
}

std::optional<Error> Watchdog::stuck(Rank rank, TimeNs now) const {
    const Seen& seen = ranks_[rank.index()];
    const Activity& activity = seen.activity;
    if (!works(activity)) return std::nullopt;
    // Time of the activity at the last heartbeat: a rank that has died since may have continued with something else.
    const TimeNs known = seen.heard.value_or(now);
    if (known - std::max(activity.since, activity.due) <= timeout_) return std::nullopt;
    return runError(fmt::format("rank {} hangs: it has been {} for {}", rank.value, placeOf(activity),
                                formatTime(known - activity.since)),
                    fmt::format("if ops really take that long, increase {}", Field("timeout")));
}

std::optional<Error> Watchdog::lostMessage(TimeNs now) const {
    const Seen* longest = nullptr;
    for (const Seen& seen : ranks_) {
        const Activity& activity = seen.activity;
        if (works(activity)) return std::nullopt; // a waiting rank waits for this one, directly or indirectly
        if (activity.kind == Activity::Kind::Done) continue;
        if (now - activity.since <= timeout_) return std::nullopt; // a rank makes progress
        if (activity.kind == Activity::Kind::AtBarrier) continue;
        if (longest == nullptr || activity.since < longest->activity.since) longest = &seen;
    }
    if (longest == nullptr) return std::nullopt;
    const Activity& activity = longest->activity;
    return runError(fmt::format("rank {} has been {} for {}, and no rank computes: {}", longest - ranks_.data(),
                                placeOf(activity), formatTime(now - activity.since),
                                activity.kind == Activity::Kind::Draining ? "the device or one of its links hangs"
                                                                          : "a message was lost or its link hangs"),
                    fmt::format("if transfers really take that long, increase {}", Field("timeout")));
}

} // namespace bubblescope::runtime
