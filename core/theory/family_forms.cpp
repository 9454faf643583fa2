#include "core/theory/family_forms.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace bubblescope {
namespace {

struct Size {
    int microbatches;
    int vpp;
};

// At p = 4 every family's limits and every form's domain include some of these. General times come first, so that no
// two symbols coincide in a form that holds for all times.
constexpr int kRanks = 4;
constexpr std::array kSizes{Size{12, 1}, Size{12, 2}, Size{12, 4}, Size{6, 2},
                            Size{4, 2},  Size{4, 4},  Size{3, 1},  Size{3, 2}};
constexpr std::array<std::array<int, 3>, 4> kTimes{{{5, 7, 3}, {5, 5, 3}, {5, 5, 5}, {7, 4, 3}}}; ///< F, I, W

CostModel costsOf(const std::array<int, 3>& times, bool latency) {
    CostModel costs;
    costs.times = {.forward = TimeNs{times[0]},
                   .backward = TimeNs{times[1] + times[2]},
                   .input_grad = TimeNs{times[1]},
                   .weight_grad = TimeNs{times[2]},
                   .optimizer = TimeNs{0}};
    costs.overlapped = costs.times.forward + costs.times.backward - TimeNs{1};
    costs.comm = TimeNs{latency ? 1 : 0};
    return costs;
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

/// All exact forms of one order, most general first; if there is none, the bound that is given instead.
std::vector<FamilyForm> formsOf(const ScheduleFamily& family, std::string_view flavor, bool latency) {
    std::vector<FamilyForm> exact;
    std::vector<FamilyForm> instead;
    for (const auto& times : kTimes) {
        for (const Size& size : kSizes) {
            const auto found = formOf(family, flavor, costsOf(times, latency), size);
            if (!found) continue;
            FamilyForm form = symbolsOf(*found, latency);
            auto& into = found->exact() ? exact : instead;
            const bool known = std::ranges::any_of(into, [&](const FamilyForm& f) { return sameForm(f, form); });
            if (!known && (found->exact() || instead.empty())) into.push_back(std::move(form));
        }
    }
    return exact.empty() ? instead : exact;
}

} // namespace

std::vector<FamilyForm> familyForms(const ScheduleFamily& family) {
    const auto flavors = family.flavors.empty() ? std::vector<std::string_view>{""} : family.flavors;
    std::vector<FamilyForm> forms;
    for (const bool latency : {false, true}) {
        for (const std::string_view flavor : flavors) {
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
