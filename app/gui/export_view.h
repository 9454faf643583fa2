#pragma once

#include "core/base/result.h"

#include <QImage>
#include <QString>

#include <optional>

namespace bubblescope::gui {

class Legend;
class TimelineView;
struct Theme;

/// What a picture shows around the timeline.
struct PictureFrame {
    QString title;    ///< the trace
    QString subtitle; ///< its figures
    const Legend* legend = nullptr;
    const Theme* theme = nullptr; ///< null: no frame
};

/// Writes the visible part of the timeline, in the format of the file's extension: .png (at twice the resolution), .svg
/// or .pdf (vector graphics). An existing file is replaced only once the new one is complete. Errors: Usage for other
/// extensions, Run if the file cannot be written.
[[nodiscard]] Status exportView(TimelineView& view, const QString& file, const PictureFrame& frame = {});

/// The same as an image, for the clipboard.
[[nodiscard]] QImage pictureOf(TimelineView& view, const PictureFrame& frame);

/// A name for the file: "job-step-3.png" for the third step of "job.json.gz"; "job.png" without steps. Free of
/// characters that file systems reject.
[[nodiscard]] QString suggestedPictureName(const QString& trace, std::optional<int> step);

} // namespace bubblescope::gui
