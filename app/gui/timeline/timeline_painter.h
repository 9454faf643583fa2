#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "app/gui/timeline/geometry.h"
#include "app/gui/timeline/pixel_canvas.h"

#include <QFont>
#include <QRect>

#include <optional>

class QPainter;

namespace bubblescope::gui {

/// Dimensions of the timeline's frame, in logical pixels.
inline constexpr int kHeaderWidth = 148; ///< width of the rank names
inline constexpr int kStepBandHeight = 20;
inline constexpr int kTickBandHeight = 22;
inline constexpr int kRulerHeight = kStepBandHeight + kTickBandHeight;

/// All data for drawing one image of the timeline. The references must outlive the call.
struct TimelineFrame {
    const Theme& theme;
    const Session& session;
    const GeometryInput& geometry;
    QRect plot;   ///< area to the right of the header and below the ruler
    int step = 0; ///< index in Run::steps of the current step
    QFont font;
    std::optional<MeshAxis> group{}; ///< axis along which rows are grouped
    bool names = true;               ///< true if row names must be painted; false if they come from a cache
    const std::vector<bool>* marked_names = nullptr; ///< see ViewState::markedNames(); null if nothing is marked
    bool pinned = false;                             ///< true for the pinned rows, which are drawn on top of the others
    int caption_top = 0;                             ///< top of the captions for the complete view, below the ruler
    PixelCanvas* pixels = nullptr;                   ///< pixels of the image; null for vector formats
    LabelCache* labels = nullptr;                    ///< for text in `font`; null for vector formats
    LabelCache* smaller = nullptr;                   ///< for text in smallFont(font); null for vector formats

    /// True if triangles for folding rows are drawn; exported pictures omit them.
    [[nodiscard]] bool controls() const { return pixels != nullptr; }
};

/// A visible step; all replicas of a step share one span.
struct StepSpan {
    int number = 0;
    TimeRange window;
    bool current = false;
};
[[nodiscard]] std::vector<StepSpan> stepSpans(const TimelineFrame& frame);

inline constexpr double kTickRoom = 96; ///< minimum number of pixels between labelled ticks

/// Font for secondary texts.
[[nodiscard]] QFont smallFont(QFont font);

/// Draws the shapes from geometry.h without antialiasing, because their edges are aligned with device pixels.
class TimelinePainter {
public:
    TimelinePainter(QPainter& painter, const TimelineFrame& frame);

    /// Paints everything except selection and hover.
    void paintBase();
    void paintOverlay(const ItemRef& selection, const ItemRef& hover, const std::vector<Highlight>& highlights);

private:
    void paintRuler();
    void paintStepBand();
    void paintHeader();
    void paintNames();
    [[nodiscard]] bool fitsBubbleWords() const;
    void paintRankHeader(int row, const QRect& area, bool words);
    void paintTitles();
    void paintPins();
    void paintLaneNames(int top, const QRect& area);
    void paintHighlight(const Highlight& highlight);

    QPainter& p_;
    const TimelineFrame& f_;
    QFont small_;
    QFont bold_;
};

/// Origin of the times in the ruler: the start of the current step if the view is not much longer than a step,
/// otherwise the start of the first step.
[[nodiscard]] TimeNs rulerOrigin(const Session& session, int step, const TimeRange& visible);
[[nodiscard]] bool countsInStep(const Session& session, int step, const TimeRange& visible);

} // namespace bubblescope::gui
