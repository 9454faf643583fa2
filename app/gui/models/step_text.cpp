#include "app/gui/models/step_text.h"

#include "app/gui/language/text.h"

#include <QCoreApplication>
#include <QLocale>

#include <cstddef>

namespace bubblescope::gui {

namespace {

struct StepText {
    Q_DECLARE_TR_FUNCTIONS(StepText)
};

} // namespace

ItemDescription describeStep(const Session& session, int step) {
    ItemDescription out;
    if (!session.hasSteps()) {
        const Trace& trace = *session.run.trace;
        out.title = StepText::tr("Whole trace");
        out.facts = {{StepText::tr("Duration"), shortTime(session.lanes.extent().length()), {}},
                     {StepText::tr("Processes"), QLocale().toString(qulonglong{session.lanes.lineCount()}), {}},
                     {StepText::tr("Tracks"), QLocale().toString(qulonglong{trace.tracks().size()}), {}},
                     {StepText::tr("Slices"), QLocale().toString(qulonglong{trace.sliceCount()}), {}}};
        out.note = StepText::tr("Click a slice to see its details here.");
        return out;
    }
    const StepAnalysis& analysis = session.analysis(step);
    out.title = StepText::tr("Step %1").arg(session.step(step).index);
    out.facts.push_back({StepText::tr("Duration"), exactTime(analysis.wall),
                         StepText::tr("Time from the start of the first op to the end of the last op.")});
    out.facts.push_back({StepText::tr("Bubble rate"), percent(analysis.rates.over_makespan),
                         StepText::tr("Idle share of all ranks' time in the step.")});
    if (analysis.form)
        out.facts.push_back({StepText::tr("Closed form"), percent(analysis.form->bubble_rate),
                             StepText::tr("Idle share that the schedule requires at typical op times.")});
    std::size_t most = 0;
    std::size_t least = 0;
    for (std::size_t rank = 0; rank < analysis.ranks.size(); ++rank) {
        if (analysis.ranks[rank].bubble > analysis.ranks[most].bubble) most = rank;
        if (analysis.ranks[rank].bubble < analysis.ranks[least].bubble) least = rank;
    }
    const auto add = [&](const QString& name, std::size_t rank, const QString& explanation) {
        out.facts.push_back(
            {name, StepText::tr("rank %1, %2").arg(rank).arg(shortTime(analysis.ranks[rank].bubble)), explanation});
    };
    if (most != least) {
        add(StepText::tr("Longest idle"), most, StepText::tr("The rank that waits longest, and its waiting time."));
        add(StepText::tr("Shortest idle"), least, StepText::tr("The others probably wait for this rank."));
    }
    out.note = StepText::tr("Click an op, a bubble or a transfer to see its details here.");
    return out;
}

QString modelUseShare(const ModelUse& use, TimeNs step) {
    const double share = use.of(step);
    return share <= 1 ? percent(share)
                      : StepText::tr("%1, which is impossible: check the model, batch and devices").arg(percent(share));
}

QString modelUseText(const ModelUse& use, TimeNs step) {
    const auto teraflops = [](double flops) { return ratioText(flops / 1e12); };
    const QString reached = StepText::tr("%1 of %2 TFLOP/s on each of %3 devices")
                                .arg(teraflops(use.of(step) * use.peak), teraflops(use.peak))
                                .arg(use.devices);
    return (QStringList(use.device.empty() ? reached : QStringLiteral("%1 (%2)").arg(reached, fromUtf8(use.device))) +
            QStringList(StepText::tr("FLOPs of the model with causal attention, without recomputation.")) +
            (use.of(step) > 1 ? QStringList(modelUseShare(use, step)) : QStringList()))
        .join(QLatin1Char('\n'));
}

} // namespace bubblescope::gui
