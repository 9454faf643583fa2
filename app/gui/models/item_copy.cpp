#include "app/gui/models/item_copy.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/rows.h"
#include "core/analysis/anomalies/occurrence.h"
#include "core/base/shell_word.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <QJsonDocument>
#include <QJsonObject>
#include <QStringList>

#include <algorithm>
#include <iterator>
#include <utility>

namespace bubblescope::gui {

namespace {

/// Words of a command for the files and for reading them; empty without files.
std::string inputOf(const Session& session) {
    std::vector<std::string> words;
    for (const auto& path : session.source.paths.empty() ? session.run.files : session.source.paths)
        words.push_back(path.string());
    if (words.empty()) return {};
    if (!session.source.rules.empty()) words.insert(words.end(), {"--rules", "-"});
    std::ranges::move(session.source.request.words(), std::back_inserter(words));
    std::ranges::transform(words, words.begin(), shellWord);
    return fmt::format("{}", fmt::join(words, " "));
}

/// Options that describe the model and its devices.
std::vector<std::string> wordsOf(const ModelUseRequest& use) {
    std::vector<std::string> words;
    const auto add = [&words](const char* option, const auto& value) {
        words.insert(words.end(), {option, fmt::format("{}", value)});
    };
    const ModelRequest& model = use.model;
    if (!model.preset.empty()) add("--preset", model.preset);
    for (const auto& [option, size] : {std::pair("--layers", model.layers),
                                       {"--hidden", model.hidden},
                                       {"--heads", model.heads},
                                       {"--kv-heads", model.kv_heads},
                                       {"--ffn", model.ffn},
                                       {"--sequence", model.sequence},
                                       {"--vocabulary", model.vocabulary},
                                       {"--head-size", model.head_size},
                                       {"--experts", model.experts},
                                       {"--top-k", model.top_k},
                                       {"--expert-ffn", model.expert_ffn},
                                       {"--shared-ffn", model.shared_ffn},
                                       {"--dense-layers", model.dense_layers}}) {
        if (size) add(option, *size);
    }
    if (use.global_batch > 0) add("--global-batch", use.global_batch);
    if (!use.device.empty()) add("--gpu", use.device);
    if (use.teraflops) add("--tflops", *use.teraflops);
    if (use.devices) add("--gpus", *use.devices);
    return words;
}

/// Appends the text that the command reads from standard input.
QString complete(std::string command, const Session& session) {
    if (!session.source.rules.empty()) command += fmt::format(" <<'RULES'\n{}\nRULES", session.source.rules);
    return fromUtf8(command);
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
        object[QStringLiteral("position")] = fromUtf8(positionName(session.bubble(item).position, false));
        break;
    case ItemKind::Comm: addComm(object, session.comm(item)); break;
    case ItemKind::Check: addOp(object, session.check(item).op); break;
    case ItemKind::Slice: {
        const Trace& trace = *session.run.trace;
        const SliceId slice = session.slice(item);
        object[QStringLiteral("name")] = fromUtf8(trace.name(slice));
        if (!trace.category(slice).empty()) object[QStringLiteral("category")] = fromUtf8(trace.category(slice));
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
    const std::string input = inputOf(session);
    if (input.empty()) return {};
    std::string command = "bubblescope-gui " + input;
    if (!session.hasSteps()) return complete(command, session);
    const StepTimeline& step = session.step(item.step);
    command += fmt::format(" --step {}", step.index);
    if (item.kind == ItemKind::Op || item.kind == ItemKind::Bubble || item.kind == ItemKind::Check)
        command += fmt::format(" --select {}@{}ns", item.rank, (session.range(item).begin - step.begin).count());
    return complete(command, session);
}

QString commandThatAnalyzes(const Session& session, const ModelUseRequest& model) {
    const std::string input = inputOf(session);
    if (input.empty()) return {};
    std::vector<std::string> words = wordsOf(model);
    for (const ThresholdInfo& info : thresholdTable()) {
        const double value = session.thresholds.*info.value;
        if (value != Thresholds{}.*info.value)
            words.insert(words.end(), {"--threshold", fmt::format("{}={}", info.name, value)});
    }
    std::string command = "bubblescope analyze " + input;
    for (const std::string& word : words)
        command += " " + shellWord(word);
    return complete(command, session);
}

QString copyAsText(const Anomaly& anomaly) {
    QStringList lines{sentence(translated(anomaly.message))};
    if (const Sentence seen = occurrenceText(anomaly.seen); !seen.empty()) lines << sentence(translated(seen));
    if (!anomaly.suggestion.empty()) lines << sentence(translated(anomaly.suggestion));
    return lines.join(QLatin1Char('\n'));
}

QString copyAsJson(const Anomaly& anomaly) {
    QJsonObject object{{QStringLiteral("kind"), fromUtf8(anomalyKindName(anomaly.kind))},
                       {QStringLiteral("severity"), fromUtf8(severityName(anomaly.severity))},
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
    const std::string input = inputOf(session);
    if (input.empty()) return {};
    std::string shows;
    // `analyze` is the only command with findings that accepts a schedule.
    if (!session.source.request.schedule.given()) shows = commandThatShows(session.step(0), anomaly, input);
    return complete(shows.empty() ? "bubblescope analyze " + input : shows, session);
}

} // namespace bubblescope::gui
