#include "core/timeline/move.h"

namespace bubblescope {
namespace {

template <class Span>
void shiftAll(std::vector<std::vector<Span>>& ranks, TimeNs by) {
    for (auto& spans : ranks) {
        for (Span& span : spans) {
            span.start += by;
            span.end += by;
        }
    }
}

} // namespace

void moveTo(StepTimeline& step, TimeNs begin) {
    const TimeNs by = begin - step.begin;
    step.begin += by;
    step.end += by;
    shiftAll(step.ranks, by);
    shiftAll(step.comm, by);
}

} // namespace bubblescope
