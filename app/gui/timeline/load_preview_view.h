#pragma once

#include "app/gui/theme/theme.h"
#include "core/trace/load_preview.h"

#include <QWidget>

namespace bubblescope::gui {

/// Shown in place of the timeline while a trace loads: one row per track read so far, filled in proportion to its busy
/// time. No navigation.
class LoadPreviewView : public QWidget {
    Q_OBJECT

public:
    explicit LoadPreviewView(const ThemeManager& themes, QWidget* parent = nullptr);

    void setPicture(LoadPreview::Picture picture);
    /// The number of columns to request.
    [[nodiscard]] std::size_t columns() const;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void paintRow(QPainter& painter, const LoadPreview::Row& row, const QRect& place) const;

    const ThemeManager& themes_;
    LoadPreview::Picture picture_;
};

} // namespace bubblescope::gui
