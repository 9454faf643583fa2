#pragma once

#include "app/gui/theme/theme.h"
#include "core/base/time.h"

#include <QAbstractScrollArea>
#include <QRectF>
#include <QString>

#include <cstdint>
#include <functional>
#include <vector>

namespace bubblescope::gui {

/// A frame of a flame graph. Its width is proportional to the time; the enclosing frame is drawn above it.
struct FlameFrame {
    QString name;
    std::uint32_t key = 0; ///< determines the colour
    int parent = -1;       ///< index of an earlier frame; −1 for the root, which is first
    TimeNs time{0};
};

/// Draws stacks as frames, the outermost frame at the top. A click selects a frame. A double click zooms in until the
/// frame fills the width; a double click on an enclosing frame zooms out. Arrow keys move from frame to frame. Frames
/// narrower than a pixel are not drawn.
class FlameGraph : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit FlameGraph(ThemeManager& themes, QWidget* parent = nullptr);

    using Colour = std::function<QColor(const Theme&, std::uint32_t key)>;
    using ToolTip = std::function<QString(int frame)>;
    void setLook(Colour colour, ToolTip tool_tip);
    void setFrames(std::vector<FlameFrame> frames);
    [[nodiscard]] const std::vector<FlameFrame>& frames() const { return frames_; }
    /// Zooms until the frame fills the width.
    void zoomTo(int frame);
    [[nodiscard]] int zoomed() const { return zoomed_; }
    /// Selects a frame; −1 clears the selection.
    void setCurrent(int frame);
    [[nodiscard]] int current() const { return current_; }
    /// Rectangle of the frame in viewport coordinates; empty if the frame is not drawn.
    [[nodiscard]] QRectF rectOf(int frame) const;

signals:
    /// Emitted when a frame is clicked; −1 for a click outside all frames.
    void chosen(int frame);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void layOut();
    [[nodiscard]] int frameAt(const QPointF& position) const;
    [[nodiscard]] int neighbour(int key) const;

    ThemeManager& themes_;
    Colour colour_;
    ToolTip tool_tip_;
    std::vector<FlameFrame> frames_;
    std::vector<QRectF> rects_; ///< relative to the top of the first row; empty if the frame is not drawn
    int zoomed_ = 0;
    int current_ = -1;
};

} // namespace bubblescope::gui
