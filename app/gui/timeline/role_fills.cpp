#include "app/gui/timeline/role_fills.h"

#include <QPaintEngine>
#include <QPainter>
#include <QPen>
#include <QPixmapCache>
#include <QString>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr int kHatchSize = 8;
constexpr int kHatchRepeats = 32;

} // namespace

QPixmap hatchTile(const Theme& theme, double ratio) {
    const QString key =
        QStringLiteral("hatch %1 %2 %3").arg(theme.bubble_background.rgba()).arg(theme.bubble_hatch.rgba()).arg(ratio);
    if (QPixmap known; QPixmapCache::find(key, &known)) return known;
    const int size = static_cast<int>(std::lround(kHatchSize * ratio));
    // The pixmap repeats the tile horizontally, because the raster engine copies one line of a tile at a time, and long
    // lines are much faster.
    QPixmap tile(size * kHatchRepeats, size);
    tile.fill(theme.bubble_background);
    QPainter painter(&tile);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.bubble_hatch, 1.2 * ratio));
    // Also draws beyond the edges, so that lines continue across the borders of tiles.
    for (int shift = -size; shift <= size * kHatchRepeats; shift += size)
        painter.drawLine(shift, size, shift + size, 0);
    painter.end();
    tile.setDevicePixelRatio(ratio);
    QPixmapCache::insert(key, tile);
    return tile;
}

void fillHatched(QPainter& painter, const QRectF& rect, const Theme& theme, double device_pixel_ratio) {
    if (painter.paintEngine()->type() == QPaintEngine::Raster)
        return painter.fillRect(rect, QBrush(hatchTile(theme, device_pixel_ratio)));
    painter.fillRect(rect, theme.bubble_background);
    painter.fillRect(rect, QBrush(theme.bubble_hatch, Qt::BDiagPattern));
}

RoleFills::RoleFills(const Theme& theme, int chunks, double ratio)
    : theme_(theme), chunks_(chunks), hatch_(hatchTile(theme, ratio).toImage().convertToFormat(QImage::Format_RGB32)) {
    for (std::size_t role = 0; role < kRoleCount; ++role) {
        for (int chunk = -1; chunk < std::max(1, chunks); ++chunk)
            colours_[role].push_back(colour(static_cast<Role>(role), chunk));
    }
}

QRgb RoleFills::colour(Role role, int chunk) const {
    const std::vector<QRgb>& known = colours_[static_cast<std::size_t>(role)];
    const auto at = static_cast<std::size_t>(chunk + 1);
    return at < known.size() ? known[at] : theme_.fill(role, chunk, isOpRole(role) ? chunks_ : 1).rgb();
}

void RoleFills::stack(PixelCanvas& pixels, const StackPiece& piece, int bottom) const {
    for (const Role role : kStackOrder) {
        const int height = piece.height(role);
        if (height == 0) continue;
        fill(pixels, {piece.begin, bottom - height, piece.end, bottom}, role, piece.chunk);
        bottom -= height;
    }
}

QRgb RoleFills::mixed(const StackPiece& piece, int height) const {
    std::array<int, 3> sum{};
    int left = height;
    const auto add = [&](QRgb part, int pixels) {
        sum[0] += qRed(part) * pixels;
        sum[1] += qGreen(part) * pixels;
        sum[2] += qBlue(part) * pixels;
        left -= pixels;
    };
    for (const Role role : kStackOrder) {
        if (const int pixels = piece.height(role); pixels > 0)
            add(role == Role::Bubble ? theme_.bubble_background.rgb() : colour(role, piece.chunk), pixels);
    }
    if (left > 0) add(theme_.timeline.rgb(), left);
    const auto mean = [&](std::size_t i) { return (sum[i] + height / 2) / height; };
    return qRgb(mean(0), mean(1), mean(2));
}

void RoleFills::blend(ColumnBand& band, PixelCanvas& pixels, const StackPiece& piece, int bottom, int height) const {
    if (const std::optional<Role> role = piece.only(height))
        return whole(band, pixels, {piece.begin, bottom - height, piece.end, bottom}, *role, piece.chunk);
    if (piece.busy() + piece.idle() > 0) band.put(piece.begin, piece.end, height, mixed(piece, height));
}

void RoleFills::whole(ColumnBand& band, PixelCanvas& pixels, const PixelBox& box, Role role, int chunk) const {
    if (role != Role::Bubble && box.right - box.left < ColumnBand::kNarrow)
        return band.put(box.left, box.right, box.bottom - box.top, colour(role, chunk));
    band.put(box.left, box.right, 0, 0); // hides everything below it
    fill(pixels, box, role, chunk);
}

} // namespace bubblescope::gui
