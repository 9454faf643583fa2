#include "app/gui/timeline/kept_picture.h"

#include "core/base/parallel.h"

#include <QPaintEngine>
#include <QPainter>
#include <QSizeF>
#include <QTransform>

#include <algorithm>
#include <cstring>
#include <optional>

namespace bubblescope::gui {

namespace {

constexpr QImage::Format kFormat = QImage::Format_RGB32;

/// Memory of the painter's device at its origin, if the device is an image of this format whose pixels match a picture
/// of this size and ratio.
std::optional<QImage> memoryBelow(const QPainter& painter, const QSize& device_size, double ratio,
                                  QImage::Format format) {
    const QTransform at = painter.deviceTransform();
    const QPoint corner(qRound(at.dx()), qRound(at.dy()));
    if (at != QTransform(ratio, 0, 0, ratio, corner.x(), corner.y())) return std::nullopt;
    QPaintDevice* const device = painter.paintEngine()->paintDevice();
    if (device == nullptr || device->devType() != QInternal::Image) return std::nullopt;
    auto* const below = static_cast<QImage*>(device);
    if (below->format() != format || !below->isDetached() || !below->rect().contains(QRect(corner, device_size)))
        return std::nullopt;
    uchar* const first = below->bits() + corner.y() * below->bytesPerLine() + corner.x() * below->depth() / 8;
    QImage part(first, device_size.width(), device_size.height(), below->bytesPerLine(), format);
    part.setDevicePixelRatio(ratio);
    return part;
}

} // namespace

void drawPicture(QPainter& painter, const QImage& image, bool whole) {
    std::optional<QImage> below;
    if (whole) below = memoryBelow(painter, image.size(), image.devicePixelRatio(), image.format());
    if (!below) return painter.drawImage(0, 0, image);
    constexpr int kLines = 64;
    const uchar* const from = image.constBits();
    uchar* const to = below->bits();
    const auto bytes = static_cast<std::size_t>(image.width()) * static_cast<std::size_t>(image.depth() / 8);
    parallelFor(static_cast<std::size_t>((image.height() + kLines - 1) / kLines), [&](std::size_t part) {
        const int begin = static_cast<int>(part) * kLines;
        for (int y = begin; y < std::min(image.height(), begin + kLines); ++y)
            std::memcpy(to + y * below->bytesPerLine(), from + y * image.bytesPerLine(), bytes);
    });
}

void KeptPicture::draw(QPainter& painter, std::uint64_t version, const QSize& size, double ratio, bool whole,
                       const std::function<void(QImage&)>& paint) {
    const QSize device_size = (QSizeF(size) * ratio).toSize();
    const bool repeated = version == last_;
    // If the last version was needed twice, this one may also be, because users alternate between turning the wheel and
    // moving the mouse.
    const bool needed_once = !repeated && !last_repeated_;
    last_ = version;
    last_repeated_ = repeated;
    if (kept_ != version || image_.size() != device_size || image_.devicePixelRatio() != ratio) {
        if (needed_once && whole) {
            if (std::optional<QImage> below = memoryBelow(painter, device_size, ratio, kFormat)) return paint(*below);
        }
        if (image_.size() != device_size) image_ = QImage(device_size, kFormat);
        image_.setDevicePixelRatio(ratio);
        paint(image_);
        kept_ = version;
    }
    drawPicture(painter, image_, whole);
}

/// In device pixels; empty if its edges are not on device pixels.
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
