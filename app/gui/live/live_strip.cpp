#include "app/gui/live/live_strip.h"

#include "app/gui/live/live_text.h"
#include "app/gui/panels/fill_when_seen.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace bubblescope::gui {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// The worst alert that began at each step names it; all of them are told.
std::vector<StepChart::Mark> marksOf(const LiveSnapshot& picture) {
    std::map<int, std::vector<const LiveAlert*>> by_step;
    for (const LiveAlert& alert : picture.alerts)
        by_step[beganAt(alert)].push_back(&alert);
    std::vector<StepChart::Mark> marks;
    for (std::size_t place = 0; place < picture.steps.size(); ++place) {
        const auto found = by_step.find(picture.steps[place].index);
        if (found == by_step.end()) continue;
        auto& alerts = found->second;
        std::ranges::stable_sort(alerts, std::greater(), [](const LiveAlert* alert) { return severityOf(*alert); });
        StepChart::Mark mark;
        mark.step = static_cast<int>(place);
        mark.text = shortAlertText(*alerts.front(), picture);
        if (alerts.size() > 1) mark.text += QStringLiteral(" +%1").arg(alerts.size() - 1);
        mark.severity = severityOf(*alerts.front());
        mark.bad = mark.severity != Severity::Notice;
        for (const LiveAlert* alert : alerts)
            mark.all << alertText(*alert, picture);
        marks.push_back(std::move(mark));
    }
    return marks;
}

} // namespace

LiveStrip::LiveStrip(LiveController& live, ViewState& state, ThemeManager& themes, QWidget* parent)
    : StepChart(themes, parent), live_(live), state_(state), fill_(new FillWhenSeen(*this, [this] { refresh(); })) {
    setObjectName(QStringLiteral("liveStrip"));
    setAccessibleName(tr("Steps of the run as they come"));
    connect(&live_, &LiveController::changed, fill_, &FillWhenSeen::ask);
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (!fill_->due()) markCurrent();
    });
    connect(this, &StepChart::stepChosen, this, &LiveStrip::choose);
    connect(this, &StepChart::rangeChosen, this, [this](int, int last) { choose(last); });
    refresh();
}

void LiveStrip::refresh() {
    const LiveSnapshotPtr& picture = live_.picture();
    if (!picture || picture->steps.empty()) {
        shown_ = picture;
        return setCurves({}, {}, {});
    }
    // Most pictures bring records and no step.
    const bool same = shown_ && shown_->steps.size() == picture->steps.size() &&
                      shown_->steps.back().index == picture->steps.back().index &&
                      shown_->steps.back().wall == picture->steps.back().wall &&
                      shown_->alerts.size() == picture->alerts.size();
    shown_ = picture;
    if (same) return;
    Curve walls = timeCurve();
    Curve rates = bubbleRateCurve();
    std::vector<int> numbers;
    for (const live::LiveStep& step : picture->steps) {
        numbers.push_back(step.index);
        // What is not known is no step without bubbles.
        walls.data.values.push_back(step.complete ? static_cast<double>(step.wall.count()) : kUnknown);
        rates.data.values.push_back(step.complete ? step.bubble_rate : kUnknown);
        rates.expected.push_back(step.complete ? step.expected_rate.value_or(kUnknown) : kUnknown);
    }
    setCurves({std::move(walls), std::move(rates)}, std::move(numbers), marksOf(*picture));
    markCurrent();
}

void LiveStrip::markCurrent() {
    if (!shown_ || !state_.session() || state_.step() < 0) return setCurrent(-1);
    const auto& steps = shown_->steps;
    const auto at =
        std::ranges::lower_bound(steps, state_.session()->step(state_.step()).index, {}, &live::LiveStep::index);
    const bool there = at != steps.end() && at->index == state_.session()->step(state_.step()).index;
    setCurrent(there ? static_cast<int>(at - steps.begin()) : -1);
}

void LiveStrip::choose(int place) {
    if (!shown_ || place >= static_cast<int>(shown_->steps.size())) return;
    const int number = shown_->steps[static_cast<std::size_t>(place)].index;
    if (!live_.showStep(number)) emit stepGone(number);
}

} // namespace bubblescope::gui
