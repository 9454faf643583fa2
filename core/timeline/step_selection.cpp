#include "core/timeline/step_selection.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kSide = 7; ///< steps on each side with which a step is compared
constexpr double kSigmas = 5;
constexpr double kWarmUpAbove = 0.1;
constexpr double kOutlierAbove = 0.2;
constexpr double kFewStepsAbove = 0.4; ///< divided by the number of steps compared, because few steps prove little
constexpr std::size_t kMostInSuccession = 3;

double lowerMedian(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// Robust standard deviation, from successive differences or from differences to the median, whichever gives less. The
/// former do not grow with a trend or a change of level; of the latter, one odd step among three or four affects only
/// one.
double spreadOf(std::span<const double> times) {
    if (times.size() < 2) return 0;
    constexpr double kNormal = 1.482602218505602; // 1 / the normal distribution's quantile at 3/4
    std::vector<double> sorted(times.begin(), times.end());
    std::ranges::sort(sorted);
    const double middle = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
    std::vector<double> apart;
    std::vector<double> off{std::abs(times[0] - middle)};
    for (std::size_t i = 1; i < times.size(); ++i) {
        apart.push_back(std::abs(times[i] - times[i - 1]));
        off.push_back(std::abs(times[i] - middle));
    }
    return kNormal * std::min(lowerMedian(std::move(apart)) / std::sqrt(2.0), lowerMedian(std::move(off)));
}

/// The usual duration of the steps around a place, and the normal deviation from it.
struct Level {
    double time = 0;
    double above = 0; ///< allowed excess, as a fraction
    double spread = 0;

    [[nodiscard]] bool clearlyAbove(double value) const { return value > time * (1 + above) + kSigmas * spread; }
    [[nodiscard]] bool clearlyBelow(double value) const { return value < time / (1 + above) - kSigmas * spread; }
};

double shareAllowed(double least, std::size_t compared) {
    return least + kFewStepsAbove / static_cast<double>(compared);
}

std::size_t warmUpSteps(std::span<const double> times) {
    const double spread = spreadOf(times.subspan(times.size() / 2));
    std::size_t warm = 0;
    while (2 * (warm + 1) <= times.size()) {
        const auto after = times.subspan(warm + 1);
        const auto near = after.first(std::min(kSide, after.size()));
        const Level level{lowerMedian({near.begin(), near.end()}), shareAllowed(kWarmUpAbove, after.size()), spread};
        if (!level.clearlyAbove(times[warm])) break;
        ++warm;
    }
    return warm;
}

/// True if the `count` steps from `first` on differ clearly from those on both sides, and no steps next to them do.
bool sticksOut(std::span<const double> times, std::size_t first, std::size_t count, double spread) {
    const auto before = times.subspan(first - std::min(first, kSide), std::min(first, kSide));
    const auto rest = times.subspan(first + count);
    const auto after = rest.first(std::min(kSide, rest.size()));
    const std::size_t compared = before.size() + after.size();
    if (compared < 2) return false;
    std::vector<Level> levels;
    for (const auto side : {before, after}) {
        if (!side.empty())
            levels.push_back({lowerMedian({side.begin(), side.end()}), shareAllowed(kOutlierAbove, compared), spread});
    }
    const auto beyond = [&](auto off) {
        const auto off_all = [&](double time) {
            return std::ranges::all_of(levels, [&](const Level& level) { return (level.*off)(time); });
        };
        return std::ranges::all_of(times.subspan(first, count), off_all) &&
               (before.empty() || !off_all(before.back())) && (after.empty() || !off_all(after.front()));
    };
    return beyond(&Level::clearlyAbove) || beyond(&Level::clearlyBelow);
}

} // namespace

std::string_view setAsideName(SetAside why) {
    constexpr std::array<std::string_view, 4> kNames{"taken", "warm-up", "outlier", "not-asked"};
    return kNames[static_cast<std::size_t>(why)];
}

std::vector<SetAside> judgeSteps(std::span<const TimeNs> steps) {
    std::vector<SetAside> judged(steps.size(), SetAside::None);
    std::vector<double> times;
    for (const TimeNs time : steps)
        times.push_back(static_cast<double>(time.count()));
    const std::size_t warm = warmUpSteps(times);
    std::fill_n(judged.begin(), warm, SetAside::WarmUp);

    const std::span<const double> settled = std::span<const double>(times).subspan(warm);
    const double spread = spreadOf(settled);
    std::vector<std::size_t> outliers;
    for (std::size_t first = 0; first < settled.size(); ++first) {
        for (std::size_t count = 1; count <= std::min(kMostInSuccession, settled.size() - first); ++count) {
            if (!sticksOut(settled, first, count, spread)) continue;
            for (std::size_t i = 0; i < count; ++i)
                outliers.push_back(warm + first + i);
            first += count - 1;
            break;
        }
    }
    if (4 * outliers.size() > settled.size() + 1) return judged;
    for (const std::size_t step : outliers)
        judged[step] = SetAside::Outlier;
    return judged;
}

std::size_t typicalOf(std::span<const TimeNs> times, std::span<const SetAside> judged) {
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < judged.size(); ++i) {
        if (judged[i] == SetAside::None) taken.push_back(i);
    }
    if (taken.empty()) return 0;
    const auto middle = taken.begin() + static_cast<std::ptrdiff_t>((taken.size() - 1) / 2);
    std::ranges::nth_element(taken, middle, {}, [&](std::size_t i) { return std::pair(times[i], i); });
    return *middle;
}

// ---- The request -----------------------------------------------------------------------------------------

bool StepRequest::holds(const StepTimeline& step) const {
    const auto named = [&](const Range& range) {
        return step.index >= range.first && step.index <= range.last &&
               range.replica.value_or(step.replica) == step.replica;
    };
    return (steps.empty() || std::ranges::any_of(steps, named)) && holds(step.replica);
}

bool StepRequest::holds(int replica) const {
    return replicas.empty() || std::ranges::find(replicas, replica) != replicas.end();
}

bool StepRequest::shows(Rank rank) const {
    return ranks.empty() || std::ranges::find(ranks, rank.value) != ranks.end();
}

namespace {

Error badRanges(std::string_view text) {
    return usageError(fmt::format("'{}' is not a list of steps", text),
                      "write numbers and ranges, such as 3,5-9, and 809/0 for step 809 of replica 0");
}

} // namespace

Result<std::vector<StepRequest::Range>> parseStepRanges(std::string_view text) {
    std::vector<StepRequest::Range> ranges;
    std::string_view left = text;
    const auto take = [&left](char mark) {
        const bool there = left.starts_with(mark);
        if (there) left.remove_prefix(1);
        return there;
    };
    const auto number = [&left] { return left.starts_with('-') ? std::nullopt : takeNumber<int>(left); };
    do {
        const std::optional<int> first = number();
        bool good = first.has_value();
        StepRequest::Range range{first.value_or(0), first.value_or(0), {}};
        if (good && take('-')) {
            const std::optional<int> last = number();
            good = last && *last >= range.first;
            range.last = last.value_or(0);
        }
        if (good && take('/')) {
            range.replica = number();
            good = range.replica.has_value();
        }
        if (!good) return badRanges(text);
        ranges.push_back(range);
    } while (take(','));
    if (!left.empty()) return badRanges(text);
    return ranges;
}

std::string toText(const StepRequest::Range& range) {
    std::string text = fmt::format("{}", range.first);
    if (range.last != range.first) text += fmt::format("-{}", range.last);
    if (range.replica) text += fmt::format("/{}", *range.replica);
    return text;
}

namespace {

/// Formats numbers like step requests, "3-9" or "3,5-9" if some are missing. Lists only the first few.
std::string numbersText(std::vector<int> numbers) {
    constexpr int kMostRanges = 8;
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    std::string text;
    int ranges = 0;
    for (std::size_t i = 0; i < numbers.size(); ++ranges) {
        if (ranges == kMostRanges) return text + ",…";
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        text += (text.empty() ? "" : ",") + toText(StepRequest::Range{numbers[i], numbers[last], {}});
        i = last + 1;
    }
    return text;
}

Status checkRequest(std::span<const StepTimeline> steps, const StepRequest& request) {
    std::vector<int> indices;
    std::vector<int> replicas;
    int ranks = 0;
    for (const StepTimeline& step : steps) {
        indices.push_back(step.index);
        replicas.push_back(step.replica);
        ranks = std::max(ranks, step.pp);
    }
    const auto exists = [&](const StepRequest& part) {
        return std::ranges::any_of(steps, [&](const StepTimeline& step) { return part.holds(step); });
    };
    for (const StepRequest::Range& range : request.steps) {
        if (exists({{range}, {}, {}})) continue;
        return usageError(
            fmt::format("there is no step {}", toText(range)),
            std::ranges::max(replicas) == std::ranges::min(replicas)
                ? fmt::format("steps {} are complete", numbersText(indices))
                : fmt::format("steps {} of replicas {} are complete", numbersText(indices), numbersText(replicas)));
    }
    for (const int replica : request.replicas) {
        if (exists({{}, {replica}, {}})) continue;
        return usageError(fmt::format("there is no replica {}", replica),
                          fmt::format("existing replicas: {}", numbersText(replicas)));
    }
    for (const int rank : request.ranks) {
        if (rank >= 0 && rank < ranks) continue;
        return usageError(fmt::format("there is no rank {}", rank), fmt::format("ranks are 0 to {}", ranks - 1));
    }
    if (!exists(request)) return usageError("the selected replicas did not run any step", "choose other replicas");
    return {};
}

} // namespace

// ---- The selection ---------------------------------------------------------------------------------------

StepSelection::StepSelection(std::span<const StepTimeline> timelines, const StepRequest& request)
    : of_timeline_(timelines.size(), SetAside::NotAsked), steady_(timelines.size(), 0), asked_(!request.steps.empty()),
      asked_replicas_(request.replicas) {
    std::map<int, std::vector<std::size_t>> numbers;
    for (std::size_t i = 0; i < timelines.size(); ++i)
        numbers[timelines[i].index].push_back(i);
    const auto wall = [&](std::size_t timeline) { return timelines[timeline].wall(); };
    std::vector<TimeNs> times; // of the requested replicas, including all their steps
    for (const auto& [index, all] : numbers) {
        replicas_ = std::max(replicas_, all.size());
        TimeNs& time = times.emplace_back(0);
        for (const std::size_t timeline : all) {
            if (request.holds(timelines[timeline].replica)) time = std::max(time, wall(timeline));
        }
        SelectedStep& step = steps_.emplace_back();
        step.index = index;
        std::ranges::copy_if(all, std::back_inserter(step.timelines),
                             [&](std::size_t timeline) { return request.holds(timelines[timeline]); });
        if (step.timelines.empty()) {
            step.why = SetAside::NotAsked;
            step.timelines = all;
        }
        step.longest = *std::ranges::max_element(step.timelines, {}, wall);
        step.time = wall(step.longest);
    }
    const std::vector<SetAside> judged = judgeSteps(times);
    std::vector<SetAside> why;
    times.clear();
    for (std::size_t s = 0; s < steps_.size(); ++s) {
        SelectedStep& step = steps_[s];
        if (!asked_ && step.taken()) step.why = judged[s];
        why.push_back(step.why);
        times.push_back(step.time);
        for (const std::size_t timeline : step.timelines)
            of_timeline_[timeline] = step.why;
        for (const std::size_t timeline : numbers[step.index])
            steady_[timeline] = judged[s] == SetAside::None ? 1 : 0;
    }
    typical_ = typicalOf(times, why);
}

void StepSelection::representBy(std::size_t timeline) {
    const auto step = std::ranges::find(steps_, timeline, &SelectedStep::longest);
    if (step != steps_.end()) typical_ = static_cast<std::size_t>(step - steps_.begin());
}

std::size_t StepSelection::taken() const {
    return count(SetAside::None);
}

std::size_t StepSelection::count(SetAside why) const {
    return static_cast<std::size_t>(std::ranges::count(steps_, why, &SelectedStep::why));
}

Sentence StepSelection::summary() const {
    const auto numbers = [&](SetAside why) {
        std::vector<int> of;
        for (const SelectedStep& step : steps_) {
            if (step.why == why) of.push_back(step.index);
        }
        return numbersText(std::move(of));
    };
    const std::size_t counted = taken();
    Sentence text = counted == steps_.size() ? sayCounted("{} step", "{} steps", counted)
                                             : say("{} of {} steps", counted, steps_.size());
    if (replicas_ > 1) text = say("{} × {} replicas", text, replicas_);
    if (!asked_replicas_.empty()) text = say("{}, of replica {}", text, numbersText(asked_replicas_));
    if (asked_) return say("{}, as selected", text);
    std::vector<Sentence> aside;
    if (count(SetAside::WarmUp) > 0) aside.push_back(say("warm-up {}", numbers(SetAside::WarmUp)));
    if (count(SetAside::Outlier) > 0) aside.push_back(say("outliers {}", numbers(SetAside::Outlier)));
    return aside.empty() ? text : say("{}; excluded: {}", text, sayListed(aside));
}

StepSelection selectSteps(std::span<const StepTimeline> steps) {
    return {steps, {}};
}

Result<StepSelection> selectSteps(std::span<const StepTimeline> steps, const StepRequest& request) {
    BUBBLESCOPE_TRY(checkRequest(steps, request));
    return StepSelection(steps, request);
}

} // namespace bubblescope
