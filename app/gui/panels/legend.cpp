#include "app/gui/panels/legend.h"

#include "app/gui/models/item_text.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QPainter>

#include <array>

namespace bubblescope::gui {

namespace {

constexpr int kChip = 14;
constexpr int kChipGap = 6;
constexpr int kEntryGap = 14;

} // namespace

Legend::Legend(ThemeManager& themes, QWidget* parent) : QWidget(parent), themes_(themes) {
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setAccessibleName(tr("Colours"));
    connect(&themes_, &ThemeManager::changed, this, qOverload<>(&QWidget::update));
}

void Legend::show(const Session* session) {
    entries_.clear();
    std::array<bool, 5> used{};
    if (session != nullptr) {
        // Every step runs the same kinds, so one step is enough to see them.
        for (const auto& ops : session->run.steps.front().ranks) {
            for (const TimelineOp& op : ops)
                used[static_cast<std::size_t>(op.op.kind)] = true;
        }
        for (std::size_t i = 0; i < used.size(); ++i) {
            const auto kind = static_cast<OpKind>(i);
            if (used[i]) entries_.push_back({roleOf(kind), opKindText(kind)});
        }
        if (session->lanes.uses(LaneKind::Bubble)) entries_.push_back({Role::Bubble, tr("bubble")});
    }
    updateGeometry();
    update();
}

int Legend::entryWidth(const Entry& entry) const {
    return kChip + kChipGap + fontMetrics().horizontalAdvance(entry.text);
}

QSize Legend::sizeHint() const {
    int width = 0;
    for (const Entry& entry : entries_)
        width += entryWidth(entry) + (width > 0 ? kEntryGap : 0);
    return {width, std::max(kChip, fontMetrics().height()) + 2};
}

void Legend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Theme& theme = themes_.theme();
    int x = 0;
    for (const Entry& entry : entries_) {
        const QRect chip(x, (height() - kChip) / 2, kChip, kChip);
        if (entry.role == Role::Bubble) {
            painter.fillRect(chip, QBrush(hatchTile(theme, devicePixelRatioF())));
        } else {
            painter.fillRect(chip, theme.fill(entry.role));
        }
        painter.setPen(theme.text_dim);
        painter.drawText(QRect(x + kChip + kChipGap, 0, width(), height()), Qt::AlignLeft | Qt::AlignVCenter,
                         entry.text);
        x += entryWidth(entry) + kEntryGap;
    }
}

} // namespace bubblescope::gui
