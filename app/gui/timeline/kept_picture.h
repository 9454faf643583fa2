#pragma once

#include <QImage>
#include <QRect>
#include <QSize>

#include <cstdint>
#include <functional>

class QPainter;

namespace bubblescope::gui {

/// The picture of a view without the parts that follow the mouse and the selection. It is kept while it stays the same,
/// so that only the parts above it must be drawn.
///
/// Copying a large picture into the window takes a third of the time of a frame. So a picture that changes from frame
/// to frame is painted directly into the window's memory, and painted again when it is needed unchanged. GUI thread
/// only.
class KeptPicture {
public:
    /// Draws it at the painter's origin. `version` is another one after each change. `whole`: nothing of it is clipped.
    /// `paint` is called when it has to be painted: all of an image of the size and ratio of the picture, which has 32
    /// bits per pixel.
    void draw(QPainter& painter, std::uint64_t version, const QSize& size, double device_pixel_ratio, bool whole,
              const std::function<void(QImage&)>& paint);

private:
    QImage image_;
    std::uint64_t kept_ = 0;    ///< the version that `image_` shows
    std::uint64_t last_ = 0;    ///< the version drawn last
    bool last_repeated_ = true; ///< whether that one was drawn more than once; so the first picture is kept
};

/// The names of rows as they were painted last. They stay the same while a view is zoomed or moved in time, and
/// painting the texts of a screen again takes a tenth of a frame. GUI thread only.
class KeptNames {
public:
    /// The corner of the column of names in a view, which reaches to the view's bottom, and its width, in logical
    /// pixels.
    KeptNames(const QPoint& corner, int width) : corner_(corner), width_(width) {}

    /// Copies the names into a view's image. False if they are not available: `version` differs after each change of
    /// their content or style. A painter may be active on the image.
    [[nodiscard]] bool show(QImage& image, std::uint64_t version) const;
    /// Keeps what an image shows. `version` is not 0.
    void keep(const QImage& image, std::uint64_t version);

private:
    [[nodiscard]] QRect columnIn(const QImage& image) const;

    QPoint corner_;
    int width_;
    QImage names_;
    QSize size_; ///< size of the image
    std::uint64_t version_ = 0;
};

/// Draws an image at the painter's origin: on all cores if nothing of it is clipped (`whole`) and the painter's device
/// is an image of the same kind, as a window's memory is. A picture of a large window takes some milliseconds to copy.
void drawPicture(QPainter& painter, const QImage& image, bool whole);

} // namespace bubblescope::gui
