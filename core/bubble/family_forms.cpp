#include "core/bubble/family_forms.h"

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

// Every family's limits and every form's domain hold one of each at p = 4. Forms are looked for from the most
// general times on, so that no symbol hides behind another.
constexpr int kRanks = 4;
constexpr std::array kSizes{Size{12, 1}, Size{12, 2}, Size{12, 4}, Size{6, 2}, Size{4, 2}};
constexpr std::array<std::array<int, 3>, 3> kTimes{{{5, 7, 3}, {5, 5, 3}, {5, 5, 5}}}; ///< F, I, W

CostModel costsOf(const std::array<int, 3>& times, bool latency) {
    CostModel costs;
    costs.times = {TimeNs{times[0]}, TimeNs{times[1] + times[2]}, TimeNs{times[1]}, TimeNs{times[2]}, TimeNs{0}};
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

/// The most general exact form; where there is none, what is said instead at the first size that fits.
std::optional<ClosedForm> bestForm(const ScheduleFamily& family, std::string_view flavor, bool latency) {
    std::optional<ClosedForm> instead;
    for (const auto& times : kTimes) {
        for (const Size& size : kSizes) {
            auto form = formOf(family, flavor, costsOf(times, latency), size);
            if (form && form->exact()) return form;
            if (form && !instead) instead = std::move(form);
        }
    }
    return instead;
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

bool sayTheSame(const FamilyForm& a, const FamilyForm& b) {
    const auto tied = [](const FamilyForm& f) {
        return std::tie(f.latency, f.kind, f.bubble, f.makespan, f.domain, f.note, f.positions, f.peaks,
                        f.peaks_domain);
    };
    return tied(a) == tied(b);
}

} // namespace

std::vector<FamilyForm> familyForms(const ScheduleFamily& family) {
    const auto flavors = family.flavors.empty() ? std::vector<std::string_view>{""} : family.flavors;
    std::vector<FamilyForm> forms;
    for (const bool latency : {false, true}) {
        for (const std::string_view flavor : flavors) {
            const auto best = bestForm(family, flavor, latency);
            if (!best || (latency && !best->exact())) continue;
            FamilyForm form = symbolsOf(*best, latency);
            const auto same = std::ranges::find_if(forms, [&](const FamilyForm& f) { return sayTheSame(f, form); });
            FamilyForm& into = same != forms.end() ? *same : forms.emplace_back(std::move(form));
            if (!flavor.empty()) into.flavors.push_back(flavor);
        }
    }
    return forms;
}

} // namespace bubblescope
