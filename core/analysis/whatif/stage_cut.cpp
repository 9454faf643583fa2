#include "core/analysis/whatif/reschedule.h"

#include "core/analysis/statistics/robust.h"

#include <algorithm>
#include <cmath>

namespace bubblescope {
namespace {

constexpr std::size_t kForward = 0;
constexpr std::size_t kWhole = 1;
constexpr std::size_t kInput = 2;
constexpr std::size_t kWeight = 3;

} // namespace

CutRules CutRules::of(const Schedule& schedule, int slices) {
    return {slices, true, schedule.flavor != "torch"};
}

/// The time of one half of a backward that was measured whole.
double StageTimesTable::halfOf(OpKind kind, double whole, bool first_stage, double input_share) const {
    const double fixed = fixedOf(whole);
    const bool is_input = kind == OpKind::BackwardInput;
    if (first_stage && !first_has_input_) return is_input ? fixed : whole;
    return fixed + (whole - fixed) * (is_input ? input_share : 1 - input_share);
}

TimeNs StageTimesTable::of(OpKind kind, int stage, int microbatch, double input_share) const {
    const std::size_t row = static_cast<std::size_t>(stage) * (static_cast<std::size_t>(microbatches_) + 1);
    const std::size_t at = row + static_cast<std::size_t>(std::min(microbatch, microbatches_));
    const auto part = [&](std::size_t of) {
        const double time = times_[of][at];
        const double fixed = fixedOf(time);
        return fixed + (time - fixed) / divide_;
    };
    const double whole = part(kWhole);
    double time = 0;
    switch (kind) {
    case OpKind::Forward: time = part(kForward); break;
    case OpKind::Backward: time = whole; break;
    case OpKind::BackwardInput: time = split_ ? part(kInput) : halfOf(kind, whole, stage == 0, input_share); break;
    case OpKind::BackwardWeight:
        time = split_ ? whole - part(kInput) : halfOf(kind, whole, stage == 0, input_share);
        break;
    case OpKind::Optimizer: break;
    }
    return TimeNs{std::llround(time)};
}

StageCut::StageCut(std::vector<double> shares, int microbatches, TimeNs fixed)
    : shares_(std::move(shares)), microbatches_(microbatches), fixed_(static_cast<double>(fixed.count())) {
    for (auto& sums : sums_)
        sums.resize(shares_.size() * static_cast<std::size_t>(microbatches));
}

void StageCut::add(RunOp op, int stage, int microbatch, TimeNs time) {
    const auto kind = static_cast<std::size_t>(op);
    if (kind >= kKinds || stage < 0 || static_cast<std::size_t>(stage) >= shares_.size() || microbatch < 0 ||
        microbatch >= microbatches_) {
        return;
    }
    for (Sum* const sum : {&sums_[kind][at(static_cast<std::size_t>(stage), microbatch)], &total_[kind]}) {
        sum->time += static_cast<double>(time.count());
        ++sum->count;
    }
    empty_ = false;
}

double StageCut::timeOf(std::size_t kind, std::size_t stage, int microbatch) const {
    const auto of = [&](std::size_t one) { return sums_[one][at(stage, microbatch)]; };
    if (kind == kForward) return of(kForward).mean();
    const double whole = of(kWhole).mean() + of(kInput).mean() + of(kWeight).mean();
    if (kind == kWhole) return whole;
    if (of(kInput).count > 0) return of(kInput).mean();
    // Some families only split some backwards.
    const double halves = total_[kInput].mean() + total_[kWeight].mean();
    return halves > 0 ? whole * total_[kInput].mean() / halves : 0;
}

std::vector<double> StageCut::stageTimes(std::size_t kind, int microbatch) const {
    std::vector<double> times(shares_.size());
    for (std::size_t stage = 0; stage < times.size(); ++stage) {
        if (microbatch >= 0) {
            times[stage] = timeOf(kind, stage, microbatch);
            continue;
        }
        for (int m = 0; m < microbatches_; ++m)
            times[stage] += timeOf(kind, stage, m) / microbatches_;
    }
    return times;
}

std::vector<double> StageCut::cutTimes(std::vector<double> times, const std::vector<double>& shares) const {
    // The time that the first and the last stage take beyond that of their layers stays with them.
    double first = 0;
    double last = 0;
    if (times.size() >= 3) {
        std::vector<double> paces;
        for (std::size_t i = 1; i + 1 < times.size(); ++i)
            paces.push_back(times[i] / shares_[i]);
        const double pace = statistics::median(std::move(paces));
        first = std::max(times.front() - pace * shares_.front(), 0.0);
        last = std::max(times.back() - pace * shares_.back(), 0.0);
        times.front() -= first;
        times.back() -= last;
    }
    std::vector<double> result;
    std::size_t old = 0;
    double old_left = shares_.front(); // rest of the stage `old` that is not yet assigned
    for (const double share : shares) {
        double time = 0;
        double wanted = share;
        while (wanted > 0) {
            const bool rest = old + 1 == shares_.size();
            const double part = rest ? wanted : std::min(wanted, old_left);
            time += times[old] * part / shares_[old];
            wanted -= part;
            old_left -= part;
            // Shares are sums of fractions, so treat rounding errors as 0.
            if (wanted < 1e-12) wanted = 0;
            if (!rest && old_left < 1e-12) old_left = shares_[++old];
        }
        result.push_back(time);
    }
    result.front() += first;
    result.back() += last;
    return result;
}

StageTimesTable StageCut::table(const std::vector<double>& shares, const CutRules& rules) const {
    StageTimesTable table;
    table.microbatches_ = microbatches_;
    table.split_ = measured(kInput);
    table.fixed_ = rules.keeps_fixed ? fixed_ : 0;
    table.first_has_input_ = rules.first_has_input;
    table.divide_ = rules.slices;
    const std::size_t row = static_cast<std::size_t>(microbatches_) + 1;
    for (std::size_t kind = 0; kind < table.times_.size(); ++kind) {
        table.times_[kind].resize(shares.size() * row);
        for (int m = 0; m <= microbatches_; ++m) {
            std::vector<double> times = stageTimes(kind, m == microbatches_ ? -1 : m);
            double fixed = table.fixed_;
            for (const double time : times)
                fixed = std::min(fixed, table.fixedOf(time));
            for (double& time : times)
                time -= fixed;
            times = cutTimes(std::move(times), shares);
            for (std::size_t stage = 0; stage < times.size(); ++stage)
                table.times_[kind][stage * row + static_cast<std::size_t>(m)] = times[stage] + fixed;
        }
    }
    return table;
}

OpTimes StageCut::meanTimes(int stages) const {
    const double ratio = static_cast<double>(shares_.size()) / stages;
    const auto of = [&](std::size_t kind) { return TimeNs{std::llround(total_[kind].mean() * ratio)}; };
    OpTimes times;
    times.forward = of(kForward);
    times.backward = of(kWhole);
    times.input_grad = of(kInput);
    times.weight_grad = of(kWeight);
    if (!measured(kInput)) {
        times.input_grad = times.backward / 2;
        times.weight_grad = times.backward - times.input_grad;
    }
    times.backward = times.input_grad + times.weight_grad;
    return times;
}

} // namespace bubblescope
