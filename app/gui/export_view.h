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

/// Text around the timeline in an exported image.
struct PictureFrame {
    QString title;    ///< name of the trace
    QString subtitle; ///< key figures of the trace
    const Legend* legend = nullptr;
    const Theme* theme = nullptr; ///< null for images without a frame
};

/// Writes the visible part of the timeline in the format of the file's extension: .png (at twice the resolution), .svg,
/// .pdf, or .tex and .tikz (vector graphics). An existing file is replaced only once the new one is complete. Errors:
/// Usage for other extensions, Run if the file cannot be written.
[[nodiscard]] Status exportView(TimelineView& view, const QString& file, const PictureFrame& frame = {});

/// Options for a figure in a paper.
struct Figure {
    double width_mm = 160;
    bool white = true; ///< true for a white background; otherwise the current theme
    bool legend = true;
    QString title; ///< text above the timeline; may be empty
    QString subtitle;
};
/// Writes the view as a figure with all its rows, but without the selection, time range or controls. Errors: those of
/// exportView().
[[nodiscard]] Status exportFigure(const ViewState& shown, const Theme& theme, const Figure& figure,
                                  const QString& file);

/// Image of the view, for the clipboard.
[[nodiscard]] QImage pictureOf(TimelineView& view, const PictureFrame& frame);

/// Suggested file name, such as "job-step-3.png" for step 3 of "job.json.gz", or "job.png" without steps. Avoids
/// characters that file systems reject.
[[nodiscard]] QString suggestedPictureName(const QString& trace, std::optional<int> step);

} // namespace bubblescope::gui
