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

/// Sizes of the timeline's frame, in logical pixels.
inline constexpr int kHeaderWidth = 148; ///< rank names
inline constexpr int kStepBandHeight = 20;
inline constexpr int kTickBandHeight = 22;
inline constexpr int kRulerHeight = kStepBandHeight + kTickBandHeight;

/// Everything needed to draw one image of the timeline. References must outlive the call.
struct TimelineFrame {
    const Theme& theme;
    const Session& session;
    const GeometryInput& geometry;
    QRect plot;   ///< right of the header, below the ruler
    int step = 0; ///< the current step, as an index in Run::steps
    QFont font;
    std::optional<MeshAxis> group{}; ///< axis along which rows are grouped
    bool names = true;               ///< true if the names of rows must be painted; otherwise they already have been
    const std::vector<bool>* marked_names = nullptr; ///< see ViewState::markedNames(); null if nothing is marked
    bool pinned = false;                             ///< true for the part with the pinned rows, which is drawn on top
    int caption_top = 0;                             ///< below the ruler: top of the captions about the whole view
    PixelCanvas* pixels = nullptr;                   ///< pixels of the image being painted; null for vector formats
    LabelCache* labels = nullptr;                    ///< for text in `font` …
    LabelCache* smaller = nullptr; ///< … and in smallFont(font); null for vector formats, where texts stay texts

    /// True if there are triangles to click on, which pictures do not have.
    [[nodiscard]] bool controls() const { return pixels != nullptr; }
};

/// A visible step; the replicas of a step have one span.
struct StepSpan {
    int number = 0;
    TimeRange window;
    bool current = false;
};
[[nodiscard]] std::vector<StepSpan> stepSpans(const TimelineFrame& frame);

inline constexpr double kTickRoom = 96; ///< pixels between labelled ticks

/// The font for secondary texts.
[[nodiscard]] QFont smallFont(QFont font);

/// Draws the shapes from geometry.h. No antialiasing, because edges are on device pixels.
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
    void paintGroups();
    void paintLineNames();
    void paintPins();
    void paintLaneNames(int top, const QRect& area);
    void paintHighlight(const Highlight& highlight);

    QPainter& p_;
    const TimelineFrame& f_;
    QFont small_;
    QFont bold_;
};

/// The origin of the ruler's times: the start of the current step if the view is not much longer than a step, otherwise
/// the start of the first step.
[[nodiscard]] TimeNs rulerOrigin(const Session& session, int step, const TimeRange& visible);
[[nodiscard]] bool countsInStep(const Session& session, int step, const TimeRange& visible);

} // namespace bubblescope::gui
