#include "core/report/svg/draw_trace.h"

#include "core/base/visible.h"
#include "core/formats/source/replacing_file.h"
#include "core/report/svg/axis.h"
#include "core/report/svg/frame.h"
#include "core/report/svg/row_boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <tuple>
#include <vector>

namespace bubblescope::svg {
namespace {

constexpr double kDepthHeight = 13; ///< height of one depth
constexpr double kBandGap = 5;
constexpr double kLabelRoom = 190; ///< maximum width, for the names of threads
constexpr double kSliceLabelSize = 9;
constexpr double kNarrowestSlice = 0.6; ///< pixels; narrower slices are merged

// They differ in hue and lightness; the choice of colour for a name has no meaning.
constexpr std::array<std::string_view, 8> kFills{"#2f6db5", "#f0b13c", "#b5e3cd", "#d9642f",
                                                 "#8fbbe8", "#574785", "#e8b4cb", "#4d8f6b"};

/// `text`, or its beginning with an ellipsis, no wider than `room`; empty if not even that fits.
std::string fitted(std::string_view text, double size, double room) {
    if (textWidth(text, size) <= room) return std::string(text);
    std::string cut;
    const double dots = textWidth("…", size);
    for (std::size_t end = 1; end <= text.size(); ++end) {
        if (end < text.size() && continuesCodePoint(text[end])) continue;
        if (textWidth(text.substr(0, end), size) + dots > room) break;
        cut = text.substr(0, end);
    }
    return cut.size() < 2 ? std::string{} : cut + "…";
}

class TraceDrawing {
public:
    TraceDrawing(const Trace& trace, const TraceDrawOptions& options) : trace_(trace), options_(options) {}

    Result<std::string> draw() {
        to_ = options_.to.value_or(trace_.span());
        if (options_.from < TimeNs{0} || to_ > kLatest || to_ <= options_.from) {
            return usageError(
                fmt::format("the time range to draw, {} to {}, is empty", shortTime(options_.from), shortTime(to_)),
                fmt::format("times are relative to the first event; the trace is {} long", shortTime(trace_.span())));
        }
        const std::vector<TrackId> shown = tracksInRange();
        if (shown.empty()) {
            return usageError(fmt::format("no slices between {} and {}", shortTime(options_.from), shortTime(to_)));
        }
        double names = 0;
        for (const TrackId track : shown)
            names = std::max(names, textWidth(threadName(track), kTextSize));
        plot_.x = kMargin + std::min(names, kLabelRoom) + 6;
        plot_.width = options_.width - kMargin - 4 - plot_.x;
        if (plot_.width < kLeastPlot)
            return usageError(fmt::format("a width of {} is too small", number(options_.width)));

        double y = kMargin;
        for (std::size_t i = 0; i < shown.size(); ++i) {
            if (i == 0 || processOf(shown[i]) != processOf(shown[i - 1])) y = heading(shown[i], y);
            y = band(shown[i], y);
        }
        y = drawAxis(body_, plot_, y, options_.from, to_, options_.width);
        const std::string title = fmt::format("{} to {}", shortTime(options_.from), shortTime(to_));
        return openDrawing(options_.width, y + 5, title) + body_.take() + "</svg>\n";
    }

private:
    using Process = std::tuple<std::uint32_t, StringId, std::int64_t>;

    /// Slices drawn as one rectangle.
    struct Piece {
        double left = 0;
        double right = 0;
        SliceId slice = kNoId; ///< the longest of them
        std::size_t count = 0;
    };

    [[nodiscard]] Process processOf(TrackId id) const {
        const Track& track = trace_.tracks()[id];
        return {track.file, track.process_name, track.pid};
    }

    [[nodiscard]] bool inRange(SliceId slice) const {
        return trace_.start(slice) < to_ && trace_.end(slice) >= options_.from;
    }

    /// Tracks of one process together, with rows that were split off after their thread.
    [[nodiscard]] std::vector<TrackId> tracksInRange() const {
        std::vector<TrackId> found;
        for (TrackId id = 0; id < trace_.tracks().size(); ++id) {
            const Track& track = trace_.tracks()[id];
            for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                if (!inRange(slice)) continue;
                found.push_back(id);
                break;
            }
        }
        std::ranges::stable_sort(found, {}, [this](TrackId id) {
            const TrackId home = trace_.tracks()[id].spilled_from;
            return std::tuple(processOf(id), home == kNoId ? id : home);
        });
        return found;
    }

    [[nodiscard]] std::string threadName(TrackId id) const {
        const Track& track = trace_.tracks()[id];
        const std::string_view name = trace_.text(track.thread_name);
        return name.empty() ? fmt::format("thread {}", track.tid) : std::string(name);
    }

    double heading(TrackId id, double y) {
        const Track& track = trace_.tracks()[id];
        const TraceFile& file = trace_.files()[track.file];
        const std::string_view name = trace_.text(track.process_name);
        std::string text = name.empty() ? fmt::format("process {}", track.pid) : std::string(name);
        if (file.rank) text = fmt::format("rank {}: {}", *file.rank, text);
        body_.text(kMargin, y + 12, fitted(text, kTextSize * 1.12, options_.width - 2 * kMargin),
                   R"(font-weight="bold")");
        return y + 18;
    }

    double band(TrackId id, double y) {
        const auto lines = linesOf(trace_.tracks()[id]);
        if (trace_.tracks()[id].spilled_from == kNoId)
            body_.text(kMargin, y + 10, fitted(threadName(id), kTextSize, kLabelRoom));
        for (const std::vector<Piece>& line : lines) {
            for (const Piece& piece : line)
                draw(piece, y);
            y += kDepthHeight;
        }
        return y + kBandGap;
    }

    /// The pieces of each depth, from left to right.
    [[nodiscard]] std::vector<std::vector<Piece>> linesOf(const Track& track) const {
        std::vector<std::vector<Piece>> lines;
        std::vector<TimeNs> open; // ends of the slices around this one, innermost last
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (trace_.start(slice) >= to_) break;
            while (!open.empty() && open.back() <= trace_.start(slice))
                open.pop_back();
            const std::size_t depth = open.size();
            open.push_back(trace_.end(slice));
            if (!inRange(slice)) continue;
            if (depth >= lines.size()) lines.resize(depth + 1);
            add({x(trace_.start(slice)), x(trace_.end(slice)), slice, 1}, lines[depth]);
        }
        return lines;
    }

    void add(Piece piece, std::vector<Piece>& line) const {
        const auto narrow = [](const Piece& one) { return one.right - one.left < kNarrowestSlice; };
        if (!line.empty() && narrow(piece) && (line.back().count > 1 || narrow(line.back())) &&
            piece.left < line.back().right + kNarrowestSlice && piece.right - line.back().left < 4 * kNarrowestSlice) {
            Piece& before = line.back();
            if (length(piece.slice) > length(before.slice)) before.slice = piece.slice;
            before.right = std::max(before.right, piece.right);
            ++before.count;
            return;
        }
        line.push_back(piece);
    }

    void draw(const Piece& piece, double y) {
        const std::string_view name = trace_.name(piece.slice);
        const std::string_view fill = kFills[std::hash<std::string_view>{}(name) % kFills.size()];
        const double width = std::max(kNarrowestSlice, piece.right - piece.left - 0.4);
        std::string title =
            fmt::format("{}, {} to {}", name, shortTime(trace_.start(piece.slice)), shortTime(trace_.end(piece.slice)));
        if (piece.count > 1) title += fmt::format(" and {} more", piece.count - 1);
        body_.rect({piece.left, y, width, kDepthHeight - 1}, title, fmt::format(R"(fill="{}")", fill));
        const std::string label = piece.count > 1 ? std::string{} : fitted(name, kSliceLabelSize, width - 4);
        if (label.empty()) return;
        body_.text(piece.left + 2, y + 9.3, label,
                   fmt::format(R"(font-size="{}" fill="{}" pointer-events="none")", kSliceLabelSize, textOn(fill)));
    }

    [[nodiscard]] TimeNs length(SliceId slice) const { return trace_.end(slice) - trace_.start(slice); }
    [[nodiscard]] double x(TimeNs time) const {
        const TimeNs inside = std::clamp(time, options_.from, to_);
        return plot_.x + plot_.width * static_cast<double>((inside - options_.from).count()) /
                             static_cast<double>((to_ - options_.from).count());
    }

    const Trace& trace_;
    const TraceDrawOptions& options_;
    TimeNs to_{0};
    Rect plot_; ///< area of the range from left to right
    Document body_;
};

} // namespace

Result<std::string> drawTrace(const Trace& trace, const TraceDrawOptions& options) {
    return TraceDrawing(trace, options).draw();
}

Status writeTrace(const std::filesystem::path& file, const Trace& trace, const TraceDrawOptions& options) {
    BUBBLESCOPE_ASSIGN(const std::string text, drawTrace(trace, options));
    ReplacingFile out(file);
    out.write(text);
    return out.commit();
}

} // namespace bubblescope::svg
