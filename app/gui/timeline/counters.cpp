#include "app/gui/timeline/counters.h"

#include "app/gui/language/text.h"
#include "app/gui/models/session_queries.h"
#include "core/cost/memory_model.h"

#include <QLocale>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace bubblescope::gui {

namespace {

/// A forward op holds two units; if the backward is split, its first part frees one of them.
constexpr std::int64_t kHalves = 2;

void addValue(CounterLane& lane, TimeNs time, double value) {
    if (!lane.times.empty() && lane.times.back() >= time) {
        // If two values have the same time, the later one applies, but the maximum includes both.
        lane.maximum = std::max(lane.maximum, value);
        lane.minimum = std::min(lane.minimum, value);
        lane.values.back() = value;
        return;
    }
    lane.times.push_back(time);
    lane.values.push_back(value);
    lane.maximum = std::max(lane.maximum, value);
    lane.minimum = std::min(lane.minimum, value);
}

CounterLane heldActivations(const Session& session, std::size_t line) {
    const auto rank = static_cast<std::size_t>(session.lanes.rankOf(static_cast<int>(line)));
    CounterLane lane;
    lane.name = tr("activations");
    StageMemory stage;
    stage.activations = {kHalves, 1, 1};
    for (int place = 0; place < session.stepCount(); ++place) {
        const StepTimeline& step = session.step(place);
        const bool here = session.lanes.lineOf(place, static_cast<int>(rank)) == static_cast<int>(line);
        if (!here || rank >= step.ranks.size() || (!lane.times.empty() && step.begin < lane.times.back())) continue;
        const MemoryModel model{
            std::vector<StageMemory>(static_cast<std::size_t>(step.pp) * static_cast<std::size_t>(step.vpp), stage),
            {}};
        for (const MemoryPoint& point : memoryCurve(step, Rank{rank}, model))
            addValue(lane, point.time, static_cast<double>(point.bytes) / kHalves);
    }
    return lane;
}

CounterLane traceCounter(const Trace& trace, const CounterSeries& series, const ClockFit& clock) {
    CounterLane lane;
    const std::string_view name = trace.text(series.name);
    lane.name = fromUtf8(name).simplified();
    for (std::size_t i = 0; i < series.times.size(); ++i)
        addValue(lane, clock.toReference(series.times[i]), series.values[i]);
    return lane;
}

bool countsBytes(const QString& name) {
    static const std::array kOfBytes{QLatin1String("byte"), QLatin1String("memory"), QLatin1String("allocated"),
                                     QLatin1String("reserved")};
    return std::ranges::any_of(kOfBytes, [&](QLatin1String word) { return name.contains(word, Qt::CaseInsensitive); });
}

/// Stores the op at the maximum of a memory counter.
void nameMaximum(CounterLane& lane, const Session& session, int line) {
    const auto highest = std::ranges::max_element(lane.values);
    if (highest == lane.values.end() || !countsBytes(lane.name)) return;
    const TimeNs time = lane.times[static_cast<std::size_t>(highest - lane.values.begin())];
    const int rank = session.lanes.rankOf(line);
    for (int place = 0; place < session.stepCount(); ++place) {
        const StepTimeline& step = session.step(place);
        const bool here = rank >= 0 && static_cast<std::size_t>(rank) < step.ranks.size() &&
                          session.lanes.lineOf(place, rank) == line;
        if (!here || time < step.begin || time > step.end) continue;
        const auto& ops = step.ranks[static_cast<std::size_t>(rank)];
        const auto op = std::ranges::find_if(ops, [time](const TimelineOp& each) { return each.end > time; });
        if (op != ops.end()) lane.maximum_op = QString::fromStdString(opName(op->op));
        return;
    }
}

} // namespace

double CounterValues::at(TimeNs time) const {
    const auto next = std::ranges::upper_bound(times, time);
    return next == times.begin() ? 0 : values[static_cast<std::size_t>(next - times.begin()) - 1];
}

std::vector<double> CounterValues::columnMaxima(const TimeScale& scale, double ratio) const {
    const auto columns = static_cast<std::size_t>(std::max<long long>(1, std::llround(scale.width * ratio)));
    std::vector<double> maxima(columns, std::numeric_limits<double>::quiet_NaN());
    const auto column = [&](TimeNs time) {
        const double x = std::clamp(scale.x(time), 0.0, scale.width);
        return std::min(columns - 1, static_cast<std::size_t>(x * ratio));
    };
    auto i = static_cast<std::size_t>(std::ranges::upper_bound(times, scale.range.begin) - times.begin());
    if (i > 0) --i; // the previous value still applies at the start
    for (; i < times.size() && times[i] < scale.range.end; ++i) {
        const TimeNs end = i + 1 < times.size() ? times[i + 1] : scale.range.end;
        const std::size_t last = column(std::min(end, scale.range.end) - TimeNs{1});
        for (std::size_t at = column(times[i]); at <= last; ++at)
            maxima[at] = std::fmax(maxima[at], values[i]);
    }
    return maxima;
}

std::vector<QRectF> barsOf(const std::vector<double>& heights, double device_pixel_ratio, double bottom) {
    std::vector<QRectF> bars;
    const double pixel = 1 / device_pixel_ratio;
    for (std::size_t begin = 0; begin < heights.size();) {
        std::size_t end = begin + 1;
        while (end < heights.size() && heights[end] == heights[begin])
            ++end;
        if (heights[begin] > 0)
            bars.emplace_back(static_cast<double>(begin) * pixel, bottom - heights[begin],
                              static_cast<double>(end - begin) * pixel, heights[begin]);
        begin = end;
    }
    return bars;
}

Result<std::shared_ptr<const CounterLanes>> CounterLanes::build(const SessionPtr& session, const JobControl& control) {
    auto lanes = std::make_shared<CounterLanes>();
    lanes->lines_.resize(session->lanes.lineCount());
    for (std::size_t line = 0; line < lanes->lines_.size(); ++line) {
        if (control.stopRequested()) return cancelledError();
        CounterLane held = heldActivations(*session, line);
        if (held.maximum > 0) lanes->lines_[line].push_back(std::make_shared<CounterLane>(std::move(held)));
    }
    const Run& run = session->run;
    if (run.trace == nullptr) return std::shared_ptr<const CounterLanes>(std::move(lanes));
    const std::vector<CounterLine> places = counterLines(*session);
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (control.stopRequested()) return cancelledError();
        if (places[i].line < 0) continue;
        CounterLane lane = traceCounter(*run.trace, run.trace->counters()[i], places[i].clock);
        nameMaximum(lane, *session, places[i].line);
        lanes->lines_[static_cast<std::size_t>(places[i].line)].push_back(
            std::make_shared<CounterLane>(std::move(lane)));
    }
    return std::shared_ptr<const CounterLanes>(std::move(lanes));
}

QString counterText(double value, const QString& name) {
    const bool bytes = countsBytes(name);
    const double size = std::abs(value);
    const double step = bytes ? 1024 : 1000;
    static constexpr std::array kBytes{"B", "KiB", "MiB", "GiB", "TiB"};
    static constexpr std::array kLarge{"", "k", "M", "G", "T"};
    std::size_t unit = 0;
    if (bytes || size >= 1e5) { // smaller counts get no unit prefix
        for (double rest = size; rest >= step && unit + 1 < kBytes.size(); rest /= step)
            ++unit;
    }
    const double scaled = value / std::pow(step, static_cast<double>(unit));
    const QString number = QLocale().toString(scaled, 'g', unit > 0 ? 4 : 5);
    const QString suffix = QString::fromLatin1(bytes ? kBytes[unit] : kLarge[unit]);
    return suffix.isEmpty() ? number : QStringLiteral("%1 %2").arg(number, suffix);
}

std::shared_ptr<const CounterLanes> CounterLanes::named(const RowFilter& filter) const {
    auto shown = std::make_shared<CounterLanes>(*this);
    for (std::vector<LanePtr>& lanes : shown->lines_)
        std::erase_if(lanes, [&filter](const LanePtr& lane) { return !filter.acceptsTrack(lane->name); });
    return shown;
}

const std::vector<CounterLanes::LanePtr>& CounterLanes::of(int line) const {
    static const std::vector<LanePtr> none;
    const auto at = static_cast<std::size_t>(line);
    return line < 0 || at >= lines_.size() ? none : lines_[at];
}

std::vector<CounterShape> buildCounterShapes(const GeometryInput& input, const CounterLanes& counters) {
    std::vector<CounterShape> shapes;
    for (int row = 0; row < input.rows.rowCount(); ++row) {
        for (int place = 0; place < input.rows.counterCount(row); ++place) {
            const double top = input.rows.counterTop(row, place) - input.scroll_y;
            if (top >= input.height || top + RowLayout::kCounterHeight <= 0) continue;
            const CounterLane& lane = *counters.of(input.rows.lineAt(row))[static_cast<std::size_t>(place)];
            if (lane.maximum <= lane.minimum) continue;
            std::vector<double> heights = lane.over().columnMaxima(input.scale, input.device_pixel_ratio);
            for (double& height : heights) {
                const double above = (height - lane.minimum) / (lane.maximum - lane.minimum);
                const double share = std::isnan(height) ? 0 : std::min(1.0, above);
                height = share > 0 ? std::max(1.0, std::round(share * RowLayout::kCounterHeight)) : 0;
            }
            for (const QRectF& bar : barsOf(heights, input.device_pixel_ratio, top + RowLayout::kCounterHeight))
                shapes.push_back({bar, row, place});
        }
    }
    return shapes;
}

std::optional<CounterPlace> counterAt(const GeometryInput& input, const CounterLanes& counters, double x, double y) {
    const int content_y = static_cast<int>(std::floor(y)) + input.scroll_y;
    const int row = input.rows.rowAt(content_y);
    for (int place = 0; row >= 0 && place < input.rows.counterCount(row); ++place) {
        const int top = input.rows.counterTop(row, place);
        if (content_y < top || content_y >= top + RowLayout::kCounterHeight) continue;
        return CounterPlace{counters.of(input.rows.lineAt(row))[static_cast<std::size_t>(place)].get(),
                            input.scale.time(x)};
    }
    return std::nullopt;
}

} // namespace bubblescope::gui
