#pragma once

#include "core/aadiff/plan.h"
#include "core/base/result.h"
#include "core/formats/perfetto/encoder.h"
#include "core/schedule/families/registry.h"
#include "core/timeline/checks.h"
#include "core/timeline/step_timeline.h"
#include "profiler/recorder/segment_writer.h"

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope::bindings {

/// The content of bubblescope_aadiff_config, with the defaults filled in.
struct SessionConfig {
    /// Takes a record as an event: its name, begin, end and args, of which those that are not texts are whole numbers.
    using Record = std::function<void(const std::string& name, TimeNs, TimeNs, std::span<const perfetto::Arg>)>;

    ScheduleSpec schedule;
    std::string order; ///< of all ranks, as a schedule file; empty = that of `schedule`
    Rank rank;
    int replica = 0;
    int tensor_rank = 0;
    int dp = 1;
    int tp = 1;
    std::vector<int> layers;          ///< of each chunk of the rank
    bool layers_of_model = true;      ///< records count layers over the model, not in their stage
    std::vector<OpKind> kinds;        ///< of ops that can be computed again; empty = all
    std::vector<std::int64_t> kept;   ///< bytes of the inputs of one op of each chunk; empty = unknown
    std::optional<std::int64_t> room; ///< bytes that may be kept beyond the activations' lifetime; none = no limit
    bool forward_again = false;       ///< computing a backward again begins with its forward
    std::optional<OpTimes> times;
    double margin = 0.1;
    TimeNs latency{0};
    std::filesystem::path directory; ///< empty = no trace
    Record record;                   ///< where checks go too; may be empty
    std::string device;
};

/// A layer of an op of the current step, the unit of a check.
struct LayerOp {
    Op op;
    int layer = 0; ///< in its stage

    friend auto operator<=>(const LayerOp&, const LayerOp&) = default;
};

/// A check to perform now: its expected cost, and the time that is free for it.
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

/// The checks of one rank of a pipeline that another framework runs: chooses what to compute again in its bubbles,
/// compares digests, and records the results.
///
/// The plan is that of `aadiff plan` for ops as they are executed. No op is held back, since the framework executes
/// them. A check is requested in the bubble for which it is planned, or in a later one of the step, if the rest of the
/// bubble is long enough for it: according to the shortest of the same bubble in the last steps, or to the plan before
/// those are known. One thread at a time.
class Session {
public:
    /// Errors: Usage, for an impossible configuration; Run, if the trace cannot be written.
    [[nodiscard]] static Result<Session> open(SessionConfig config);

    /// A layer whose ops of these kinds cannot be computed again. Before there is a plan. Error: Usage.
    [[nodiscard]] Status leaveOut(Chunk chunk, int layer, std::span<const OpKind> kinds);

    [[nodiscard]] Status beginStep(int step);
    [[nodiscard]] Status endStep();
    [[nodiscard]] Status ran(const Op& op, TimeNs start, TimeNs end);

    [[nodiscard]] Result<bool> wanted(const LayerOp& what) const;
    /// What is going to be computed again in this step.
    [[nodiscard]] std::vector<LayerOp> planned() const;
    /// The caller does without a check of this step, as if it had not been planned. Error: Usage.
    [[nodiscard]] Status withdraw(const LayerOp& what);
    [[nodiscard]] Status computed(const LayerOp& what, std::string_view tensor, std::uint64_t digest, TimeNs now);

    /// Returns the next check that fits into the current bubble. `free`: the rest of the bubble from `now` on, if the
    /// caller knows it.
    [[nodiscard]] Result<std::optional<Task>> ask(TimeNs now, std::optional<TimeNs> free);
    [[nodiscard]] Result<CheckOutcome> checked(const LayerOp& what, std::string_view tensor, std::uint64_t digest,
                                               TimeNs start, TimeNs end);
    [[nodiscard]] Status givenUp(const LayerOp& what, TimeNs start, TimeNs end);

    [[nodiscard]] Status setDifference(const TensorDifference& difference);
    [[nodiscard]] Result<Verdict> repeated(std::span<const std::uint64_t> here, std::span<const std::uint64_t> there);

    [[nodiscard]] SessionCounts counts() const;
    /// Writes the remaining records.
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
    [[nodiscard]] int layersOf(Chunk chunk) const;
    [[nodiscard]] Stage stageOf(Chunk chunk) const { return schedule_.stageOf(config_.rank, chunk); }
    /// The number of the layer in records.
    [[nodiscard]] int layerOf(const LayerOp& what) const;
    [[nodiscard]] CheckRecord recordOf(const LayerOp& what) const;
    void planStep();
    /// Whether no op of the layer can be computed again.
    [[nodiscard]] bool isLeftOut(Stage stage, int layer) const;
    void learnTimes();
    /// The expected length of the bubble before op `next`.
    [[nodiscard]] TimeNs predicted(std::size_t next) const;
    [[nodiscard]] TimeNs costOf(const LayerOp& what) const;
    [[nodiscard]] StepCheck* find(const LayerOp& what);
    void cover(const LayerOp& what);
    [[nodiscard]] Status write();

    SessionConfig config_;
    Schedule schedule_;
    std::optional<profiler::TraceSegmentWriter> writer_;
    std::optional<RankPlan> plan_; ///< empty until op times are known
    SessionCounts counts_;
    std::map<std::tuple<Chunk, OpKind, int>, bool> covered_;
    std::set<std::tuple<Stage, int, OpKind>> left_out_;
    std::map<std::tuple<Chunk, OpKind>, std::deque<TimeNs>> costs_; ///< of the last checks of one layer

    // State of the current step.
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

    /// The length of the bubble before each op, for the last steps.
    std::deque<std::vector<TimeNs>> bubbles_;
    std::map<OpKind, std::vector<TimeNs>> op_times_;
    TimeNs last_end_{0};
};

} // namespace bubblescope::bindings
