#include "core/optimize/overlap/stream_chart.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope::overlap {
namespace {

/// One row of the chart.
class Row {
public:
    Row(TimeNs end, int width) : text_(static_cast<std::size_t>(width), '.'), end_(end) {}

    void draw(TimeNs start, TimeNs end, const std::string& name, char rest) {
        const std::size_t first = column(start);
        const std::size_t last = std::max(column(end), std::min(first + 1, text_.size()));
        for (std::size_t i = first; i < last; ++i)
            text_[i] = i - first < name.size() ? name[i - first] : rest;
    }

    [[nodiscard]] const std::string& text() const { return text_; }

private:
    [[nodiscard]] std::size_t column(TimeNs time) const {
        const double share = static_cast<double>(time.count()) / static_cast<double>(end_.count());
        return static_cast<std::size_t>(share * static_cast<double>(text_.size()) + 0.5);
    }

    std::string text_;
    TimeNs end_;
};

} // namespace

std::string streamChart(const Plan& plan, const PlanRun& run, int width) {
    if (run.end().count() == 0) return {};
    Row compute(run.end(), width);
    Row link(run.end(), width);
    PerPass<int> pieces{};
    auto span = run.spans.begin();
    for (const Piece& piece : plan.pieces) {
        const std::string name =
            fmt::format("{}{}", piece.pass == Pass::Backward ? 'B' : 'F', pieces[passIndex(piece.pass)]++);
        // Adjacent ops of a piece are drawn as one.
        TimeNs start{-1};
        TimeNs end{0};
        const auto flush = [&] {
            if (start.count() >= 0) compute.draw(start, end, name, '-');
            start = TimeNs{-1};
        };
        for (int i = piece.first; i < piece.end; ++i, ++span) {
            const Operator& op = plan.of(piece.pass)[static_cast<std::size_t>(i)];
            if (op.all_reduce) {
                link.draw(span->start, span->end, name, '=');
                if (op.own_stream) continue;
                flush();
                compute.draw(span->start, span->end, "", '=');
            } else {
                if (start.count() >= 0 && span->start > end) flush();
                if (start.count() < 0) start = span->start;
                end = span->end;
            }
        }
        flush();
    }
    return fmt::format("compute    |{}|\nall-reduce |{}|\n", compute.text(), link.text());
}

} // namespace bubblescope::overlap
