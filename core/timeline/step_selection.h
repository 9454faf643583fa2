#pragma once

#include "core/base/result.h"
#include "core/base/sentence.h"
#include "core/timeline/step_timeline.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Which steps of a run count: one rule for everything that reports how long a step takes, what is usual in it, and what
// would make it shorter.
namespace bubblescope {

/// Why a step does not count.
enum class SetAside : std::uint8_t {
    None,    ///< it counts
    WarmUp,  ///< at the beginning of the run and clearly longer than what follows
    Outlier, ///< clearly longer or shorter than what surrounds it
    NotAsked ///< the user requested other steps
};

/// As in documents: "taken", "warm-up", "outlier", "not-asked".
[[nodiscard]] std::string_view setAsideName(SetAside why);

/// Judges steps by their times, in the order in which they ran; one answer each, never NotAsked. With σ a robust
/// standard deviation and m the number of steps with which a step is compared:
///
/// - A step at the beginning is warm-up while it takes more than (1.1 + 0.4/m) times the median of the up to 7 steps
///   after it, plus 5σ of the run's second half. At most half of the steps are.
/// - Of the others, up to three in succession are outliers if all of them take more than (1.2 + 0.4/m) times the median
///   of the up to 7 steps on each side, plus 5σ, or as much less, and the steps next to them do not. A step time that
///   changes for good, for four steps or more, is therefore no outlier. Where more than a quarter of the steps would be
///   outliers (of three, more than one), that is how the run is, and none is.
///
/// Two steps or fewer have no outliers, one has no warm-up. At least a third of the steps, and one, remain. Linear.
[[nodiscard]] std::vector<SetAside> judgeSteps(std::span<const TimeNs> times);

/// The index of the typical step: the lower median of those that count, the earlier of equal ones. `judged` is one
/// answer per time, at least one of them None.
[[nodiscard]] std::size_t typicalOf(std::span<const TimeNs> times, std::span<const SetAside> judged);

/// The steps, replicas and ranks that a user requested. An empty request means everything.
struct StepRequest {
    struct Range {
        int first = 0;
        int last = 0;               ///< inclusive
        std::optional<int> replica; ///< all of them if none
    };
    std::vector<Range> steps;
    std::vector<int> replicas;
    std::vector<int> ranks; ///< pipeline ranks that are shown; analysis always needs all

    [[nodiscard]] bool empty() const { return steps.empty() && replicas.empty() && ranks.empty(); }
    [[nodiscard]] bool holds(const StepTimeline& step) const;
    [[nodiscard]] bool holds(int replica) const;
    [[nodiscard]] bool shows(Rank rank) const;
};

/// "3", "5-9" and "809/0" (step 809 of replica 0), several separated by commas. Error: Usage.
[[nodiscard]] Result<std::vector<StepRequest::Range>> parseStepRanges(std::string_view text);
/// In the same syntax.
[[nodiscard]] std::string toText(const StepRequest::Range& range);

/// One step number, with all replicas that ran it.
struct SelectedStep {
    int index = 0;
    TimeNs time{0}; ///< its duration: replicas run in parallel, so this is the longest one's window
    SetAside why = SetAside::None;
    std::vector<std::size_t> timelines; ///< positions in the run's steps; only the requested ones, if any were
    std::size_t longest = 0;            ///< the one of them that took `time`; the first of equal ones

    [[nodiscard]] bool taken() const { return why == SetAside::None; }
};

/// The steps of a run by number, and which of them count. Immutable; one that selectSteps() did not make is empty and
/// has no typical step.
class StepSelection {
public:
    StepSelection() = default;

    [[nodiscard]] const std::vector<SelectedStep>& steps() const { return steps_; } ///< ascending numbers
    [[nodiscard]] std::size_t replicas() const { return replicas_; }                ///< of the run
    [[nodiscard]] std::size_t taken() const;                                        ///< how many steps count
    [[nodiscard]] std::size_t count(SetAside why) const;
    /// Whether the user named the steps; then no step is set aside for its time.
    [[nodiscard]] bool asked() const { return asked_; }

    /// The typical step: the lower median by time of those that count.
    [[nodiscard]] const SelectedStep& typical() const { return steps_[typical_]; }
    /// Lets another step be the typical one: that of this timeline, which must be the longest of its step.
    void representBy(std::size_t timeline);
    /// Position in the run's steps of the typical timeline: the typical step, on the replica for which the others
    /// wait.
    [[nodiscard]] std::size_t typicalTimeline() const { return typical().longest; }
    /// "A step takes": the time of the typical step.
    [[nodiscard]] TimeNs stepTime() const { return typical().time; }

    /// Why the timeline at a position in the run's steps does not count.
    [[nodiscard]] SetAside whyAside(std::size_t timeline) const { return of_timeline_[timeline]; }
    [[nodiscard]] bool takes(std::size_t timeline) const { return whyAside(timeline) == SetAside::None; }
    /// Whether it is neither warm-up nor outlier, independent of the request: these steps define what is usual.
    [[nodiscard]] bool isSteady(std::size_t timeline) const { return steady_[timeline] != 0; }

    /// "23 of 26 steps × 4 replicas; set aside: warm-up 0-1, outliers 17"; "5 steps" where nothing is set aside.
    [[nodiscard]] Sentence summary() const;

private:
    friend StepSelection selectSteps(std::span<const StepTimeline> steps);
    friend Result<StepSelection> selectSteps(std::span<const StepTimeline> steps, const StepRequest& request);
    StepSelection(std::span<const StepTimeline> steps, const StepRequest& request);

    std::vector<SelectedStep> steps_;
    std::vector<SetAside> of_timeline_;
    std::vector<char> steady_; ///< per timeline
    std::size_t replicas_ = 0;
    std::size_t typical_ = 0;
    bool asked_ = false;
    std::vector<int> asked_replicas_;
};

/// For a run's complete steps; there must be at least one. Steps with the same number are the replicas' parts of one.
[[nodiscard]] StepSelection selectSteps(std::span<const StepTimeline> steps);

/// Takes the requested steps, including warm-up and outliers. Error: Usage, which names what exists, if a range,
/// replica or rank of the request does not exist.
[[nodiscard]] Result<StepSelection> selectSteps(std::span<const StepTimeline> steps, const StepRequest& request);

} // namespace bubblescope
