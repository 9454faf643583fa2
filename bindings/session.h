#pragma once

#include "core/aadiff/study.h"
#include "core/base/result.h"
#include "core/schedule/families/registry.h"
#include "core/timeline/check_record.h"
#include "core/timeline/step_timeline.h"
#include "profiler/recorder/segment_writer.h"

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace bubblescope::bindings {

/// What bubblescope_aadiff_config says.
struct SessionConfig {
    ScheduleSpec schedule;
    Rank rank;
    int replica = 0;
    int tensor_rank = 0;
    int dp = 1;
    int tp = 1;
    int layers = 1; ///< of each stage
    std::optional<OpTimes> times;
    double margin = 0.1;
    TimeNs latency{0};
    std::filesystem::path directory; ///< empty = no trace
    std::string device;
};

/// A layer of an op of this step that may be computed again.
struct LayerOp {
    Op op;
    int layer = 0; ///< of its stage

    friend auto operator<=>(const LayerOp&, const LayerOp&) = default;
};

/// What to compute again now.
struct Task {
    LayerOp what;
    TimeNs cost{0};
    TimeNs free{0};
};

struct SessionCounts {
    std::int64_t planned = 0;
    std::int64_t equal = 0;
    std::int64_t mismatched = 0;
    std::int64_t aborted = 0;
    std::int64_t skipped = 0;
    int units = 0;
    int covered = 0;
};

/// One rank of a pipeline that another framework runs: says what to compute again in its bubbles, compares, records.
///
/// The plan is that of `aadiff plan` for ops as they are executed, without holding any back, since that is the
/// framework's to decide. A check is asked for in the bubble where it is planned, or in a later one of the step, as
/// long as what is left of the bubble takes it: by the shortest of the last steps' same bubbles, by the plan before
/// those are known. One thread at a time.
class Session {
public:
    /// Errors: Usage, for what cannot be; Run, for a trace that cannot be written.
    [[nodiscard]] static Result<Session> open(SessionConfig config);

    [[nodiscard]] Status beginStep(int step);
    [[nodiscard]] Status endStep();
    [[nodiscard]] Status ran(const Op& op, TimeNs start, TimeNs end);

    [[nodiscard]] Result<bool> wanted(const LayerOp& what) const;
    [[nodiscard]] Status computed(const LayerOp& what, std::string_view tensor, std::uint64_t digest, TimeNs now);

    /// `free`: how long the bubble lasts from `now` on, if the caller knows.
    [[nodiscard]] Result<std::optional<Task>> ask(TimeNs now, std::optional<TimeNs> free);
    [[nodiscard]] Result<CheckOutcome> checked(const LayerOp& what, std::string_view tensor, std::uint64_t digest,
                                               TimeNs start, TimeNs end);
    [[nodiscard]] Status givenUp(const LayerOp& what, TimeNs start, TimeNs end);

    [[nodiscard]] Status tellDifference(const TensorDifference& difference);
    [[nodiscard]] Result<Verdict> repeated(std::span<const std::uint64_t> here, std::span<const std::uint64_t> there);

    [[nodiscard]] SessionCounts counts() const;
    /// Writes what is left.
    [[nodiscard]] Status close();

private:
    enum class Planned : std::uint8_t { Waiting, Asked, Over };
    struct StepCheck {
        LayerOp what;
        std::size_t slot = 0;
        Planned state = Planned::Waiting;
    };

    explicit Session(SessionConfig config, Schedule schedule);

    [[nodiscard]] Status makePlan(const OpTimes& times);
    [[nodiscard]] Status known(const LayerOp& what) const;
    /// Counted over the whole model.
    [[nodiscard]] int layerOf(const LayerOp& what) const;
    [[nodiscard]] CheckRecord recordOf(const LayerOp& what) const;
    void planStep();
    void learnTimes();
    /// What the bubble before op `next` lasts.
    [[nodiscard]] TimeNs predicted(std::size_t next) const;
    [[nodiscard]] TimeNs costOf(const LayerOp& what) const;
    [[nodiscard]] StepCheck* find(const LayerOp& what);
    void cover(const LayerOp& what);
    [[nodiscard]] Status write();

    SessionConfig config_;
    Schedule schedule_;
    std::optional<profiler::TraceSegmentWriter> writer_;
    std::optional<RankPlan> plan_; ///< none until op times are known
    SessionCounts counts_;
    std::map<std::tuple<Chunk, OpKind, int>, bool> covered_;
    std::map<std::tuple<Chunk, OpKind>, TimeNs> cost_; ///< longest of the checks of one layer so far

    // Of the step.
    bool in_step_ = false;
    int step_ = 0;
    std::int64_t steps_planned_ = 0;
    bool in_order_ = true;
    std::vector<TimelineOp> ops_;
    std::vector<StepCheck> checks_;
    std::map<std::pair<LayerOp, std::string>, std::uint64_t> first_;
    std::vector<CheckRecord> records_;
    std::vector<DigestRecord> digests_;
    std::optional<std::size_t> mismatch_; ///< the latest, in records_

    /// Of the last steps: how long the bubble before each op was.
    std::deque<std::vector<TimeNs>> bubbles_;
    std::map<OpKind, std::vector<TimeNs>> op_times_;
    TimeNs last_end_{0};
};

} // namespace bubblescope::bindings
