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

// Selects the steps of a run that count. Everything that reports how long a step takes, what is usual, or how to make
// steps shorter uses this one rule.
namespace bubblescope {

/// The reason why a step does not count.
enum class SetAside : std::uint8_t {
    None,    ///< it counts
    WarmUp,  ///< at the beginning of the run and clearly longer than what follows
    Outlier, ///< clearly longer or shorter than its neighbours
    NotAsked ///< the user requested other steps
};

/// The name in output documents: "taken", "warm-up", "outlier", "not-asked".
[[nodiscard]] std::string_view setAsideName(SetAside why);

/// Judges steps by their times, in the order in which they ran. One result per step, never NotAsked. Below, σ is a
/// robust standard deviation and m the number of steps that a step is compared with:
///
/// - A step at the beginning is warm-up as long as it takes more than (1.1 + 0.4/m) times the median of the up to 7
///   steps after it, plus 5σ of the run's second half. At most half of the steps are warm-up.
/// - Up to three consecutive other steps are outliers if all of them take more than (1.2 + 0.4/m) times the median of
///   the up to 7 steps on each side, plus 5σ (or are shorter by as much), and the steps next to them do not. A lasting
///   change, of four steps or more, is therefore not an outlier. If more than a quarter of the steps would be outliers
///   (with three steps, more than one), the run simply varies, and none is an outlier.
///
/// With two steps or fewer there are no outliers; a single step is never warm-up. At least a third of the steps, and at
/// least one, remain. Linear.
[[nodiscard]] std::vector<SetAside> judgeSteps(std::span<const TimeNs> times);

/// The index of the typical step: the lower median of those that count, or the earliest of equal ones. `judged` has one
/// entry per time, at least one of them None.
[[nodiscard]] std::size_t typicalOf(std::span<const TimeNs> times, std::span<const SetAside> judged);

/// The steps, replicas and ranks that a user requested. An empty request means everything.
struct StepRequest {
    struct Range {
        int first = 0;
        int last = 0;               ///< inclusive
        std::optional<int> replica; ///< none = all replicas
    };
    std::vector<Range> steps;
    std::vector<int> replicas;
    std::vector<int> ranks; ///< pipeline ranks to show; analysis always needs all of them

    [[nodiscard]] bool empty() const { return steps.empty() && replicas.empty() && ranks.empty(); }
    [[nodiscard]] bool holds(const StepTimeline& step) const;
    [[nodiscard]] bool holds(int replica) const;
    [[nodiscard]] bool shows(Rank rank) const;
};

/// Parses "3", "5-9" and "809/0" (step 809 of replica 0), separated by commas. Error: Usage.
[[nodiscard]] Result<std::vector<StepRequest::Range>> parseStepRanges(std::string_view text);
/// Writes a range in the same syntax.
[[nodiscard]] std::string toText(const StepRequest::Range& range);

/// One step number, with all replicas that ran it.
struct SelectedStep {
    int index = 0;
    TimeNs time{0}; ///< duration; replicas run in parallel, so this is their longest window
    SetAside why = SetAside::None;
    std::vector<std::size_t>
        timelines;           ///< indices into the run's steps; only requested ones, if the user requested any
    std::size_t longest = 0; ///< the timeline that took `time`; the first one if several did

    [[nodiscard]] bool taken() const { return why == SetAside::None; }
};

/// The steps of a run by number, and whether each of them counts. Immutable. A default-constructed one is empty and has
/// no typical step.
class StepSelection {
public:
    StepSelection() = default;

    [[nodiscard]] const std::vector<SelectedStep>& steps() const { return steps_; } ///< by number, ascending
    [[nodiscard]] std::size_t replicas() const { return replicas_; }                ///< of the run
    [[nodiscard]] std::size_t taken() const;                                        ///< number of steps that count
    [[nodiscard]] std::size_t count(SetAside why) const;
    /// True if the user named the steps; then none is excluded because of its time.
    [[nodiscard]] bool asked() const { return asked_; }

    /// The typical step: the lower median by time of those that count.
    [[nodiscard]] const SelectedStep& typical() const { return steps_[typical_]; }
    /// Makes another step the typical one: the step of `timeline`, which must be its longest timeline.
    void representBy(std::size_t timeline);
    /// Index into the run's steps of the typical timeline: the slowest replica of the typical step.
    [[nodiscard]] std::size_t typicalTimeline() const { return typical().longest; }
    /// The time that "a step takes" in reports: that of the typical step.
    [[nodiscard]] TimeNs stepTime() const { return typical().time; }

    /// The reason why a timeline, given by its index into the run's steps, does not count.
    [[nodiscard]] SetAside whyAside(std::size_t timeline) const { return of_timeline_[timeline]; }
    [[nodiscard]] bool takes(std::size_t timeline) const { return whyAside(timeline) == SetAside::None; }
    /// True if a timeline is neither warm-up nor outlier, regardless of the request. These steps define what is usual.
    [[nodiscard]] bool isSteady(std::size_t timeline) const { return steady_[timeline] != 0; }

    /// "23 of 26 steps × 4 replicas; set aside: warm-up 0-1, outliers 17"; "5 steps" if none is set aside.
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

/// Takes all complete steps of a run, which must have at least one. Steps with the same number are the replicas of one
/// step.
[[nodiscard]] StepSelection selectSteps(std::span<const StepTimeline> steps);

/// Takes the requested steps, including warm-up and outliers. Error: Usage if a requested range, replica or rank does
/// not exist; it lists what exists.
[[nodiscard]] Result<StepSelection> selectSteps(std::span<const StepTimeline> steps, const StepRequest& request);

} // namespace bubblescope
