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
    QString subtitle; ///< its key figures
    const Legend* legend = nullptr;
    const Theme* theme = nullptr; ///< null = no frame
};

/// Writes the visible part of the timeline in the format of the file's extension: .png (at twice the resolution), .svg,
/// .pdf, or .tex and .tikz (vector graphics). An existing file is replaced only once the new one is complete. Errors:
/// Usage for other extensions, Run if the file cannot be written.
[[nodiscard]] Status exportView(TimelineView& view, const QString& file, const PictureFrame& frame = {});

/// A figure for a paper.
struct Figure {
    double width_mm = 160;
    bool white = true; ///< on a white background; otherwise in the current theme
    bool legend = true;
    QString title; ///< empty = no lines above the timeline
    QString subtitle;
};
/// Writes the view as a figure with all its rows, without selection, time range and controls. Errors: those of
/// exportView().
[[nodiscard]] Status exportFigure(const ViewState& shown, const Theme& theme, const Figure& figure,
                                  const QString& file);

/// A picture of the view as an image, for the clipboard.
[[nodiscard]] QImage pictureOf(TimelineView& view, const PictureFrame& frame);

/// A name for the file: "job-step-3.png" for the third step of "job.json.gz", or "job.png" without steps. Contains no
/// characters that file systems reject.
[[nodiscard]] QString suggestedPictureName(const QString& trace, std::optional<int> step);

} // namespace bubblescope::gui
