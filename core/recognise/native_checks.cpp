#include "core/recognise/native_checks.h"

#include "core/recognise/found_ops.h"
#include "core/recognise/native_args.h"
#include "core/recognise/native_check_args.h"
#include "core/recognise/trace_args.h"
#include "core/timeline/trace_names.h"

#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

class CheckReader {
public:
    explicit CheckReader(const TraceShare& share)
        : trace_(share.trace()), check_(trace_.strings().find(trace_names::kCheck)),
          digest_(trace_.strings().find(trace_names::kDigest)), run_(trace_.strings().find(trace_names::kRun)) {}

    NativeChecks read() {
        if (check_ == 0 && digest_ == 0) return {};
        for (const Track& track : trace_.tracks()) {
            if (!trace_.text(track.thread_name).starts_with(trace_names::kReplay)) continue;
            for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                if (trace_.sliceCategories()[slice] == check_)
                    addCheck(track, trace_.sliceArgs()[slice], trace_.start(slice), trace_.end(slice));
            }
        }
        for (const Instant& instant : trace_.instants()) {
            const Track& track = trace_.tracks()[instant.track];
            if (instant.category == check_ && check_ != 0)
                addCheck(track, instant.args, instant.time, instant.time);
            else if (instant.category == digest_ && digest_ != 0)
                addDigest(track, instant);
            else if (instant.category == run_ && trace_.text(instant.name) == trace_names::kRunEvent)
                addDevice(track, instant.args);
        }
        out_.problems = log_.take();
        return std::move(out_);
    }

private:
    std::string where(const Track& track) const { return trace_.files()[track.file].path.string(); }

    /// Whether a record of the track may be used.
    bool usable(const Track& track, const std::optional<OwnHome>& place) {
        if (place && placeCanBe(*place)) return true;
        log_.add("bad-check", where(track), say("checks and digests of no rank are left out"));
        return false;
    }
    bool sound(const Track& track, const NativeRecordReader<TraceArgs>& in) {
        if (in.wrong().empty()) return true;
        log_.add("bad-check", where(track),
                 say("checks and digests are left out whose '{}' is missing or not what it should be", in.wrong()));
        return false;
    }

    void addCheck(const Track& track, ArgSetId args, TimeNs start, TimeNs end) {
        const auto place = ownHome(trace_, track);
        if (!usable(track, place)) return;
        NativeRecordReader in(TraceArgs{trace_, args});
        CheckRecord check = nativeCheck(in, *place, start, end);
        if (!sound(track, in)) return;
        if (contradictsItself(check)) {
            log_.add("bad-check", where(track), say("checks that claim to be equal and have two digests are left out"));
            return;
        }
        out_.checks.push_back(std::move(check));
    }
    void addDigest(const Track& track, const Instant& instant) {
        const auto place = ownHome(trace_, track);
        if (!usable(track, place)) return;
        NativeRecordReader in(TraceArgs{trace_, instant.args});
        DigestRecord digest = nativeDigest(in, *place, instant.time);
        if (sound(track, in)) out_.digests.push_back(std::move(digest));
    }
    void addDevice(const Track& track, ArgSetId args) {
        const auto place = ownHome(trace_, track);
        if (!place || !usable(track, place)) return;
        CheckedDevice device{trace_.textArg(args, "host").value_or(""), trace_.textArg(args, "device").value_or("")};
        if (device.host.empty() && device.device.empty()) return;
        out_.devices.emplace_back(CheckPlace{static_cast<int>(place->replica),
                                             Rank{static_cast<std::int32_t>(place->rank)},
                                             static_cast<int>(place->tensor_rank)},
                                  std::move(device));
    }

    const Trace& trace_;
    StringId check_;
    StringId digest_;
    StringId run_;
    NativeChecks out_;
    DiagnosticLog log_;
};

} // namespace

NativeChecks nativeChecks(const TraceShare& share) {
    return CheckReader(share).read();
}

CheckLog joinNativeChecks(std::vector<NativeChecks> shares, DiagnosticLog& log) {
    CheckLog all;
    for (NativeChecks& share : shares) {
        std::ranges::move(share.checks, std::back_inserter(all.checks));
        std::ranges::move(share.digests, std::back_inserter(all.digests));
        for (auto& [place, device] : share.devices)
            all.devices.try_emplace(place, std::move(device));
        for (Diagnostic& problem : share.problems)
            log.add(std::move(problem.kind), std::move(problem.where), std::move(problem.message), problem.count);
    }
    all.sort();
    return all;
}

} // namespace bubblescope
