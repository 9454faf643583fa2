#include "app/gui/models/item_text.h"

#include "app/gui/language/text.h"
#include "app/gui/models/flow_overlay.h"
#include "app/gui/models/op_kernels.h"
#include "app/gui/models/rows.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/models/similar_items.h"
#include "core/aadiff/mismatch.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include <algorithm>
#include <array>
#include <utility>

namespace bubblescope::gui {

namespace {

QString number(int value) {
    return QString::number(value);
}

QString commKindText(const CommSpan& span) {
    const bool activation = span.payload == Payload::Activation;
    switch (span.kind) {
    case CommKind::Send: return activation ? tr("Send activation") : tr("Send gradient");
    case CommKind::Receive: return activation ? tr("Receive activation") : tr("Receive gradient");
    case CommKind::Wait: break;
    case CommKind::Collective: return activation ? tr("All-reduce of activations") : tr("All-reduce of gradients");
    }
    return activation ? tr("Wait for activation") : tr("Wait for gradient");
}

void addPlace(ItemDescription& out, const Session& session, const ItemRef& item) {
    if (!session.hasSteps())
        return out.facts.push_back(
            {tr("Process"), lineName(session, session.lanes.lineOf(item)), tr("Process that recorded this item.")});
    if (session.lanes.replicas().size() > 1)
        out.facts.push_back(
            {tr("Replica"), number(session.step(item.step).replica),
             tr("One of %1 pipelines that run the same step at the same time.").arg(session.lanes.replicas().size())});
    out.facts.push_back({tr("Rank"), number(item.rank), tr("Position in the pipeline, from 0.")});
    QString step = number(session.step(item.step).index);
    const StepValues values = valuesOf(session.values, session.step(item.step));
    if (values.loss) step += tr(", loss %1").arg(QLocale().toString(*values.loss, 'g', 5));
    if (values.tokens) step += tr(", %Ln token(s)", nullptr, static_cast<int>(*values.tokens));
    out.facts.push_back({tr("Step"), step, tr("Training iteration.")});
}

void addDuration(ItemDescription& out, const Session& session, const ItemRef& item) {
    const bool open = item.kind == ItemKind::Slice && session.run.trace->isOpen(session.slice(item));
    const QString duration = exactTime(session.range(item).length());
    out.facts.push_back({tr("Duration"), open ? tr("%1 (never ended)").arg(duration) : duration,
                         tr("Time from start to end, including nested slices.")});
}

void addEnds(ItemDescription& out, const Session& session, const ItemRef& item) {
    const TimeRange range = session.range(item);
    const TimeNs origin = session.originOf(item.step);
    const bool steps = session.hasSteps();
    const QString since = steps ? tr("Time since the step's first op.") : tr("Time since the trace's first event.");
    out.facts.push_back({steps ? tr("Start in step") : tr("Start"), exactTime(range.begin - origin), since, true});
    out.facts.push_back({steps ? tr("End in step") : tr("End"), exactTime(range.end - origin), since, true});
}

void addTimes(ItemDescription& out, const Session& session, const ItemRef& item) {
    addDuration(out, session, item);
    addEnds(out, session, item);
}

/// Idle time of the rank directly before an op, since the previous op or the start of the step.
TimeNs waitBefore(const Session& session, const ItemRef& item) {
    const auto& ops = session.step(item.step).ranks[static_cast<std::size_t>(item.rank)];
    const auto index = static_cast<std::size_t>(item.index);
    const TimeNs since = index == 0 ? session.step(item.step).begin : ops[index - 1].end;
    return std::max(TimeNs{0}, ops[index].start - since);
}

QString elided(std::string_view name) {
    constexpr qsizetype kMostLetters = 60; // limit, because names of templates may be very long
    QString text = fromUtf8(name);
    if (text.size() > kMostLetters) text = text.left(kMostLetters - 1) + QChar(0x2026);
    return text;
}

void addKernels(ItemDescription& out, const Session& session, const ItemRef& item) {
    const OpKernels kernels = kernelsOf(session, item);
    if (kernels.count == 0) return;
    const TimeNs idle = session.step(item.step).detailsOf(session.op(item)).device_idle;
    if (idle > TimeNs{0})
        out.facts.push_back({tr("Device idle during the op"), exactTime(idle),
                             tr("The device had nothing to run: the host launched too late.")});
    out.facts.push_back(
        {tr("Kernels"), QString::number(kernels.count),
         tr("Kernels, copies and memsets that started during the op. The longest ones are listed by name.")});
    for (const OpKernels::Named& each : kernels.longest) {
        out.facts.push_back({elided(each.name), tr("%1, %2 times").arg(exactTime(each.total)).arg(each.count),
                             fromUtf8(each.name), true});
    }
}

/// Adds the position of the op in the model.
void addStage(ItemDescription& out, const StepTimeline& step, const Op& op, int rank) {
    if (op.kind == OpKind::Optimizer) return;
    out.facts.push_back({tr("Micro-batch"), number(op.microbatch.value),
                         tr("Part of a batch that passes through the pipeline on its own.")});
    if (step.vpp > 1)
        out.facts.push_back({tr("Chunk"), number(op.chunk.value), tr("Index of the model part on its rank, from 0.")});
    out.facts.push_back(
        {tr("Stage"), number(step.stageOf(Rank(rank), op.chunk).value),
         tr("Global index of the model part: 0 is the first, %1 the last.").arg(step.pp * step.vpp - 1)});
}

ItemDescription describeOp(const Session& session, const ItemRef& item) {
    const StepTimeline& step = session.step(item.step);
    const TimelineOp& op = session.op(item);
    ItemDescription out;
    out.title = tr("%1 · %2").arg(fromUtf8(opName(op.op)), opKindText(op.op.kind));
    addDuration(out, session, item);
    addSimilarOps(out, session, item);
    out.facts.push_back({tr("Wait before it"), exactTime(waitBefore(session, item)),
                         tr("Idle time of the rank between its previous op and this one.")});
    if (const TimeNs lateness = step.detailsOf(op).lateness; lateness != TimeNs{0})
        out.facts.push_back({tr("Lateness"), exactTime(lateness),
                             tr("Time from the op's end on the emulated device clock to its real end.")});
    addPlace(out, session, item);
    addStage(out, step, op.op, item.rank);
    addKernels(out, session, item);
    addEnds(out, session, item);
    return out;
}

QString comparisonNote(const StepAnalysis& analysis, const FormComparison& comparison) {
    switch (comparison.kind) {
    case FormComparison::Kind::NoForm:
        return analysis.form_note.empty() ? tr("This schedule has no closed form here.")
                                          : tr("No closed form: %1.").arg(translatedText(analysis.form_note));
    case FormComparison::Kind::NotInForm:
        return tr("The closed form assumes equal op times and has no bubble at this position.");
    case FormComparison::Kind::Several:
        return tr("Several bubbles share this position; the closed form is for their sum.");
    case FormComparison::Kind::Moved:
        return tr("Ops ran earlier than necessary, so part of this position's idle time moved elsewhere. "
                  "Compare the consolidated value with the closed form.");
    case FormComparison::Kind::Comparable: break;
    }
    return {};
}

/// Adds the cause of a rank's wait.
void addCause(ItemDescription& out, const Session& session, const ItemRef& item) {
    const std::optional<AttributedBubble> blamed = attributionOf(session, item);
    if (!blamed && !session.lacksDiagnosis(item.step)) return;
    out.facts.push_back({tr("Attributed to"),
                         blamed ? causeText(session, item.step, *blamed) : tr("not determined yet"),
                         tr("The largest excess on the chain of ops and transfers that the rank waited for.")});
}

/// Adds the idle time at a position, and its value in closed form.
void addForm(ItemDescription& out, const StepAnalysis& analysis, int rank, Position at,
             const FormComparison& comparison) {
    const std::size_t position = positionIndex(at);
    const RankAccount& account = analysis.ranks[static_cast<std::size_t>(rank)];
    const bool known = analysis.positionsKnown();
    const TimeNs observed = account.observed[position];
    if (known) {
        out.facts.push_back({tr("Excess over closed form"), timeDelta(observed - comparison.expected),
                             tr("Idle time of this rank at this position, minus the closed form.")});
        out.facts.push_back({tr("Closed form"), shortTime(comparison.expected),
                             tr("Idle time that the schedule requires here if all ops of a kind take their "
                                "typical time.")});
    }
    out.facts.push_back({tr("Position (as executed)"), shortTime(account.executed[position]),
                         tr("All bubbles of this rank at this position, as executed."), true});
    if (known) {
        out.facts.push_back({tr("Position (consolidated)"), shortTime(observed),
                             tr("This rank and position after consolidation: ops are moved within their "
                                "slack, so idle time gathers where the closed form counts it."),
                             true});
        if (comparison.form != nullptr)
            out.facts.push_back(
                {tr("Expression"), fromUtf8(comparison.form->expression), fromUtf8(comparison.form->domain), true});
    }
    if (account.replay > TimeNs{0})
        out.facts.push_back({tr("Checked share of the rank's bubble"), exactTime(account.replay),
                             tr("The part used for checks; the remainder is idle."), true});
}

ItemDescription describeBubble(const Session& session, const ItemRef& item) {
    const StepAnalysis& analysis = session.analysis(item.step);
    const Bubble& bubble = session.bubble(item);
    const FormComparison comparison = compareWithForm(analysis, bubble);
    ItemDescription out;
    out.title = tr("Bubble %1").arg(positionText(analysis, bubble.position));
    addCause(out, session, item);
    addDuration(out, session, item);
    addForm(out, analysis, item.rank, bubble.position, comparison);
    addSimilarBubbles(out, session, item);
    addPlace(out, session, item);
    addEnds(out, session, item);
    out.note = comparisonNote(analysis, comparison);
    return out;
}

ItemDescription describeComm(const Session& session, const ItemRef& item) {
    const CommSpan& span = session.comm(item);
    ItemDescription out;
    out.title = commKindText(span);
    addPlace(out, session, item);
    const bool collective = span.kind == CommKind::Collective;
    if (!collective) {
        out.facts.push_back({span.kind == CommKind::Send ? tr("To rank") : tr("From rank"), number(span.peer.value),
                             tr("Rank at the other end of the transfer.")});
    }
    out.facts.push_back({tr("Micro-batch"), number(span.microbatch.value),
                         tr("Part of a batch that passes through the pipeline on its own.")});
    if (collective) {
        out.facts.push_back(
            {tr("Stage"), number(span.stage.value), tr("The ranks of this stage add up their partial results.")});
    } else {
        out.facts.push_back({tr("For stage"), number(span.stage.value), tr("Stage that consumes the data.")});
    }
    addTimes(out, session, item);
    return out;
}

QString view(std::string_view text) {
    return fromUtf8(text);
}

QString argText(const ArgValue& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return QString::number(*whole);
    if (const auto* real = std::get_if<double>(&value)) return QString::number(*real, 'g', 8);
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? QStringLiteral("true") : QStringLiteral("false");
    return fromUtf8(std::get<std::string>(value));
}

ItemDescription describeSlice(const Session& session, const ItemRef& item) {
    constexpr std::size_t kMaxArgs = 60;
    const Trace& trace = *session.run.trace;
    const SliceId slice = session.slice(item);
    ItemDescription out;
    out.title = view(trace.name(slice));
    if (!trace.category(slice).empty())
        out.facts.push_back({tr("Category"), view(trace.category(slice)), tr("Category recorded in the trace.")});
    if (const RawLane* lane = session.raw.laneOf(session.lanes.lineOf(item), trace.sliceTracks()[slice]))
        out.facts.push_back({tr("Lane"), lane->name(), tr("Thread or stream that ran the slice.")});
    addPlace(out, session, item);
    addTimes(out, session, item);
    const ItemRef op = opNear(session, session.lanes.lineOf(item), session.range(item).begin);
    if (op && session.range(op).contains(session.range(item).begin))
        out.facts.push_back({tr("Enclosing op"), fromUtf8(opName(session.op(op).op)), tr("Press [ to go there.")});
    for (const Arg& arg : trace.args(trace.sliceArgs()[slice])) {
        if (out.facts.size() == kMaxArgs) break;
        out.facts.push_back({fromUtf8(arg.name), argText(arg.value), {}});
    }
    return out;
}

std::vector<QString> checkLabels(const CheckRecord& check) {
    const QString op = fromUtf8(opName(check.op));
    switch (check.outcome) {
    case CheckOutcome::Equal: return {op + QStringLiteral(" ="), QStringLiteral("=")};
    case CheckOutcome::Mismatch: return {op + QStringLiteral(" ≠"), QStringLiteral("≠")};
    case CheckOutcome::Aborted:
    case CheckOutcome::Skipped: break;
    }
    return {op, {}};
}

ItemDescription describeCheck(const Session& session, const ItemRef& item) {
    const CheckRecord& check = session.check(item);
    ItemDescription out;
    out.title =
        tr("%1 of %2: %3").arg(checkKindText(check.kind), fromUtf8(opName(check.op)), checkOutcomeText(check.outcome));
    addPlace(out, session, item);
    out.facts.push_back({tr("Layer"), number(check.layer), tr("Index of the layer in the whole model.")});
    if (!check.tensor.empty())
        out.facts.push_back({tr("Tensor"), fromUtf8(check.tensor), tr("The tensor that was compared.")});
    addTimes(out, session, item);
    if (check.outcome == CheckOutcome::Mismatch) {
        out.facts.push_back({tr("Difference"), translated(differenceText(check)),
                             tr("Difference between the original and the repeated result.")});
        out.facts.push_back({tr("Verdict"), checkVerdictText(check.verdict), translated(verdictAdvice(check))});
        out.note = sentence(translated(verdictText(check)));
    }
    return out;
}

/// The replica whose step ends last.
const StepTimeline& slowestReplica(const Session& session, int place) {
    const StepTimeline* slowest = &session.step(place);
    for (const StepTimeline& step : session.run.steps) {
        if (step.index == slowest->index && step.end > slowest->end) slowest = &step;
    }
    return *slowest;
}

ItemDescription describeReplicaWait(const Session& session, const ItemRef& item) {
    const StepTimeline& slowest = slowestReplica(session, item.step);
    ItemDescription out;
    out.title = tr("Waiting for replica %1").arg(slowest.replica);
    addPlace(out, session, item);
    addTimes(out, session, item);
    out.facts.push_back({tr("Replica %1 takes").arg(session.step(item.step).replica),
                         exactTime(session.step(item.step).wall()),
                         tr("Time from the rank's first op in the step to its last.")});
    out.facts.push_back(
        {tr("Replica %1 takes").arg(slowest.replica), exactTime(slowest.wall()), tr("The slowest replica.")});
    out.note =
        tr("This replica's pipeline has ended. Gradients are exchanged once the slowest replica's pipeline has ended.");
    return out;
}

std::vector<QString> bubbleLabels(const Session& session, const ItemRef& item) {
    const Bubble& bubble = session.bubble(item);
    const QString own = shortTime(bubble.duration());
    const FormComparison comparison = compareWithForm(session.analysis(item.step), bubble);
    if (comparison.kind != FormComparison::Kind::Comparable) return {own};
    const QString form = shortTime(comparison.expected);
    return {tr("%1 · closed form %2").arg(own, form), own + QLatin1Char('\n') + tr("closed form %1").arg(form), own};
}

} // namespace

std::vector<QString> itemLabels(const Session& session, const ItemRef& item) {
    switch (item.kind) {
    case ItemKind::Op: {
        const Op& op = session.op(item).op;
        if (op.kind == OpKind::Optimizer) return {tr("optimizer"), QStringLiteral("O")};
        const QString microbatch = number(op.microbatch.value);
        if (session.step(item.step).vpp > 1) return {fromUtf8(opName(op)), microbatch};
        return {QChar::fromLatin1(opLetter(op.kind)) + microbatch, microbatch};
    }
    case ItemKind::Bubble: return bubbleLabels(session, item);
    case ItemKind::Comm: return {number(session.comm(item).microbatch.value)};
    case ItemKind::Check: return checkLabels(session.check(item));
    case ItemKind::ReplicaWait: {
        const QString time = shortTime(session.range(item).length());
        return {tr("waits for replica %1: %2").arg(slowestReplica(session, item.step).replica).arg(time), time};
    }
    case ItemKind::Slice:
    case ItemKind::None: break;
    }
    return {};
}

ItemDescription describe(const Session& session, const ItemRef& item) {
    switch (item.kind) {
    case ItemKind::Op: return describeOp(session, item);
    case ItemKind::Bubble: return describeBubble(session, item);
    case ItemKind::Comm: return describeComm(session, item);
    case ItemKind::Slice: return describeSlice(session, item);
    case ItemKind::Check: return describeCheck(session, item);
    case ItemKind::ReplicaWait: return describeReplicaWait(session, item);
    case ItemKind::None: break;
    }
    return {};
}

QString sharesText(const RoleTimes& shares, TimeNs length) {
    static constexpr std::array kNamed{
        std::pair(Role::Forward, OpKind::Forward), std::pair(Role::Backward, OpKind::Backward),
        std::pair(Role::BackwardInput, OpKind::BackwardInput), std::pair(Role::BackwardWeight, OpKind::BackwardWeight),
        std::pair(Role::Optimizer, OpKind::Optimizer)};
    std::vector<std::pair<TimeNs, QString>> parts;
    for (const auto& [role, kind] : kNamed)
        parts.emplace_back(shares[static_cast<std::size_t>(role)], opKindText(kind));
    parts.emplace_back(shares[static_cast<std::size_t>(Role::Send)], tr("waiting for transfers"));
    parts.emplace_back(shares[static_cast<std::size_t>(Role::Bubble)], tr("bubble"));
    parts.emplace_back(shares[static_cast<std::size_t>(Role::ReplicaWait)], tr("waiting for replicas"));
    std::ranges::stable_sort(parts, std::ranges::greater{}, [](const auto& part) { return part.first; });
    QStringList out;
    for (const auto& [time, name] : parts) {
        if (time > TimeNs{0} && length > TimeNs{0})
            out << QStringLiteral("%1 %2").arg(name, percent(fractionOf(time, length)));
    }
    return out.join(QStringLiteral(", "));
}

QString oneLine(const Session& session, const ItemRef& item) {
    const ItemDescription text = describe(session, item);
    QStringList parts{text.title};
    for (const Fact& fact : text.facts) {
        if (!fact.detail) parts << QStringLiteral("%1 %2").arg(fact.name, fact.value);
    }
    return parts.join(QStringLiteral("   "));
}

QString positionText(const StepAnalysis& analysis, Position position) {
    const bool f_then_b = analysis.form && analysis.form->f_then_b;
    // Translates names from core, which are also keys of reports.
    return QCoreApplication::translate("Position", std::string(positionName(position, f_then_b)).c_str());
}

QString checkKindText(CheckKind kind) {
    switch (kind) {
    case CheckKind::Replay: return tr("Replay");
    case CheckKind::KnownAnswer: return tr("Known answer");
    case CheckKind::Transfer: return tr("Comparison of sent and received data");
    case CheckKind::Replicas: return tr("Comparison of replicas");
    case CheckKind::Weights: return tr("Comparison of weights");
    case CheckKind::Elsewhere: break;
    }
    return tr("Replay by another rank");
}

QString checkOutcomeText(CheckOutcome outcome) {
    switch (outcome) {
    case CheckOutcome::Equal: return tr("equal");
    case CheckOutcome::Mismatch: return tr("mismatch");
    case CheckOutcome::Aborted: return tr("abandoned");
    case CheckOutcome::Skipped: break;
    }
    return tr("skipped");
}

QString checkVerdictText(Verdict verdict) {
    switch (verdict) {
    case Verdict::Open: return tr("open");
    case Verdict::Transient: return tr("transient");
    case Verdict::Device: return tr("device");
    case Verdict::Everywhere: break;
    }
    return tr("everywhere");
}

QString opKindText(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return tr("forward");
    case OpKind::Backward: return tr("backward");
    case OpKind::BackwardInput: return tr("backward for the input");
    case OpKind::BackwardWeight: return tr("backward for the weights");
    case OpKind::Optimizer: break;
    }
    return tr("optimizer");
}

} // namespace bubblescope::gui
