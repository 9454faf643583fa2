#pragma once

#include "core/base/result.h"

#include <QImage>
#include <QString>

#include <optional>

namespace bubblescope::gui {

class Legend;
class TimelineView;
class ViewState;
struct Theme;

/// The text that a picture shows around the timeline.
struct PictureFrame {
    QString title;    ///< the trace
    QString subtitle; ///< its figures
    const Legend* legend = nullptr;
    const Theme* theme = nullptr; ///< null: no frame
};

/// Writes the visible part of the timeline, in the format of the file's extension: .png (at twice the resolution),
/// .svg, .pdf, or .tex and .tikz (vector graphics). An existing file is replaced only once the new one is complete.
/// Errors: Usage for other extensions, Run if the file cannot be written.
[[nodiscard]] Status exportView(TimelineView& view, const QString& file, const PictureFrame& frame = {});

/// A figure for a paper.
struct Figure {
    double width_mm = 160;
    bool white = true; ///< on white ground; else in the theme that is shown
    bool legend = true;
    QString title; ///< empty: no lines above the timeline
    QString subtitle;
};
/// Writes what is shown as a figure, all rows of it, without selection, time range and controls. Errors: those of
/// exportView().
[[nodiscard]] Status exportFigure(const ViewState& shown, const Theme& theme, const Figure& figure,
                                  const QString& file);

/// The same as an image, for the clipboard.
[[nodiscard]] QImage pictureOf(TimelineView& view, const PictureFrame& frame);

/// A name for the file: "job-step-3.png" for the third step of "job.json.gz"; "job.png" without steps. Free of
/// characters that file systems reject.
[[nodiscard]] QString suggestedPictureName(const QString& trace, std::optional<int> step);

} // namespace bubblescope::gui
