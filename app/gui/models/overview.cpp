#include "app/gui/models/overview.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

Overview::Overview(const Lanes& lanes) : extent_(lanes.extent()) {
    if (lanes.lineCount() == 0 || extent_.length() <= TimeNs{0}) return;
    pieces_.resize(kPieces);
    const double weight = 1.0 / static_cast<double>(lanes.lineCount());
    for (std::size_t line = 0; line < lanes.lineCount(); ++line) {
        add(lanes.lane(line, LaneKind::Compute), &Piece::busy, weight);
        add(lanes.lane(line, LaneKind::Bubble), &Piece::bubble, weight);
    }
}

void Overview::add(const Lane& lane, float Piece::*share, double weight) {
    const double length = static_cast<double>(extent_.length().count()) / static_cast<double>(kPieces);
    const auto place = [&](TimeNs time) { return static_cast<double>((time - extent_.begin).count()) / length; };
    TimeNs covered = TimeNs::min(); // spans of one line may overlap: pairs
    for (const Span& span : lane.spans()) {
        const double from = place(std::max(span.start, covered));
        const double to = place(span.end);
        covered = std::max(covered, span.end);
        if (to <= from) continue;
        const auto first = static_cast<std::size_t>(std::max(0.0, from));
        const auto last = std::min(kPieces - 1, static_cast<std::size_t>(std::max(0.0, to)));
        for (std::size_t i = first; i <= last; ++i) {
            const double left = std::max(from, static_cast<double>(i));
            const double right = std::min(to, static_cast<double>(i + 1));
            pieces_[i].*share += static_cast<float>(std::max(0.0, right - left) * weight);
        }
    }
}

Overview::Piece Overview::mean(double from, double to) const {
    Piece sum;
    if (pieces_.empty()) return sum;
    const auto count = static_cast<double>(kPieces);
    const auto first = static_cast<std::size_t>(std::clamp(std::floor(from * count), 0.0, count - 1));
    const auto end = std::clamp(static_cast<std::size_t>(std::max(0.0, std::ceil(to * count))), first + 1, kPieces);
    for (std::size_t i = first; i < end; ++i) {
        sum.busy += pieces_[i].busy;
        sum.bubble += pieces_[i].bubble;
    }
    const auto pieces = static_cast<float>(end - first);
    return {sum.busy / pieces, sum.bubble / pieces};
}

} // namespace bubblescope::gui
