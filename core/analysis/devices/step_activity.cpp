#include "core/analysis/devices/step_activity.h"

#include "core/base/text.h"
#include "core/trace/step_marks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kOfJax = kStepMarkKinds;

class MarkFinder {
public:
    MarkFinder(const Trace& trace, const JobControl& control)
        : trace_(trace), stop_(control, 1U << 12), kind_of_name_(trace.strings().size()), found_(trace.files().size()) {
        for (StringId id = 0; id < kind_of_name_.size(); ++id)
            kind_of_name_[id] = stepMarkNamed(trace.strings().text(id));
    }

    std::vector<std::vector<StepActivity>> find() {
        for (TrackId id = 0; id < trace_.tracks().size(); ++id)
            readTrack(id);
        for (auto& [home, own] : rows_) {
            for (auto& [kind, steps] : own) {
                auto& known = found_[trace_.tracks()[home].file][kind];
                if (steps.size() > known.size()) known = std::move(steps);
            }
        }
        std::vector<std::vector<StepActivity>> steps(found_.size());
        for (std::size_t file = 0; file < found_.size(); ++file) {
            if (found_[file].empty()) continue;
            steps[file] = std::move(found_[file].begin()->second);
            std::ranges::stable_sort(steps[file], {}, &StepActivity::start);
        }
        return steps;
    }

private:
    void readTrack(TrackId id) {
        const Track& track = trace_.tracks()[id];
        const bool jax =
            trace_.text(track.thread_name) == "Steps" && trace_.text(track.process_name).starts_with("/device:");
        const TrackId home = track.spilled_from == kNoId ? id : track.spilled_from; // marks may overlap other slices
        std::map<std::size_t, std::vector<StepActivity>>& own = rows_[home];
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (stop_.requested()) return;
            auto named = kind_of_name_[trace_.sliceNames()[slice]];
            if (jax) {
                const auto number = wholeNumber(trace_.name(slice));
                named = number ? std::optional(StepMark{kOfJax, *number}) : std::nullopt;
            } else if (named &&
                       (trace_.laneOf(slice, id) != LaneKind::Host || !holdsStepMarks(trace_.category(slice)))) {
                named.reset();
            }
            if (!named) continue;
            own[named->kind].push_back(
                {named->index, trace_.start(slice), trace_.end(slice) - trace_.start(slice), {}});
        }
    }

    const Trace& trace_;
    StopCheck stop_;
    std::vector<std::optional<StepMark>> kind_of_name_;
    std::map<TrackId, std::map<std::size_t, std::vector<StepActivity>>> rows_; ///< by thread, then kind
    std::vector<std::map<std::size_t, std::vector<StepActivity>>> found_;      ///< per file, by kind
};

} // namespace

std::vector<std::vector<StepActivity>> markedSteps(const Trace& trace, const JobControl& control) {
    return MarkFinder(trace, control).find();
}

} // namespace bubblescope
