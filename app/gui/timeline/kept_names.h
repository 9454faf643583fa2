#pragma once

#include <QImage>
#include <QRect>

#include <cstdint>

namespace bubblescope::gui {

/// The names of rows as they were painted last. They stay the same while a view is zoomed or moved in time, and to
/// paint the texts of a screen anew takes a tenth of a frame. GUI thread only.
class KeptNames {
public:
    /// The corner of the column of names in a view, which reaches to the view's bottom, and its width, in logical
    /// pixels.
    KeptNames(const QPoint& corner, int width) : corner_(corner), width_(width) {}

    /// Copies the names into a view's image. False unless they are known: `version` is another one after each change of
    /// what they show or look like. A painter may be active on the image.
    [[nodiscard]] bool show(QImage& image, std::uint64_t version) const;
    /// Keeps what an image shows. `version` is not 0.
    void keep(const QImage& image, std::uint64_t version);

private:
    [[nodiscard]] QRect columnIn(const QImage& image) const;

    QPoint corner_;
    int width_;
    QImage names_;
    QSize size_; ///< of the image
    std::uint64_t version_ = 0;
};

} // namespace bubblescope::gui
