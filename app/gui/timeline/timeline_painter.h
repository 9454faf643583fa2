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
    int step = 0; ///< the current one, as an index in Run::steps
    QFont font;
    std::optional<MeshAxis> group{}; ///< along which rows are grouped
    bool names = true;               ///< whether to paint the names of rows; else they are already painted
    const std::vector<bool>* marked_names = nullptr; ///< see ViewState::markedNames(); null if nothing is marked
    bool pinned = false;                             ///< whether this is the part with the pinned rows, drawn on top
    int caption_top = 0;                             ///< below the ruler: the top for captions about the whole
    PixelCanvas* pixels = nullptr;                   ///< pixels of the image being painted; null for vector formats
    LabelCache* labels = nullptr;                    ///< for `font` …
    LabelCache* smaller = nullptr; ///< … and for smallFont(font); without them texts stay texts, for vector formats

    /// Pictures have no triangles to click on.
    [[nodiscard]] bool controls() const { return pixels != nullptr; }
};

/// A visible step; replicas of one have one span.
struct StepSpan {
    int number = 0;
    TimeRange window;
    bool current = false;
};
[[nodiscard]] std::vector<StepSpan> stepSpans(const TimelineFrame& frame);

inline constexpr double kTickRoom = 96; ///< pixels between labelled ticks

/// For secondary texts.
[[nodiscard]] QFont smallFont(QFont font);

/// Draws the shapes from geometry.h. No antialiasing: edges are on device pixels.
class TimelinePainter {
public:
    TimelinePainter(QPainter& painter, const TimelineFrame& frame);

    /// All but selection and hover.
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

/// The origin of the ruler's times: the begin of the current step in views not much longer than a step, otherwise that
/// of the first step.
[[nodiscard]] TimeNs rulerOrigin(const Session& session, int step, const TimeRange& visible);
[[nodiscard]] bool countsInStep(const Session& session, int step, const TimeRange& visible);

} // namespace bubblescope::gui
