#include "app/gui/plain/plain_queries.h"

#include "app/gui/language/text.h"

#include <QCoreApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStringList>

#include <algorithm>
#include <unordered_map>

namespace bubblescope::gui {

namespace {

struct PlainQueryText {
    Q_DECLARE_TR_FUNCTIONS(PlainTrace)
};

/// Adds the slices of one lane to a table.
class LaneSum {
public:
    LaneSum(const Trace& trace, TimeRange range, std::unordered_map<StringId, AreaName>& names, AreaTable& table)
        : trace_(trace), range_(range), names_(names), table_(table) {}

    void add(SliceId slice) {
        const TimeRange part{std::max(trace_.start(slice), range_.begin), std::min(trace_.end(slice), range_.end)};
        while (!open_.empty() && trace_.end(open_.back()) <= trace_.start(slice))
            open_.pop_back();
        const TimeNs length = std::max(TimeNs{0}, part.length());
        if (open_.empty()) {
            table_.busy += length;
        } else {
            names_[trace_.sliceNames()[open_.back()]].self -= length;
        }
        open_.push_back(slice);
        AreaName& name = names_[trace_.sliceNames()[slice]];
        ++name.count;
        ++table_.slices;
        name.total += length;
        name.self += length;
        if (name.longest_slice != kNoId && length <= name.longest) return;
        name.longest = length;
        name.longest_slice = slice;
    }

private:
    const Trace& trace_;
    TimeRange range_;
    std::unordered_map<StringId, AreaName>& names_;
    AreaTable& table_;
    std::vector<SliceId> open_;
};

QString linesOf(const std::vector<PlainFact>& facts) {
    QStringList lines;
    for (const PlainFact& fact : facts)
        lines << QStringLiteral("%1: %2").arg(fact.name, fact.value);
    return lines.join(QLatin1Char('\n'));
}

QString jsonText(const QJsonObject& object) {
    return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Indented));
}

QJsonValue jsonOf(const ArgValue& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<qint64>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag;
    return fromUtf8(std::get<std::string>(value));
}

/// Adds the process and, of a lane alone, its name.
void addPlace(QJsonObject& object, const PlainTrace& plain, int first_lane, int end_lane) {
    const PlainLane& lane = plain.lanes()[static_cast<std::size_t>(first_lane)];
    object[QStringLiteral("process")] = plain.processes()[static_cast<std::size_t>(lane.process)].name;
    if (end_lane == first_lane + 1) object[QStringLiteral("lane")] = lane.name;
}

std::int64_t slicesOn(const PlainTrace& plain, const PlainArea& lanes) {
    std::int64_t slices = 0;
    for (int at = lanes.first_lane; at < lanes.end_lane; ++at) {
        const PlainLane& lane = plain.lanes()[static_cast<std::size_t>(at)];
        if (lane.isCounter()) continue;
        const Track& track = plain.trace().tracks()[lane.track];
        slices += static_cast<std::int64_t>(track.end_slice - track.first_slice);
    }
    return slices;
}

} // namespace

Result<AreaTable> tableOf(const PlainTrace& plain, const PlainArea& area, const JobControl& control) {
    AreaTable table;
    table.area = area;
    if (area.empty()) return table;
    const Trace& trace = plain.trace();
    std::unordered_map<StringId, AreaName> names;
    StopCheck stop(control);
    for (int at = area.first_lane; at < area.end_lane; ++at) {
        const PlainLane& lane = plain.lanes()[static_cast<std::size_t>(at)];
        if (lane.isCounter()) continue;
        const auto before = table.slices;
        LaneSum sum(trace, area.range, names, table);
        for (const SliceId slice : plain.pyramid().slices(lane.track, area.range.begin, area.range.end)) {
            if (stop.requested()) return cancelledError();
            sum.add(slice);
        }
        if (table.slices > before) ++table.lanes;
    }
    for (auto& [id, name] : names) {
        name.name = id;
        table.names.push_back(name);
    }
    std::ranges::sort(table.names, [](const AreaName& a, const AreaName& b) {
        return std::pair(b.total, a.name) < std::pair(a.total, b.name);
    });
    return table;
}

Result<std::vector<SliceId>> slicesNamed(const PlainTrace& plain, const QString& text, const JobControl& control) {
    std::vector<SliceId> out;
    const QString wanted = text.trimmed();
    if (wanted.isEmpty()) return out;
    const Trace& trace = plain.trace();
    StopCheck stop_names(control, 1U << 10);
    std::vector<bool> fits(trace.strings().size());
    for (std::size_t id = 0; id < fits.size(); ++id) {
        if (stop_names.requested()) return cancelledError();
        const std::string_view name = trace.text(static_cast<StringId>(id));
        fits[id] =
            QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())).contains(wanted, Qt::CaseInsensitive);
    }
    StopCheck stop(control);
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (stop.requested()) return cancelledError();
        if (fits[trace.sliceNames()[slice]]) out.push_back(slice);
    }
    return out;
}

Result<SliceLikes> likesOf(const PlainTrace& plain, SliceId slice, const JobControl& control) {
    const Trace& trace = plain.trace();
    const StringId name = trace.sliceNames()[slice];
    std::vector<std::int64_t> times;
    StopCheck stop(control);
    for (SliceId other = 0; other < trace.sliceCount(); ++other) {
        if (stop.requested()) return cancelledError();
        if (trace.sliceNames()[other] == name) times.push_back(trace.sliceDurations()[other]);
    }
    std::ranges::sort(times);
    const auto at = [&](double part) {
        return TimeNs{times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))]};
    };
    return SliceLikes{static_cast<std::int64_t>(times.size()), at(0.5), at(0.99), at(1)};
}

QString plainArgText(const ArgValue& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return QString::number(*whole);
    if (const auto* real = std::get_if<double>(&value)) return QString::number(*real, 'g', 8);
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? QStringLiteral("true") : QStringLiteral("false");
    return fromUtf8(std::get<std::string>(value));
}

std::vector<PlainFact> factsOf(const PlainTrace& plain, SliceId slice) {
    constexpr std::size_t kMostFacts = 80;
    const Trace& trace = plain.trace();
    const auto view = [](std::string_view text) {
        return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
    };
    std::vector<PlainFact> out;
    out.push_back({PlainQueryText::tr("Name"), view(trace.name(slice))});
    if (!trace.category(slice).empty()) out.push_back({PlainQueryText::tr("Category"), view(trace.category(slice))});
    const int lane = plain.laneOf(trace.sliceTracks()[slice]);
    if (lane >= 0) {
        const PlainLane& of = plain.lanes()[static_cast<std::size_t>(lane)];
        out.push_back({PlainQueryText::tr("Process"), plain.processes()[static_cast<std::size_t>(of.process)].name});
        out.push_back({PlainQueryText::tr("Lane"), of.name});
    }
    out.push_back({PlainQueryText::tr("Start"), exactTime(trace.start(slice))});
    const QString duration = exactTime(trace.end(slice) - trace.start(slice));
    out.push_back({PlainQueryText::tr("Duration"),
                   trace.isOpen(slice) ? PlainQueryText::tr("%1 (never ended)").arg(duration) : duration});
    for (const Arg& arg : trace.args(trace.sliceArgs()[slice])) {
        if (out.size() == kMostFacts) break;
        out.push_back({fromUtf8(arg.name), plainArgText(arg.value)});
    }
    return out;
}

QString copyAsText(const PlainTrace& plain, SliceId slice) {
    return linesOf(factsOf(plain, slice));
}

QString copyAsJson(const PlainTrace& plain, SliceId slice) {
    const Trace& trace = plain.trace();
    QJsonObject object{
        {QStringLiteral("kind"), QStringLiteral("slice")},
        {QStringLiteral("name"), fromUtf8(std::string(trace.name(slice)))},
        {QStringLiteral("start_ns"), static_cast<qint64>(trace.start(slice).count())},
        {QStringLiteral("duration_ns"), static_cast<qint64>((trace.end(slice) - trace.start(slice)).count())}};
    if (trace.isOpen(slice)) object[QStringLiteral("never_ended")] = true;
    if (!trace.category(slice).empty())
        object[QStringLiteral("category")] = fromUtf8(std::string(trace.category(slice)));
    if (const int lane = plain.laneOf(trace.sliceTracks()[slice]); lane >= 0) addPlace(object, plain, lane, lane + 1);
    QJsonObject args;
    for (const Arg& arg : trace.args(trace.sliceArgs()[slice]))
        args[fromUtf8(arg.name)] = jsonOf(arg.value);
    if (!args.isEmpty()) object[QStringLiteral("args")] = args;
    return jsonText(object);
}

PlainArea areaOfLanes(const PlainTrace& plain, int first_lane, int end_lane) {
    const Trace& trace = plain.trace();
    TimeRange range{plain.extent().end, TimeNs{0}};
    for (int at = first_lane; at < end_lane; ++at) {
        const PlainLane& lane = plain.lanes()[static_cast<std::size_t>(at)];
        if (lane.isCounter()) continue;
        const Track& track = trace.tracks()[lane.track];
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice)
            range = {std::min(range.begin, trace.start(slice)), std::max(range.end, trace.end(slice))};
    }
    return {range.length() > TimeNs{0} ? range : plain.extent(), first_lane, end_lane};
}

QString copyAsText(const PlainTrace& plain, const PlainArea& lanes) {
    const PlainLane& lane = plain.lanes()[static_cast<std::size_t>(lanes.first_lane)];
    std::vector<PlainFact> facts{
        {PlainQueryText::tr("Process"), plain.processes()[static_cast<std::size_t>(lane.process)].name}};
    if (lanes.end_lane == lanes.first_lane + 1) facts.push_back({PlainQueryText::tr("Lane"), lane.name});
    facts.push_back({PlainQueryText::tr("Slices"), QString::number(slicesOn(plain, lanes))});
    facts.push_back({PlainQueryText::tr("Start"), exactTime(lanes.range.begin)});
    facts.push_back({PlainQueryText::tr("Duration"), exactTime(lanes.range.length())});
    return linesOf(facts);
}

QString copyAsJson(const PlainTrace& plain, const PlainArea& lanes) {
    QJsonObject object{{QStringLiteral("kind"), QStringLiteral("lanes")},
                       {QStringLiteral("slices"), static_cast<qint64>(slicesOn(plain, lanes))},
                       {QStringLiteral("start_ns"), static_cast<qint64>(lanes.range.begin.count())},
                       {QStringLiteral("duration_ns"), static_cast<qint64>(lanes.range.length().count())}};
    addPlace(object, plain, lanes.first_lane, lanes.end_lane);
    return jsonText(object);
}

} // namespace bubblescope::gui
