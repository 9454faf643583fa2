#include "app/gui/panels/legend.h"

#include "app/gui/models/item_text.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QPainter>

#include <array>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kChip = 14;
constexpr int kWideChip = 24; ///< with shades
constexpr int kMaxBands = 4;
constexpr int kChipGap = 6;
constexpr int kEntryGap = 14;
constexpr std::size_t kMaxInALine = 3;

} // namespace

Legend::Legend(ThemeManager& themes, QWidget* parent) : QWidget(parent), themes_(themes) {
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setAccessibleName(tr("Colours"));
    connect(&themes_, &ThemeManager::changed, this, qOverload<>(&QWidget::update));
}

void Legend::show(const Session* session) {
    const std::vector<Entry> before = std::exchange(entries_, {});
    const int chunks_before = chunks_;
    chunks_ = session != nullptr ? std::max(1, session->run.schedule.vpp) : 1;
    setToolTip(chunks_ > 1 ? tr("Shades of a colour: chunk 0 to %1.").arg(chunks_ - 1) : QString());
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
        if (session->lanes.uses(LaneKind::Check)) entries_.push_back({Role::Check, tr("check")});
    }
    if (entries_ == before && chunks_ == chunks_before) return;
    updateGeometry();
    update();
}

int Legend::chipWidth(const Entry& entry) const {
    const bool shaded =
        chunks_ > 1 && entry.role != Role::Bubble && entry.role != Role::Optimizer && entry.role != Role::Check;
    return shaded ? kWideChip : kChip;
}

int Legend::entryWidth(const Entry& entry) const {
    return chipWidth(entry) + kChipGap + fontMetrics().horizontalAdvance(entry.text);
}

std::size_t Legend::lines() const {
    return entries_.size() > kMaxInALine ? 2 : 1;
}

int Legend::lineHeight() const {
    return std::max(kChip, fontMetrics().height()) + 2;
}

int Legend::columnWidth(std::size_t column) const {
    int width = 0;
    for (std::size_t i = column * lines(); i < std::min(entries_.size(), (column + 1) * lines()); ++i)
        width = std::max(width, entryWidth(entries_[i]));
    return width;
}

QSize Legend::sizeHint() const {
    int width = 0;
    for (std::size_t column = 0; column * lines() < entries_.size(); ++column)
        width += columnWidth(column) + (column > 0 ? kEntryGap : 0);
    return {width, lineHeight() * static_cast<int>(lines())};
}

void Legend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Theme& theme = themes_.theme();
    int x = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const Entry& entry = entries_[i];
        const int top = lineHeight() * static_cast<int>(i % lines());
        const QRect chip(x, top + (lineHeight() - kChip) / 2, chipWidth(entry), kChip);
        if (entry.role == Role::Bubble) {
            painter.fillRect(chip, QBrush(hatchTile(theme, devicePixelRatioF())));
        } else {
            // One band a chunk, as on the timeline; more than a few could not be told apart here.
            const bool chunked = chipWidth(entry) == kWideChip;
            const int bands = chunked ? std::min(chunks_, kMaxBands) : 1;
            for (int band = 0; band < bands; ++band) {
                const int left = chip.width() * band / bands;
                const QRect part(chip.left() + left, chip.top(), chip.width() * (band + 1) / bands - left,
                                 chip.height());
                painter.fillRect(part, theme.fill(entry.role, band, bands));
            }
        }
        painter.setPen(theme.text_dim);
        painter.drawText(QRect(chip.right() + 1 + kChipGap, top, width(), lineHeight()),
                         Qt::AlignLeft | Qt::AlignVCenter, entry.text);
        if (i % lines() + 1 == lines()) x += columnWidth(i / lines()) + kEntryGap;
    }
}

} // namespace bubblescope::gui
