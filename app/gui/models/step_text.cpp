#include "app/gui/models/step_text.h"

#include "app/gui/language/text.h"

#include <QLocale>

#include <cstddef>

namespace bubblescope::gui {

ItemDescription describeStep(const Session& session, int step) {
    ItemDescription out;
    if (!session.hasSteps()) {
        const Trace& trace = *session.run.trace;
        out.title = tr("Whole trace");
        out.facts = {{tr("Duration"), shortTime(session.lanes.extent().length()), {}},
                     {tr("Processes"), QLocale().toString(qulonglong{session.lanes.lineCount()}), {}},
                     {tr("Tracks"), QLocale().toString(qulonglong{trace.tracks().size()}), {}},
                     {tr("Slices"), QLocale().toString(qulonglong{trace.sliceCount()}), {}}};
        out.note = tr("Click a slice to see its details here.");
        return out;
    }
    const StepAnalysis& analysis = session.analysis(step);
    out.title = tr("Step %1").arg(session.step(step).index);
    out.facts.push_back({tr("Duration"), exactTime(analysis.wall),
                         tr("Time from the start of the first op to the end of the last op.")});
    out.facts.push_back({tr("Bubble rate"), percent(analysis.rates.over_makespan),
                         tr("Share of all ranks' time spent idle in the step.")});
    if (analysis.form)
        out.facts.push_back({tr("Closed form"), percent(analysis.form->bubble_rate),
                             tr("Idle share that the schedule requires at typical op times.")});
    std::size_t most = 0;
    std::size_t least = 0;
    for (std::size_t rank = 0; rank < analysis.ranks.size(); ++rank) {
        if (analysis.ranks[rank].bubble > analysis.ranks[most].bubble) most = rank;
        if (analysis.ranks[rank].bubble < analysis.ranks[least].bubble) least = rank;
    }
    const auto add = [&](const QString& name, std::size_t rank, const QString& explanation) {
        out.facts.push_back(
            {name, tr("rank %1, %2").arg(rank).arg(shortTime(analysis.ranks[rank].bubble)), explanation});
    };
    if (most != least) {
        add(tr("Longest idle"), most, tr("The rank that waits longest, and its waiting time."));
        add(tr("Shortest idle"), least, tr("The others probably wait for this rank."));
    }
    out.note = tr("Click an op, a bubble or a transfer to see its details here.");
    return out;
}

QString modelUseShare(const ModelUse& use, TimeNs step) {
    const double share = use.of(step);
    return share <= 1 ? percent(share)
                      : tr("%1, which is impossible: check the model, batch and devices").arg(percent(share));
}

QString modelUseText(const ModelUse& use, TimeNs step) {
    const auto teraflops = [](double flops) { return ratioText(flops / 1e12); };
    const QString reached = tr("%1 of %2 TFLOP/s on each of %3 devices")
                                .arg(teraflops(use.of(step) * use.peak), teraflops(use.peak))
                                .arg(use.devices);
    return (QStringList(use.device.empty() ? reached : QStringLiteral("%1 (%2)").arg(reached, fromUtf8(use.device))) +
            QStringList(tr("FLOPs of the model with causal attention, without recomputation.")) +
            (use.of(step) > 1 ? QStringList(modelUseShare(use, step)) : QStringList()))
        .join(QLatin1Char('\n'));
}

} // namespace bubblescope::gui
