#include "app/gui/timeline/kept_names.h"

#include <QSizeF>

#include <cstring>

namespace bubblescope::gui {

/// In device pixels; empty where its edges are not on them.
QRect KeptNames::columnIn(const QImage& image) const {
    const double ratio = image.devicePixelRatio();
    const QPoint corner = (QPointF(corner_) * ratio).toPoint();
    const int width = qRound(width_ * ratio);
    if (QPointF(corner) != QPointF(corner_) * ratio || width != width_ * ratio) return {};
    return QRect(corner, QSize(width, image.height() - corner.y())) & image.rect();
}

bool KeptNames::show(QImage& image, std::uint64_t version) const {
    if (version != version_ || image.size() != size_ || image.format() != names_.format() ||
        image.devicePixelRatio() != names_.devicePixelRatio())
        return false;
    const QRect column = columnIn(image);
    const auto bytes = static_cast<std::size_t>(column.width()) * static_cast<std::size_t>(image.depth() / 8);
    uchar* const to = image.bits() + column.left() * (image.depth() / 8);
    for (int y = 0; y < column.height(); ++y)
        std::memcpy(to + (column.top() + y) * image.bytesPerLine(), names_.constScanLine(y), bytes);
    return true;
}

void KeptNames::keep(const QImage& image, std::uint64_t version) {
    const QRect column = columnIn(image);
    version_ = column.isEmpty() ? 0 : version;
    if (column.isEmpty()) return;
    names_ = image.copy(column);
    size_ = image.size();
}

} // namespace bubblescope::gui
