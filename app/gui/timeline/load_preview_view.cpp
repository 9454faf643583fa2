#include "app/gui/timeline/load_preview_view.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr int kLabelWidth = 170;
constexpr int kMinPreviewRowHeight = 4;
constexpr int kTallestPreviewRow = 26;
constexpr int kPreviewGap = 1;
constexpr int kPreviewMargin = 8;
constexpr qint64 kPictureIntervalMs = 200;

} // namespace

LoadPreviewView::LoadPreviewView(const ThemeManager& themes, QWidget* parent) : QWidget(parent), themes_(themes) {
    setObjectName(QStringLiteral("loadPreview"));
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Loaded so far"));
    connect(&themes, &ThemeManager::changed, this, qOverload<>(&QWidget::update));
}

std::size_t LoadPreviewView::columns() const {
    return static_cast<std::size_t>(std::max(1, width() - kLabelWidth - kPreviewMargin));
}

bool LoadPreviewView::follow(const std::shared_ptr<const LoadPreview>& preview) {
    const std::uint64_t version = preview->version();
    const bool known = followed_.lock() == preview && !picture_.empty() && columns() == columns_;
    if (known && (version == version_ || age_.elapsed() < kPictureIntervalMs)) return true;
    followed_ = preview;
    version_ = version;
    age_.start();
    columns_ = columns();
    setPicture(preview->picture(columns_));
    return !picture_.empty();
}

void LoadPreviewView::setPicture(LoadPreview::Picture picture) {
    picture_ = std::move(picture);
    setAccessibleDescription(
        tr("%Ln slice(s) so far", nullptr,
           static_cast<int>(std::min<std::int64_t>(picture_.slices, std::numeric_limits<int>::max()))));
    update();
}

void LoadPreviewView::paintEvent(QPaintEvent*) {
    const Theme& theme = themes_.theme();
    QPainter painter(this);
    painter.fillRect(rect(), theme.timeline);
    if (picture_.empty()) return;

    const int title = fontMetrics().height() + 2 * kPreviewMargin;
    painter.setPen(theme.text);
    painter.drawText(QRect(kPreviewMargin, 0, width() - 2 * kPreviewMargin, title), Qt::AlignVCenter | Qt::AlignLeft,
                     tr("Preview, %1").arg(accessibleDescription()));

    const auto rows = static_cast<int>(picture_.rows.size());
    const int height = std::clamp((this->height() - title) / rows, kMinPreviewRowHeight, kTallestPreviewRow);
    int y = title;
    std::size_t file = picture_.files.size();
    for (const LoadPreview::Row& row : picture_.rows) {
        if (y >= this->height()) break;
        const QRect place(kLabelWidth, y, width() - kLabelWidth - kPreviewMargin, height - kPreviewGap);
        painter.fillRect(place, theme.timeline_odd);
        paintRow(painter, row, place);
        if (row.file != file) { // this is the file's first row
            file = row.file;
            const QRect label(kPreviewMargin, y, kLabelWidth - 2 * kPreviewMargin, fontMetrics().height());
            painter.setPen(theme.text_dim);
            painter.drawText(
                label, Qt::AlignVCenter | Qt::AlignLeft,
                fontMetrics().elidedText(QString::fromStdString(picture_.files[file]), Qt::ElideMiddle, label.width()));
        }
        y += height;
    }
}

void LoadPreviewView::paintRow(QPainter& painter, const LoadPreview::Row& row, const QRect& place) const {
    const QColor colour = themes_.theme().fill(Role::Forward);
    const auto count = static_cast<int>(row.shares.size());
    const auto heightOf = [&](int i) {
        const float busy = row.shares[static_cast<std::size_t>(i)];
        // At least one pixel, so that any activity is visible.
        return busy <= 0 ? 0 : std::max(1, static_cast<int>(std::lround(busy * static_cast<float>(place.height()))));
    };
    for (int i = 0; i < count;) {
        const int filled = heightOf(i);
        int end = i + 1; // adjacent columns of the same height are drawn as one rectangle
        while (end < count && heightOf(end) == filled)
            ++end;
        const int from = place.left() + i * place.width() / count;
        const int to = place.left() + end * place.width() / count;
        if (filled > 0)
            painter.fillRect(QRect(from, place.bottom() + 1 - filled, std::max(1, to - from), filled), colour);
        i = end;
    }
}

} // namespace bubblescope::gui
