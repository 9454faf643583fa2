#pragma once

#include <QImage>
#include <QSize>

#include <cstdint>
#include <functional>

class QPainter;

namespace bubblescope::gui {

/// The picture of a view below what follows the mouse and the selection. It is kept while it stays the same, so that
/// what lies over it can be drawn alone.
///
/// Copying a large picture into the window takes a third of the time of a frame. So a picture that changes from frame
/// to frame is painted straight into the window's memory, and once more when it is needed unchanged. GUI thread only.
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

/// Draws an image at the painter's origin: on all cores if nothing of it is clipped (`whole`) and the painter's device
/// is an image of the same kind, as a window's memory is. A picture of a large window takes some milliseconds to copy.
void drawPicture(QPainter& painter, const QImage& image, bool whole);

} // namespace bubblescope::gui
