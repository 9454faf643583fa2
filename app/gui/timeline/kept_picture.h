#pragma once

#include <QImage>
#include <QRect>
#include <QSize>

#include <cstdint>
#include <functional>

class QPainter;

namespace bubblescope::gui {

/// Cached image of a view, without the parts that depend on the mouse and the selection. While the image is unchanged,
/// only these parts have to be drawn on top of it.
///
/// Copying a large image into the window takes a third of the frame time. An image that changes in every frame is
/// therefore painted directly into the memory of the window, and painted into the cache only when the same image is
/// needed again. GUI thread only.
class KeptPicture {
public:
    /// Draws the image at the painter's origin. `version` must differ for different content. `whole` is true if no part
    /// of the image is clipped. If the image has to be painted, `paint` is called and must fill an image of the given
    /// size and pixel ratio with 32 bits per pixel.
    void draw(QPainter& painter, std::uint64_t version, const QSize& size, double device_pixel_ratio, bool whole,
              const std::function<void(QImage&)>& paint);

private:
    QImage image_;
    std::uint64_t kept_ = 0;    ///< version of the content in `image_`
    std::uint64_t last_ = 0;    ///< the version drawn last
    bool last_repeated_ = true; ///< true if the last image was repeated; initially true, to cache the first image
};

/// Cached image of the row names. The names do not change while a view is zoomed or panned, and painting a full screen
/// of text would take 10 % of the frame time. GUI thread only.
class KeptNames {
public:
    /// `corner` is the top left corner of the column of names in a view, and `width` is the width of the column, in
    /// logical pixels. The column extends to the bottom of the view.
    KeptNames(const QPoint& corner, int width) : corner_(corner), width_(width) {}

    /// Copies the names into the image of a view. Returns false if this `version` is not cached. The version must
    /// change when content or style changes. A painter may be active on the image.
    [[nodiscard]] bool show(QImage& image, std::uint64_t version) const;
    /// Caches the names from an image. `version` must not be 0.
    void keep(const QImage& image, std::uint64_t version);

private:
    [[nodiscard]] QRect columnIn(const QImage& image) const;

    QPoint corner_;
    int width_;
    QImage names_;
    QSize size_; ///< size of the image
    std::uint64_t version_ = 0;
};

/// Draws an image at the painter's origin. Uses all cores if no part is clipped (`whole`) and the painter's device is
/// an image in the same format, such as the memory of a window. With a single core, this takes several milliseconds for
/// a large window.
void drawPicture(QPainter& painter, const QImage& image, bool whole);

} // namespace bubblescope::gui
