#include "app/gui/models/item_copy.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/rows.h"
#include "core/analysis/anomalies/occurrence.h"
#include "core/base/shell_word.h"

#include <fmt/format.h>

#include <QJsonDocument>
#include <QJsonObject>
#include <QStringList>

namespace bubblescope::gui {

namespace {

QString filesOf(const Session& session) {
    QStringList words;
    for (const auto& file : session.run.files)
        words << fromUtf8(shellWord(std::filesystem::path(file).string()));
    return words.join(QLatin1Char(' '));
}

QString toText(const QJsonObject& object) {
    return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Indented));
}

QJsonValue jsonOf(const ArgValue& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<qint64>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag;
    return fromUtf8(std::get<std::string>(value));
}

void addOp(QJsonObject& object, const Op& op) {
    object[QStringLiteral("op")] = fromUtf8(opName(op));
    if (op.kind == OpKind::Optimizer) return;
    object[QStringLiteral("microbatch")] = op.microbatch.value;
    object[QStringLiteral("chunk")] = op.chunk.value;
}

void addComm(QJsonObject& object, const CommSpan& span) {
    object[QStringLiteral("payload")] =
        span.payload == Payload::Activation ? QStringLiteral("activation") : QStringLiteral("gradient");
    object[QStringLiteral("microbatch")] = span.microbatch.value;
    object[QStringLiteral("stage")] = span.stage.value;
    object[QStringLiteral("peer")] = span.peer.value;
}

QString kindName(const Session& session, const ItemRef& item) {
    switch (item.kind) {
    case ItemKind::Op: return QStringLiteral("op");
    case ItemKind::Bubble: return QStringLiteral("bubble");
    case ItemKind::Check: return QStringLiteral("check");
    case ItemKind::Slice: return QStringLiteral("slice");
    case ItemKind::ReplicaWait: return QStringLiteral("replica_wait");
    case ItemKind::Comm:
        switch (session.comm(item).kind) {
        case CommKind::Send: return QStringLiteral("send");
        case CommKind::Receive: return QStringLiteral("receive");
        case CommKind::Wait: return QStringLiteral("wait");
        case CommKind::Collective: return QStringLiteral("collective");
        }
        break;
    case ItemKind::None: break;
    }
    return {};
}

} // namespace

QString copyAsText(const Session& session, const ItemRef& item) {
    if (item.kind == ItemKind::Bubble && session.lacksDiagnosis(item.step)) (void)session.diagnosis(item.step);
    const ItemDescription text = describe(session, item);
    QStringList lines{text.title};
    for (const Fact& fact : text.facts)
        lines << QStringLiteral("%1: %2").arg(fact.name, fact.value);
    if (!text.note.isEmpty()) lines << text.note;
    return lines.join(QLatin1Char('\n'));
}

QString copyAsJson(const Session& session, const ItemRef& item) {
    if (!item) return {};
    const TimeRange range = session.range(item);
    QJsonObject object{
        {QStringLiteral("kind"), kindName(session, item)},
        {QStringLiteral("start_ns"), static_cast<qint64>((range.begin - session.originOf(item.step)).count())},
        {QStringLiteral("duration_ns"), static_cast<qint64>(range.length().count())}};
    const int line = session.lanes.lineOf(item);
    if (const auto rank = session.rankOf(line)) object[QStringLiteral("rank")] = *rank;
    if (session.hasSteps()) {
        object[QStringLiteral("replica")] = session.step(item.step).replica;
        object[QStringLiteral("step")] = session.step(item.step).index;
    } else {
        object[QStringLiteral("process")] = lineName(session, line);
    }
    switch (item.kind) {
    case ItemKind::Op:
        addOp(object, session.op(item).op);
        object[QStringLiteral("stage")] =
            session.step(item.step).stageOf(Rank{item.rank}, session.op(item).op.chunk).value;
        break;
    case ItemKind::Bubble:
        object[QStringLiteral("position")] = fromUtf8(std::string(positionName(session.bubble(item).position, false)));
        break;
    case ItemKind::Comm: addComm(object, session.comm(item)); break;
    case ItemKind::Check: addOp(object, session.check(item).op); break;
    case ItemKind::Slice: {
        const Trace& trace = *session.run.trace;
        const SliceId slice = session.slice(item);
        object[QStringLiteral("name")] = fromUtf8(std::string(trace.name(slice)));
        if (!trace.category(slice).empty())
            object[QStringLiteral("category")] = fromUtf8(std::string(trace.category(slice)));
        if (const RawLane* lane = session.raw.laneOf(line, trace.sliceTracks()[slice]))
            object[QStringLiteral("lane")] = lane->name();
        if (trace.isOpen(slice)) object[QStringLiteral("never_ended")] = true;
        QJsonObject args;
        for (const Arg& arg : trace.args(trace.sliceArgs()[slice]))
            args[fromUtf8(arg.name)] = jsonOf(arg.value);
        if (!args.isEmpty()) object[QStringLiteral("args")] = args;
        break;
    }
    case ItemKind::ReplicaWait:
    case ItemKind::None: break;
    }
    return toText(object);
}

QString copyAsCommand(const Session& session, const ItemRef& item) {
    if (!session.hasSteps()) return QStringLiteral("bubblescope-gui %1").arg(filesOf(session));
    const StepTimeline& step = session.step(item.step);
    QString command = QStringLiteral("bubblescope-gui %1 --step %2").arg(filesOf(session)).arg(step.index);
    if (item.kind == ItemKind::Op || item.kind == ItemKind::Bubble || item.kind == ItemKind::Check)
        command += QStringLiteral(" --select %1@%2ns")
                       .arg(item.rank)
                       .arg(static_cast<qlonglong>((session.range(item).begin - step.begin).count()));
    return command;
}

QString commandThatAnalyzes(const Session& session, const Taught& taught) {
    QString command = QStringLiteral("bubblescope analyze %1").arg(filesOf(session));
    for (const RankRule& rule : taught.ranks)
        command +=
            QStringLiteral(" --rank-of %1").arg(fromUtf8(shellWord(fmt::format("{}={}", rule.pattern, rule.rank))));
    if (!taught.family) return command;
    command += QStringLiteral(" --schedule %1").arg(fromUtf8(taught.family->name));
    const auto add = [&](const char* option, int size) {
        if (size > 0) command += QStringLiteral(" %1 %2").arg(QString::fromLatin1(option)).arg(size);
    };
    add("--pp", taught.family->pp);
    add("--microbatches", taught.family->microbatches);
    add("--vpp", taught.family->vpp);
    return command;
}

QString copyAsText(const Anomaly& anomaly) {
    QStringList lines{sentence(translated(anomaly.message))};
    if (const Sentence seen = occurrenceText(anomaly.seen); !seen.empty()) lines << sentence(translated(seen));
    if (!anomaly.suggestion.empty()) lines << sentence(translated(anomaly.suggestion));
    return lines.join(QLatin1Char('\n'));
}

QString copyAsJson(const Anomaly& anomaly) {
    QJsonObject object{{QStringLiteral("kind"), fromUtf8(std::string(anomalyKindName(anomaly.kind)))},
                       {QStringLiteral("severity"), fromUtf8(std::string(severityName(anomaly.severity)))},
                       {QStringLiteral("message"), fromUtf8(anomaly.message.text())},
                       {QStringLiteral("suggestion"), fromUtf8(anomaly.suggestion.text())},
                       {QStringLiteral("cost_ns"), static_cast<qint64>(anomaly.cost.count())}};
    if (anomaly.rank) object[QStringLiteral("rank")] = anomaly.rank->value;
    if (anomaly.peer) object[QStringLiteral("peer")] = anomaly.peer->value;
    if (anomaly.replica) object[QStringLiteral("replica")] = *anomaly.replica;
    if (anomaly.step) object[QStringLiteral("step")] = *anomaly.step;
    if (anomaly.op) addOp(object, *anomaly.op);
    for (const auto& [name, value] : anomaly.evidence)
        object[fromUtf8(name)] = value;
    return toText(object);
}

QString copyAsCommand(const Session& session, const Anomaly& anomaly) {
    const QString files = filesOf(session);
    const std::string shows = commandThatShows(session.step(0), anomaly, files.toStdString());
    return shows.empty() ? QStringLiteral("bubblescope anomalies %1").arg(files) : fromUtf8(shows);
}

} // namespace bubblescope::gui
