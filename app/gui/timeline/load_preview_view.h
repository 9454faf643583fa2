#pragma once

#include "app/gui/theme/theme.h"
#include "core/trace/load_preview.h"

#include <QWidget>

namespace bubblescope::gui {

/// Stands in for the timeline while a trace loads: a row for each track that was met so far, filled as high as it is
/// busy. Not for navigation; it is gone when the trace is there.
class LoadPreviewView : public QWidget {
    Q_OBJECT

public:
    explicit LoadPreviewView(const ThemeManager& themes, QWidget* parent = nullptr);

    void setPicture(LoadPreview::Picture picture);
    /// How many columns a picture should have here.
    [[nodiscard]] std::size_t columns() const;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void paintRow(QPainter& painter, const LoadPreview::Row& row, const QRect& place) const;

    const ThemeManager& themes_;
    LoadPreview::Picture picture_;
};

} // namespace bubblescope::gui
