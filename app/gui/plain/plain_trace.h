#pragma once

#include "app/gui/models/item.h"
#include "app/gui/models/session.h"
#include "core/answer/answer.h"
#include "core/base/result.h"
#include "core/recognise/run.h"
#include "core/trace/pyramid.h"
#include "core/trace/trace.h"

#include <QString>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// A row of a plain trace: a thread, a stream, or a counter.
struct PlainLane {
    static constexpr std::size_t kNoCounter = static_cast<std::size_t>(-1);

    QString name;
    int process = 0; ///< index in PlainTrace::processes()
    TrackId track = kNoId;
    int depth = 1;                               ///< levels of nested slices; at most PlainTrace::kMaxDepth
    std::size_t counter = kNoCounter;            ///< index in Trace::counters(); else it is a track
    double low = 0;                              ///< of a counter's values, at most 0
    double high = 0;                             ///< at least 0
    std::vector<std::int64_t> instants = {};     ///< times, ascending
    std::vector<std::uint32_t> instant_ids = {}; ///< their indices in Trace::instants()

    [[nodiscard]] bool isCounter() const { return counter != kNoCounter; }
};

/// A process of one of the files, with its lanes.
struct PlainProcess {
    QString name;
    int first_lane = 0;
    int end_lane = 0;
};

/// An arrow between two slices.
struct PlainFlow {
    FlowPoint from;
    FlowPoint to;
};

/// A trace as it was recorded, where no pipeline was found, and the beginning of one that is still being loaded:
/// processes, threads, streams and counters, with what is needed to draw them at any zoom. Immutable; built on a worker
/// thread.
class PlainTrace {
public:
    static constexpr int kMaxDepth = 12;

    /// `loaded` is one without a pipeline, see loadTrace(), or the beginning of a trace, for which it does not matter
    /// why there is none. Errors: Cancelled, and Input if it holds neither slices nor counters.
    [[nodiscard]] static Result<std::shared_ptr<const PlainTrace>> build(LoadedTrace loaded, const JobControl& control);

    [[nodiscard]] const Run& run() const { return run_; }
    [[nodiscard]] const Trace& trace() const { return *run_.trace; }
    /// Why no pipeline was found; null for a beginning.
    [[nodiscard]] const Error* reason() const { return reason_ ? &*reason_ : nullptr; }
    /// For what the devices did, or the hosts; without statements where neither shows, and for a beginning.
    [[nodiscard]] const Answer& answer() const { return answer_; }
    [[nodiscard]] bool isBeginning() const { return !reason_; }
    [[nodiscard]] const Pyramid& pyramid() const { return *pyramid_; }
    [[nodiscard]] const std::vector<PlainProcess>& processes() const { return processes_; }
    [[nodiscard]] const std::vector<PlainLane>& lanes() const { return lanes_; }
    /// −1 for a track without a lane.
    [[nodiscard]] int laneOf(TrackId track) const { return lane_of_track_[track]; }
    /// By start.
    [[nodiscard]] const std::vector<PlainFlow>& flows() const { return flows_; }
    /// The flows that begin or end at a slice. Linear in all flows.
    [[nodiscard]] std::vector<PlainFlow> flowsOf(SliceId slice) const;
    /// First to last event.
    [[nodiscard]] TimeRange extent() const { return {TimeNs{0}, std::max(run_.trace->span(), TimeNs{1})}; }

private:
    PlainTrace() = default;
    void addLanes();
    void addInstants();
    void addFlows();
    [[nodiscard]] bool measureDepths(const JobControl& control);

    Run run_;
    std::optional<Error> reason_;
    Answer answer_;
    std::shared_ptr<const Pyramid> pyramid_;
    std::vector<PlainProcess> processes_;
    std::vector<PlainLane> lanes_;
    std::vector<int> lane_of_track_;
    std::vector<PlainFlow> flows_;
};

using PlainTracePtr = std::shared_ptr<const PlainTrace>;

/// The interval of a trace, of which `seen` was shown in its beginning, on the clock of originInFile(). None where the
/// two do not meet.
[[nodiscard]] std::optional<TimeRange> rangeInWhole(const TimeRange& seen, const Trace& whole);

/// What a file holds: a run with its pipeline, or a plain trace.
struct OpenedTrace {
    SessionPtr session;
    PlainTracePtr plain;

    [[nodiscard]] bool empty() const { return !session && !plain; }
};

/// Loads files and analyses their pipeline, if there is one. `taught` is what the user states about the trace. For
/// worker threads. Errors are those of the loader, and of both kinds of trace.
[[nodiscard]] Result<OpenedTrace> openTrace(const RunLoader& loader, const std::vector<std::filesystem::path>& paths,
                                            JobControl& control, const LoadOptions& taught = {});

} // namespace bubblescope::gui
