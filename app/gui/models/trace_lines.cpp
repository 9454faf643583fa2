#include "app/gui/models/trace_lines.h"

#include "app/gui/language/text.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace bubblescope::gui {

namespace {

/// A rank or a process; processes whose number is a text are distinguished by that text.
using LineKey = std::tuple<std::uint32_t, std::int64_t, StringId>;

class LineBuilder {
public:
    explicit LineBuilder(const Trace& trace) : trace_(trace) {}

    std::vector<TraceLine> build() {
        addTracks();
        addCounters();
        std::ranges::stable_sort(
            lines_, {}, [](const TraceLine& line) { return std::pair(!line.rank.has_value(), line.rank.value_or(0)); });
        return std::move(lines_);
    }

private:
    TraceLine& lineOf(const Track& track) {
        const TraceFile& file = trace_.files()[track.file];
        const LineKey key = file.rank ? LineKey{track.file, -1, 0}
                                      : LineKey{track.file, track.pid, track.pid == 0 ? track.process_name : 0};
        const auto [known, fresh] = line_of_.try_emplace(key, lines_.size());
        if (fresh) {
            TraceLine line;
            line.rank = file.rank;
            line.process = lineText(trace_, track.process_name);
            line.pid = track.pid;
            if (trace_.files().size() > 1) line.file = QString::fromStdString(file.path.filename().string());
            lines_.push_back(std::move(line));
        }
        return lines_[known->second];
    }

    void addTracks() {
        const auto tracks = trace_.tracks();
        std::vector<TrackId> order(tracks.size());
        std::iota(order.begin(), order.end(), TrackId{0});
        std::ranges::stable_sort(order, {}, [&](TrackId id) {
            const TrackId origin = tracks[id].spilled_from;
            return std::tuple(tracks[id].file, tracks[id].process_order, tracks[id].thread_order,
                              origin == kNoId ? id : origin);
        });
        for (const TrackId id : order) {
            if (tracks[id].first_slice == tracks[id].end_slice) continue;
            TraceLine& line = lineOf(tracks[id]);
            line.tracks.push_back(id);
            addProcess(line, {tracks[id].file, tracks[id].pid});
        }
    }

    /// Counters of processes without slices get a separate line.
    void addCounters() {
        for (const CounterSeries& series : trace_.counters()) {
            if (series.times.empty()) continue;
            const std::pair process(series.file, series.pid);
            const auto has = [&](const TraceLine& line) {
                return std::ranges::find(line.processes, process) != line.processes.end();
            };
            if (std::ranges::any_of(lines_, has)) continue;
            Track track;
            std::tie(track.file, track.pid) = process;
            addProcess(lineOf(track), process);
        }
    }

    static void addProcess(TraceLine& line, const std::pair<std::uint32_t, std::int64_t>& process) {
        if (std::ranges::find(line.processes, process) == line.processes.end()) line.processes.push_back(process);
    }

    const Trace& trace_;
    std::vector<TraceLine> lines_;
    std::map<LineKey, std::size_t> line_of_;
};

} // namespace

QString lineText(const Trace& trace, StringId id) {
    const std::string_view view = trace.text(id);
    return fromUtf8(view).simplified();
}

QString TraceLine::name() const {
    if (rank) return tr("Rank %1").arg(*rank);
    const QString number = QString::number(pid);
    QString text = process;
    if (text.isEmpty()) {
        text = tr("Process %1").arg(number);
    } else if (pid != 0 && !text.contains(number)) {
        text = QStringLiteral("%1 (%2)").arg(text, number);
    }
    return file.isEmpty() ? text : QStringLiteral("%1: %2").arg(file, text);
}

std::vector<TraceLine> traceLines(const Trace& trace) {
    return LineBuilder(trace).build();
}

} // namespace bubblescope::gui
