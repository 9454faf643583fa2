#pragma once

#include <QImage>
#include <QRect>
#include <QSize>

#include <cstdint>
#include <functional>

class QPainter;

namespace bubblescope::gui {

/// The picture of a view without the parts that follow the mouse and the selection. It is kept while it does not
/// change, so that only the parts above it must be drawn.
///
/// Copying a large picture into the window takes a third of a frame's time. A picture that changes from frame to frame
/// is therefore painted directly into the window's memory, and painted again when it is needed unchanged. GUI thread
/// only.
class KeptPicture {
public:
    /// Draws it at the painter's origin. `version` must differ after each change. `whole` is true if no part of it is
    /// clipped. `paint` is called when it has to be painted. It must fill an image of the picture's size and ratio with
    /// 32 bits per pixel.
    void draw(QPainter& painter, std::uint64_t version, const QSize& size, double device_pixel_ratio, bool whole,
              const std::function<void(QImage&)>& paint);

private:
    QImage image_;
    std::uint64_t kept_ = 0;    ///< the version that `image_` shows
    std::uint64_t last_ = 0;    ///< the version drawn last
    bool last_repeated_ = true; ///< true if it was drawn more than once; true at first, to keep the first picture
};

/// The names of rows as painted last. They do not change while a view is zoomed or panned, and repainting a screenful
/// of text would take a tenth of a frame. GUI thread only.
class KeptNames {
public:
    /// The top left corner of the column of names in a view, and its width, in logical pixels. The column reaches to
    /// the view's bottom.
    KeptNames(const QPoint& corner, int width) : corner_(corner), width_(width) {}

    /// Copies the names into a view's image. Returns false if they are not available; `version` must differ after each
    /// change of their content or style. A painter may be active on the image.
    [[nodiscard]] bool show(QImage& image, std::uint64_t version) const;
    /// Keeps the names shown in an image. `version` must not be 0.
    void keep(const QImage& image, std::uint64_t version);

private:
    [[nodiscard]] QRect columnIn(const QImage& image) const;

    QPoint corner_;
    int width_;
    QImage names_;
    QSize size_; ///< size of the image
    std::uint64_t version_ = 0;
};

/// Draws an image at the painter's origin. It uses all cores if no part is clipped (`whole`) and the painter's device
/// is an image of the same kind, such as a window's memory. Copying a picture of a large window takes several
/// milliseconds.
void drawPicture(QPainter& painter, const QImage& image, bool whole);

} // namespace bubblescope::gui
