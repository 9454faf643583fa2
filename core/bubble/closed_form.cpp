#include "core/bubble/closed_form.h"

#include "core/bubble/form_builder.h"
#include "core/bubble/phases.h"
#include "core/schedule/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

/// What a rank's ops take on equal stages, the optimizer aside.
TimeNs busyTime(const std::vector<Op>& ops, const CostModel& costs) {
    TimeNs busy{0};
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].kind == OpKind::Optimizer) continue;
        const bool pair = ops[i].overlapped && costs.overlapped && i + 1 < ops.size();
        busy += pair ? *costs.overlapped : costs.times.of(ops[i].kind);
        i += pair ? 1 : 0;
    }
    return busy;
}

/// Idle over makespan, all ranks together.
double rate(const ClosedForm& form) {
    TimeNs idle{0};
    for (const TimeNs bubble : form.bubble)
        idle += bubble;
    const double capacity = static_cast<double>(form.makespan.count()) * static_cast<double>(form.bubble.size());
    return capacity > 0 ? static_cast<double>(idle.count()) / capacity : 0;
}

} // namespace

TimeNs ClosedForm::at(Rank rank, Position position) const {
    for (const PositionForm& form : positions) {
        if (form.rank == rank && form.position == position) return form.value;
    }
    return TimeNs{0};
}

std::vector<TimeNs> ClosedForm::beforeSteady() const {
    std::vector<TimeNs> values(bubble.size(), TimeNs{0});
    for (const PositionForm& form : positions) {
        if (form.position == Position::WarmupToSteady) values[form.rank.index()] = form.value;
    }
    return values;
}

Result<ClosedForm> closedForm(const Schedule& schedule, const CostModel& costs) {
    const ScheduleFamily* const family = findScheduleFamily(schedule.name);
    if (family == nullptr || family->closed_form == nullptr) {
        return usageError(fmt::format("no closed form is known for the schedule '{}'", schedule.name),
                          "`bubblescope simulate` gives its bubbles for any times");
    }
    if (costs.comm.count() != 0) {
        return usageError("the closed forms by position hold for transfers that take no time",
                          "leave --comm out, or use `bubblescope simulate`");
    }
    if (!costs.stages.empty()) {
        return usageError("the closed forms hold for equal stages", "use `bubblescope simulate` for times per stage");
    }
    return family->closed_form(schedule, costs);
}

FormBuilder::FormBuilder(const Schedule& schedule, const OpTimes& times, std::string domain)
    : schedule_(schedule), times_(times), domain_(std::move(domain)) {
    form_.bubble.assign(static_cast<std::size_t>(schedule.pp), TimeNs{0});
}

void FormBuilder::append(int s, Position position, std::string expression, TimeNs value) {
    form_.bubble[Rank{s}.index()] += value;
    form_.positions.push_back({Rank{s}, position, std::move(expression), value, true, domain_});
}

FormBuilder& FormBuilder::add(Position position, std::string expression, const std::function<TimeNs(int)>& value) {
    for (int s = 0; s < schedule_.pp; ++s)
        append(s, position, expression, value(s));
    return *this;
}

FormBuilder& FormBuilder::addFillAndDrain() {
    const TimeNs forward = times_.forward;
    const TimeNs backward = times_.backward;
    for (int s = 0; s < schedule_.pp; ++s) {
        std::vector<OpKind> kinds;
        for (const Op& op : schedule_.ranks[Rank{s}.index()])
            kinds.push_back(op.kind);
        const int below = schedule_.pp - s - 1;
        append(s, Position::BeforeWarmup, "s·t_f", s * forward);
        if (findPhases(kinds).hasSteady()) {
            append(s, Position::WarmupToSteady, "(p−s−1)·t_b", below * backward);
            append(s, Position::SteadyToCooldown, "(p−s−1)·t_f", below * forward);
        } else {
            append(s, Position::ForwardToBackward, "(p−s−1)·(t_f+t_b)", below * (forward + backward));
        }
        append(s, Position::AfterCooldown, "s·t_b", s * backward);
    }
    return *this;
}

ClosedForm FormBuilder::finish(std::string bubble_expression, std::string makespan_expression, bool f_then_b) {
    const auto forwards = std::ranges::count(schedule_.ranks.front(), OpKind::Forward, &Op::kind);
    const TimeNs work = forwards * (times_.forward + times_.backward);
    std::ranges::sort(form_.positions, {}, [](const PositionForm& f) { return std::pair(f.rank, f.position); });
    form_.bubble_expression = std::move(bubble_expression);
    form_.makespan_expression = std::move(makespan_expression);
    form_.makespan = work + form_.bubble.front();
    form_.f_then_b = f_then_b;
    form_.domain = domain_;
    form_.bubble_rate = rate(form_);
    return std::move(form_);
}

ClosedForm makespanForm(const Schedule& schedule, const CostModel& costs, TimeNs makespan,
                        std::string bubble_expression, std::string makespan_expression, std::string domain) {
    ClosedForm form;
    for (const auto& ops : schedule.ranks)
        form.bubble.push_back(makespan - busyTime(ops, costs));
    form.bubble_expression = std::move(bubble_expression);
    form.makespan_expression = std::move(makespan_expression);
    form.makespan = makespan;
    form.domain = std::move(domain);
    form.bubble_rate = rate(form);
    return form;
}

} // namespace bubblescope
