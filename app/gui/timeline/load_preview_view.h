#pragma once

#include "app/gui/theme/theme.h"
#include "core/trace/load_preview.h"

#include <QElapsedTimer>
#include <QWidget>

#include <cstdint>
#include <memory>

namespace bubblescope::gui {

/// View that replaces the timeline while a trace is being loaded. Shows one row per track read so far, filled in
/// proportion to the busy time. Does not support navigation.
class LoadPreviewView : public QWidget {
    Q_OBJECT

public:
    explicit LoadPreviewView(const ThemeManager& themes, QWidget* parent = nullptr);

    /// Shows the part read so far. Updates the view only after a change and at most a few times per second, so that
    /// loading can use the cores. Returns true if there is anything to show.
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
    std::uint64_t version_ = 0; ///< version of the displayed content
    std::size_t columns_ = 0;
    QElapsedTimer age_; ///< age of the displayed content
};

} // namespace bubblescope::gui
