#include "app/gui/timeline/ghost_geometry.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

QString labelOf(const Op& op, int vpp) {
    if (op.kind == OpKind::Optimizer) return QStringLiteral("O");
    if (vpp > 1) return QString::fromStdString(opName(op));
    return QChar::fromLatin1(opLetter(op.kind)) + QString::number(op.microbatch.value);
}

} // namespace

std::vector<TimelineShape> buildGhostShapes(const GeometryInput& input, const Ghost& ghost) {
    std::vector<TimelineShape> shapes;
    const LaneBand& band = input.rows.ghost();
    if (band.height == 0) return shapes;
    const double pixel = 1 / input.device_pixel_ratio;
    const auto snap = [&](TimeNs time) {
        const double x = std::clamp(input.scale.x(time), -pixel, input.scale.width + pixel);
        return std::round(x * input.device_pixel_ratio) / input.device_pixel_ratio;
    };
    for (int rank = 0; rank < static_cast<int>(ghost.timeline.ranks.size()); ++rank) {
        const int row = input.rows.rowOf(input.session.lanes.lineOf(ghost.step, rank));
        if (row < 0) continue;
        const double top = input.rows.rowTop(row) + band.top - input.scroll_y;
        if (top >= input.height || top + band.height <= 0) continue;
        const auto& ops = ghost.timeline.ranks[static_cast<std::size_t>(rank)];
        auto op = std::ranges::lower_bound(ops, input.scale.range.begin, {}, &TimelineOp::end);
        double drawn_to = -1;
        for (; op != ops.end() && op->start < input.scale.range.end; ++op) {
            const double left = std::max(0.0, snap(op->start));
            const double right = std::min(input.scale.width, std::max(left + pixel, snap(op->end)));
            if (right <= drawn_to || right <= left) continue;
            drawn_to = right;
            TimelineShape shape;
            shape.rect = {left, top, right - left, static_cast<double>(band.height)};
            shape.role = roleOf(op->op.kind);
            shape.chunk = op->op.chunk.value;
            const QString label = labelOf(op->op, ghost.timeline.vpp);
            if (input.text_size(label).width() + kLabelPadding <= shape.rect.width()) shape.label = label;
            shapes.push_back(std::move(shape));
        }
    }
    return shapes;
}

} // namespace bubblescope::gui
