#include "core/theory/closed_form.h"

#include "core/base/field.h"
#include "core/families/registry.h"
#include "core/graph/longest_path.h"
#include "core/graph/moving_orders.h"
#include "core/graph/unit_graph.h"
#include "core/graph/validate.h"
#include "core/schedule/schedule.h"
#include "core/theory/forms/family_theory.h"
#include "core/theory/forms/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace bubblescope {
namespace {

/// True if either all backwards show their all-reduce or none does, and no pair hides one.
bool allReducesAlike(const Schedule& schedule) {
    bool whole = false;
    bool split = false;
    for (const auto& ops : schedule.ranks) {
        for (const Op& op : ops) {
            if (op.overlapped) return false;
            whole = whole || op.kind == OpKind::Backward;
            split = split || op.kind == OpKind::BackwardInput;
        }
    }
    return !(whole && split);
}

/// The form of a schedule in which stages move. Traces do not record how long weights take.
Result<ClosedForm> movingForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_ASSIGN(const TimeNs makespan, movingMakespan(schedule, costs));
    return makespanForm(schedule, costs, makespan, "makespan − busy time",
                        fmt::format("closed form of {}", orderName(schedule)),
                        "equal stages, and weights that take no time");
}

/// The form of the family, exact or a bound.
Result<ClosedForm> familyForm(const FamilyTheory* theory, const Schedule& schedule, const CostModel& costs) {
    const bool plain = costs.comm.count() == 0 && costs.stages.empty();
    if (theory == nullptr) return usageError(fmt::format("no known closed form for the schedule '{}'", schedule.name));
    if (!costs.plainTransfers()) {
        return usageError(fmt::format("the closed form of {} holds only for asynchronous transfers that all have the "
                                      "same latency and do not queue",
                                      schedule.name));
    }
    if (costs.all_reduce.count() > 0 && !theory->hides_all_reduces && !allReducesAlike(schedule)) {
        return usageError(
            fmt::format("the closed form of {} holds only without {}", schedule.name, Field("all_reduce")));
    }
    if (plain && theory->closed_form != nullptr) return theory->closed_form(schedule, costs);
    if (theory->general_form != nullptr) return theory->general_form(schedule, costs);
    return usageError(fmt::format("the closed form of {} holds only for {}", schedule.name,
                                  costs.stages.empty() ? "transfers that take no time" : "equal stages"));
}

} // namespace

Result<ClosedForm> closedForm(const Schedule& schedule, const CostModel& costs) {
    if (!costs.stages.empty() && costs.stages.size() != static_cast<std::size_t>(schedule.stages()))
        return usageError("per-stage times must cover every stage");
    if (schedule.pp == 1 && costs.comm.count() > 0) { // a single rank sends nothing
        CostModel free = costs;
        free.comm = TimeNs{0};
        return closedForm(schedule, free);
    }
    const ScheduleFamily* const family = findScheduleFamily(schedule.name); // also by alias
    const FamilyTheory* const theory = family == nullptr ? nullptr : findFamilyTheory(family->name);
    auto form =
        schedule.placement == Placement::Moving ? movingForm(schedule, costs) : familyForm(theory, schedule, costs);
    if (!form.ok() || form.value().kind == FormKind::LowerBound) { // takes the larger of the two bounds
        std::string note = form.ok() ? form.value().note : form.error().message;
        BUBBLESCOPE_ASSIGN(ClosedForm bound, orderBound(schedule, costs));
        if (!form.ok() || bound.makespan > form.value().makespan) form = std::move(bound);
        form.value().note = std::move(note);
    }
    if (theory != nullptr && theory->peak_form != nullptr && !form.value().peaks) {
        PeakForm peaks = theory->peak_form(schedule);
        if (!peaks.values.empty()) form.value().peaks = std::move(peaks);
    }
    if (theory != nullptr && theory->quoted_forms != nullptr && costs.equalStages() && costs.plainTransfers())
        form.value().quoted = theory->quoted_forms(schedule, costs);
    return form;
}

namespace {

// The bound of orderBound(). A step's makespan is the length of the longest path through the graph whose edges are the
// data dependencies (with the transfer's time where they cross ranks) and the order of each rank's list. Leaving edges
// out can only make the longest path shorter, so the longest path that follows the list of one rank only, and data
// dependencies before and after it, is a lower bound.
//
// For an op i, let head(i) be the longest chain of dependencies that must run before it can start, and tail(i) the
// longest that must run after it ends. On a rank with the list x_0 … x_n, any stretch from x_i to x_j takes at least
// the time of its ops, so
//
//     makespan ≥ head(x_i) + t(x_i) + … + t(x_j) + tail(x_j)    for every rank and i ≤ j.
//
// With i = 0 and j = n it reads: no rank starts before its first input arrives, and after a rank's last op everything
// that depends on it must still run. Shorter stretches matter where a rank has to wait in the middle. One pass along
// each list finds the best i for every j.
//
// Queues of transfers and sends that block only add waits, so the bound holds with them too.
//
// On equal stages the bound is exact for F-then-B and 1F1B, whose last rank never waits between its first op and its
// last. It is not exact where two ranks delay the step in turn.
class OrderBound {
public:
    OrderBound(const OpGraph& ops, const UnitGraph& units, const CostModel& costs)
        : ops_(ops), units_(units), costs_(costs), ends_(units.op.size()), latest_(units.op.size()) {
        linkUnits();
        const auto lag = [this](const EdgePlace& edge) { return lags_[edge.edge]; };
        forwardPass(data_, ends_, lag, [this](UnitIndex unit, TimeNs ready) { return ready + duration(unit); });
        backwardPass(data_, latest_, lag, [this](UnitIndex unit) { return latest_[unit] - duration(unit); });
    }

    struct Found {
        TimeNs makespan{0};
        Rank rank;
    };

    [[nodiscard]] Found find() const {
        Found found;
        for (int r = 0; r < ops_.rankCount(); ++r) {
            const TimeNs least = longestStretch(Rank{r});
            if (least > found.makespan) found = {least, Rank{r}};
        }
        return found;
    }

private:
    [[nodiscard]] TimeNs alone(OpIndex op) const { return costs_.opTime(ops_.op(op).kind, ops_.stage(op)); }

    /// The time for which a unit occupies its rank; 0 for the optimizer, which is outside the window.
    [[nodiscard]] TimeNs duration(UnitIndex unit) const {
        const OpIndex op = units_.op[static_cast<std::size_t>(unit)];
        if (ops_.op(op).kind == OpKind::Optimizer) return TimeNs{0};
        const OpIndex partner = ops_.partner(op);
        if (partner == kNoOp) return alone(op);
        return costs_.pairTime(ops_.op(op).kind, alone(op), ops_.op(partner).kind, alone(partner));
    }

    [[nodiscard]] TimeNs lag(OpIndex from, OpIndex to) const {
        if (ops_.rank(from) == ops_.rank(to)) return TimeNs{0};
        return costs_.transferTime(payloadOf(ops_.op(to).kind), ops_.rank(from), ops_.rank(to));
    }

    void linkUnits() {
        std::vector<TaskIndex> begin{0};
        std::vector<TaskIndex> sources;
        for (const OpIndex op : units_.op) {
            for (const OpIndex half : {op, ops_.partner(op)}) {
                if (half == kNoOp) continue;
                for (const OpIndex producer : {ops_.producers(half).stage, ops_.producers(half).own}) {
                    if (producer == kNoOp) continue;
                    sources.push_back(units_.unit_of[static_cast<std::size_t>(producer)]);
                    lags_.push_back(lag(producer, half));
                }
            }
            begin.push_back(static_cast<TaskIndex>(sources.size()));
        }
        data_ = TaskGraph(TaskLists(std::move(begin), std::move(sources)));
    }

    [[nodiscard]] TimeNs longestStretch(Rank rank) const {
        TimeNs longest{0};
        TimeNs earliest{0}; ///< earliest start of the list if it ran without a gap from there on
        TimeNs work{0};
        for (OpIndex op = ops_.firstOf(rank); op < ops_.endOf(rank); ++op) {
            const UnitIndex unit = units_.unit_of[static_cast<std::size_t>(op)];
            if (units_.op[static_cast<std::size_t>(unit)] != op) continue; // the second half of a pair
            earliest = std::max(earliest, ends_[unit] - duration(unit) - work);
            work += duration(unit);
            longest = std::max(longest, earliest + work - latest_[unit]);
        }
        return longest;
    }

    const OpGraph& ops_;
    const UnitGraph& units_;
    const CostModel& costs_;
    TaskGraph data_; ///< its edges are only data dependencies
    std::vector<TimeNs> lags_;
    TaskTimes ends_;   ///< head and duration
    TaskTimes latest_; ///< the latest ends if the step ends at 0: minus the tails
};

} // namespace

Result<ClosedForm> orderBound(const Schedule& schedule, const CostModel& costs) {
    if (costs.measured != nullptr) {
        return usageError("the lower bound needs equal times for all ops of one stage and kind",
                          "use `bubblescope simulate`");
    }
    BUBBLESCOPE_ASSIGN(const OpGraph ops, completeGraph(schedule));
    const UnitGraph units = unitGraph(ops);
    if (!units.blocked.empty()) return whyNotExecutable(schedule, SendMode::Asynchronous);
    const auto [makespan, rank] = OrderBound(ops, units, costs).find();
    ClosedForm form = makespanForm(schedule, costs, makespan, "head + work + tail − the rank's work",
                                   "max over ranks of head + work + tail",
                                   fmt::format("any order, times and transfers; determined by rank {}: the work that "
                                               "must run before it, its own work, and the work that must run after it",
                                               rank.value));
    form.kind = FormKind::LowerBound;
    return form;
}

namespace {

struct Size {
    int microbatches;
    int vpp;
};

// With p = 4, some of these sizes are within every family's limits and every form's domain. General times come first,
// so that no two symbols coincide in a form that is valid for all times.
constexpr int kRanks = 4;
constexpr std::array kSizes{Size{12, 1}, Size{12, 2}, Size{12, 4}, Size{6, 2},
                            Size{4, 2},  Size{4, 4},  Size{3, 1},  Size{3, 2}};
constexpr std::array<std::array<int, 3>, 4> kTimes{{{5, 7, 3}, {5, 5, 3}, {5, 5, 5}, {7, 4, 3}}}; ///< F, I, W

/// With a pair a bit shorter than both halves. If the family's form covers all-reduces: without any, and with one that
/// pairs hide.
std::vector<CostModel> costsOf(const ScheduleFamily& family, const std::array<int, 3>& times, bool latency) {
    CostModel costs;
    costs.times = {.forward = TimeNs{times[0]},
                   .backward = TimeNs{times[1] + times[2]},
                   .input_grad = TimeNs{times[1]},
                   .weight_grad = TimeNs{times[2]},
                   .optimizer = TimeNs{0}};
    costs.comm = TimeNs{latency ? 1 : 0};
    const FamilyTheory* const theory = findFamilyTheory(family.name);
    if (theory == nullptr || !theory->hides_all_reduces) {
        costs.overlapped = costs.times.forward + costs.times.backward - TimeNs{1};
        return {costs};
    }
    CostModel exposed = costs;
    exposed.all_reduce = TimeNs{1};
    exposed.times.forward += exposed.all_reduce;
    exposed.times.input_grad += exposed.all_reduce;
    return {costs, exposed};
}

std::optional<ClosedForm> formOf(const ScheduleFamily& family, std::string_view flavor, const CostModel& costs,
                                 const Size& size) {
    ScheduleSpec spec;
    spec.name = family.name;
    spec.flavor = flavor;
    spec.pp = kRanks;
    spec.microbatches = size.microbatches;
    spec.vpp = size.vpp;
    spec.times = costs.times;
    spec.comm = costs.comm;
    const auto schedule = makeSchedule(spec);
    if (!schedule.ok()) return std::nullopt;
    auto form = closedForm(schedule.value(), costs);
    return form.ok() ? std::optional(std::move(form).value()) : std::nullopt;
}

FamilyForm symbolsOf(const ClosedForm& form, bool latency) {
    FamilyForm out;
    out.latency = latency;
    out.kind = form.kind;
    out.bubble = form.bubble_expression;
    out.makespan = form.makespan_expression;
    out.domain = form.domain;
    out.note = form.note;
    auto positions = form.positions;
    std::ranges::stable_sort(positions, {}, &PositionForm::position);
    for (const PositionForm& part : positions) {
        FamilyForm::AtPosition at{positionName(part.position, form.f_then_b), part.expression, part.kind};
        if (std::ranges::find(out.positions, at) == out.positions.end()) out.positions.push_back(std::move(at));
    }
    if (form.peaks) {
        out.peaks = form.peaks->expression;
        out.peaks_domain = form.peaks->domain;
    }
    return out;
}

/// Positions may differ between orders of one form: ranks without a steady phase have different ones.
bool sameForm(const FamilyForm& a, const FamilyForm& b) {
    const auto tied = [](const FamilyForm& f) { return std::tie(f.latency, f.kind, f.bubble, f.makespan, f.domain); };
    return tied(a) == tied(b);
}

/// All exact forms of one order, most general first; if there is none, the bound that is given in their place.
std::vector<FamilyForm> formsOf(const ScheduleFamily& family, std::string_view flavor, bool latency) {
    std::vector<FamilyForm> exact;
    std::vector<FamilyForm> instead;
    const auto keep = [&](const ClosedForm& found) {
        FamilyForm form = symbolsOf(found, latency);
        auto& into = found.exact() ? exact : instead;
        const bool known = std::ranges::any_of(into, [&](const FamilyForm& f) { return sameForm(f, form); });
        if (!known && (found.exact() || instead.empty())) into.push_back(std::move(form));
    };
    for (const auto& times : kTimes) {
        for (const CostModel& costs : costsOf(family, times, latency)) {
            for (const Size& size : kSizes) {
                if (const auto found = formOf(family, flavor, costs, size)) keep(*found);
            }
        }
    }
    return exact.empty() ? instead : exact;
}

} // namespace

std::vector<FamilyForm> familyForms(const ScheduleFamily& family) {
    std::vector<FamilyForm> forms;
    for (const bool latency : {false, true}) {
        for (const std::string_view flavor : flavorsOf(family)) {
            for (FamilyForm& form : formsOf(family, flavor, latency)) {
                if (latency && form.kind != FormKind::Exact) continue;
                const auto same = std::ranges::find_if(forms, [&](const FamilyForm& f) { return sameForm(f, form); });
                FamilyForm& into = same != forms.end() ? *same : forms.emplace_back(std::move(form));
                if (!flavor.empty()) into.flavors.push_back(flavor);
            }
        }
    }
    return forms;
}

} // namespace bubblescope
