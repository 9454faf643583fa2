#include "app/gui/plain/plain_queries.h"

#include "app/gui/language/text.h"

#include <QCoreApplication>

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
    out.push_back({PlainQueryText::tr("Duration"), exactTime(trace.end(slice) - trace.start(slice))});
    for (const Arg& arg : trace.args(trace.sliceArgs()[slice])) {
        if (out.size() == kMostFacts) break;
        out.push_back({fromUtf8(arg.name), plainArgText(arg.value)});
    }
    return out;
}

} // namespace bubblescope::gui
