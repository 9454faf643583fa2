#pragma once

#include "app/gui/theme/theme.h"
#include "core/trace/load_preview.h"

#include <QElapsedTimer>
#include <QWidget>

#include <cstdint>
#include <memory>

namespace bubblescope::gui {

/// Shown in place of the timeline while a trace loads: one row per track read so far, filled in proportion to its busy
/// time. No navigation.
class LoadPreviewView : public QWidget {
    Q_OBJECT

public:
    explicit LoadPreviewView(const ThemeManager& themes, QWidget* parent = nullptr);

    /// Shows the part read so far. It updates at most a few times a second, because the load needs the cores more, and
    /// only after a change. Returns true if there is anything to show.
    bool follow(const std::shared_ptr<const LoadPreview>& preview);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] std::size_t columns() const;
    void setPicture(LoadPreview::Picture picture);
    void paintRow(QPainter& painter, const LoadPreview::Row& row, const QRect& place) const;

    const ThemeManager& themes_;
    LoadPreview::Picture picture_;
    std::weak_ptr<const LoadPreview> followed_;
    std::uint64_t version_ = 0; ///< version of the shown content
    std::size_t columns_ = 0;
    QElapsedTimer age_; ///< age of the shown content
};

} // namespace bubblescope::gui
