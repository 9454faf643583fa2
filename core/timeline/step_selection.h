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

// Rules that select the representative steps of a run. All code that reports step times, typical values, or ways to
// shorten steps uses this selection.
namespace bubblescope {

/// Reason why a step is excluded.
enum class SetAside : std::uint8_t {
    None,    ///< the step is included
    WarmUp,  ///< at the start of the run and clearly longer than the steps that follow
    Outlier, ///< clearly longer or shorter than the adjacent steps
    NotAsked ///< the user requested other steps
};

/// Name in output documents: "taken", "warm-up", "outlier", "not-asked".
[[nodiscard]] std::string_view setAsideName(SetAside why);

/// Classifies steps by their times, in the order in which they ran. Returns one result per step, never NotAsked. In
/// these rules, σ is a robust standard deviation and m the number of steps with which a step is compared:
///
/// - The first steps are warm-up while they take more than (1.1 + 0.4/m) times the median of the next 7 steps (or of
///   fewer, at the end), plus 5σ of the run's second half. At most half of the steps are warm-up.
/// - Up to three consecutive other steps are outliers if all of them take more than (1.2 + 0.4/m) times the median of
///   up to 7 steps on each side, plus 5σ (or are shorter by the same margin), and the adjacent steps do not. A lasting
///   change of four or more steps is therefore not an outlier. If more than a quarter of the steps would be outliers
///   (with three steps, more than one), the step times are assumed to vary strongly, and no step is an outlier.
///
/// With at most two steps there are no outliers; a single step is never warm-up. At least a third of the steps, and at
/// least one step, are included. Linear in the number of steps.
[[nodiscard]] std::vector<SetAside> judgeSteps(std::span<const TimeNs> times);

/// Index of the typical step: the lower median of the included steps, or the earliest of several equal ones. `judged`
/// has one entry per time, at least one of which is None.
[[nodiscard]] std::size_t typicalOf(std::span<const TimeNs> times, std::span<const SetAside> judged);

/// The steps, replicas and ranks requested by a user. An empty request selects everything.
struct StepRequest {
    struct Range {
        int first = 0;
        int last = 0;               ///< inclusive
        std::optional<int> replica; ///< none = all replicas
    };
    std::vector<Range> steps;
    std::vector<int> replicas;
    std::vector<int> ranks; ///< pipeline ranks to show; the analysis always uses all ranks

    [[nodiscard]] bool empty() const { return steps.empty() && replicas.empty() && ranks.empty(); }
    [[nodiscard]] bool holds(const StepTimeline& step) const;
    [[nodiscard]] bool holds(int replica) const;
    [[nodiscard]] bool shows(Rank rank) const;
};

/// Parses "3", "5-9" and "809/0" (step 809 of replica 0), separated by commas. Error: Usage.
[[nodiscard]] Result<std::vector<StepRequest::Range>> parseStepRanges(std::string_view text);
/// Formats a range in the syntax of parseStepRanges().
[[nodiscard]] std::string toText(const StepRequest::Range& range);

/// A step number, with all replicas that ran the step.
struct SelectedStep {
    int index = 0;
    TimeNs time{0}; ///< duration of the longest window among replicas, because they run in parallel
    SetAside why = SetAside::None;
    std::vector<std::size_t>
        timelines;           ///< indices into the run's steps, limited to those that the user requested, if any
    std::size_t longest = 0; ///< index of the timeline with the duration `time`; the first one if there are several

    [[nodiscard]] bool taken() const { return why == SetAside::None; }
};

/// The steps of a run by number, with the reason why a step is excluded, if any. Immutable. A default-constructed
/// selection is empty and has no typical step.
class StepSelection {
public:
    StepSelection() = default;

    [[nodiscard]] const std::vector<SelectedStep>& steps() const { return steps_; } ///< by number in ascending order
    [[nodiscard]] std::size_t replicas() const { return replicas_; }                ///< number of replicas of the run
    [[nodiscard]] std::size_t taken() const;                                        ///< number of included steps
    [[nodiscard]] std::size_t count(SetAside why) const;
    /// True if the user specified the steps, so that no step is excluded because of its time.
    [[nodiscard]] bool asked() const { return asked_; }

    /// The typical step, which is the lower median by time of the included steps.
    [[nodiscard]] const SelectedStep& typical() const { return steps_[typical_]; }
    /// Selects another typical step: the one whose longest timeline is `timeline`.
    void representBy(std::size_t timeline);
    /// Index of the typical timeline (that of the slowest replica of the typical step) in the run's steps.
    [[nodiscard]] std::size_t typicalTimeline() const { return typical().longest; }
    /// The step time in reports, which is the duration of the typical step.
    [[nodiscard]] TimeNs stepTime() const { return typical().time; }

    /// Reason why a timeline is excluded; `timeline` is an index into the run's steps.
    [[nodiscard]] SetAside whyAside(std::size_t timeline) const { return of_timeline_[timeline]; }
    [[nodiscard]] bool takes(std::size_t timeline) const { return whyAside(timeline) == SetAside::None; }
    /// True if a timeline is neither warm-up nor an outlier, even if not requested. Only these set typical values.
    [[nodiscard]] bool isSteady(std::size_t timeline) const { return steady_[timeline] != 0; }

    /// Such as "23 of 26 steps × 4 replicas; set aside: warm-up 0-1, outliers 17", or "5 steps" if all are included.
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

/// Selects from all complete steps of a run, which must have at least one. Steps with the same number are replicas of a
/// single step.
[[nodiscard]] StepSelection selectSteps(std::span<const StepTimeline> steps);

/// Selects the requested steps, including warm-up and outliers. Error: Usage if a requested range, replica or rank does
/// not exist; the message lists those that exist.
[[nodiscard]] Result<StepSelection> selectSteps(std::span<const StepTimeline> steps, const StepRequest& request);

} // namespace bubblescope
