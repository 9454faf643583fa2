#include "app/gui/timeline/note_marks.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr double kFlagsApart = 5; ///< flags closer than this are merged
constexpr double kFlagReach = 9;  ///< width of the clickable part of a flag

} // namespace

std::vector<NoteFlag> buildNoteFlags(const std::vector<Note>& notes, const TimeScale& scale) {
    std::vector<NoteFlag> flags;
    for (std::size_t i = 0; i < notes.size(); ++i) {
        const Note& note = notes[i];
        if (note.begin >= scale.range.end) break;
        const bool moment = note.begin == note.end;
        if (moment ? note.end < scale.range.begin : note.end <= scale.range.begin) continue;
        NoteFlag flag;
        flag.staff = note.begin >= scale.range.begin;
        flag.left = std::max(0.0, scale.x(note.begin));
        flag.right = std::clamp(scale.x(note.end), flag.left, scale.width);
        flag.note = static_cast<int>(i);
        flag.room = scale.width - flag.left;
        if (!flags.empty()) {
            if (flag.left - flags.back().left < kFlagsApart) {
                flags.back().right = std::max(flags.back().right, flag.right);
                continue;
            }
            flags.back().room = flag.left - flags.back().left;
        }
        flags.push_back(flag);
    }
    return flags;
}

int noteAt(const std::vector<NoteFlag>& flags, double x) {
    int found = -1;
    for (const NoteFlag& flag : flags) {
        if (x >= flag.left - 2 && x <= std::max(flag.left + kFlagReach, flag.right)) found = flag.note;
    }
    return found;
}

namespace {

constexpr double kFlagWidth = 8;
constexpr double kFlagHeight = 8;
constexpr double kNoteTextRoom = 30; ///< minimum space for text

} // namespace

void NotePainter::paint(const std::vector<Note>& notes, int current) {
    const std::vector<NoteFlag> flags = buildNoteFlags(notes, f_.geometry.scale);
    if (flags.empty()) return;
    p_.save();
    p_.setClipRect(QRect(f_.plot.left(), 0, f_.plot.width(), f_.plot.bottom() + 1));
    p_.translate(f_.plot.left(), 0);
    for (const NoteFlag& flag : flags)
        paintFlag(flag, notes[static_cast<std::size_t>(flag.note)], flag.note == current);
    p_.restore();
}

void NotePainter::paintFlag(const NoteFlag& flag, const Note& note, bool current) {
    const QColor colour = f_.theme.selection;
    const double x = std::round(flag.left);
    const double top = kStepBandHeight + 1;
    QColor veil = colour;
    veil.setAlpha(current ? 150 : 80);
    if (flag.staff) {
        p_.fillRect(QRectF(x, top, 1, kTickBandHeight - 1), colour);
        p_.fillRect(QRectF(x, kRulerHeight, 1, f_.plot.height()), veil);
        p_.setRenderHint(QPainter::Antialiasing);
        p_.setPen(Qt::NoPen);
        p_.setBrush(colour);
        p_.drawPolygon(QPolygonF{{x, top}, {x + kFlagWidth, top + kFlagHeight / 2}, {x, top + kFlagHeight}});
        p_.setRenderHint(QPainter::Antialiasing, false);
    }
    if (flag.right - flag.left >= 2) p_.fillRect(QRectF(x, kRulerHeight - 4, std::round(flag.right) - x, 3), colour);
    if (note.rank) paintRow(flag, *note.rank);
    const double room = std::min(flag.room - kFlagWidth - 6, 240.0);
    if (room < kNoteTextRoom || note.text.empty()) return;
    QFont font = f_.font;
    font.setPointSizeF(std::max(6.5, font.pointSizeF() * 0.85));
    const QFontMetricsF metrics(font);
    QString text = QString::fromStdString(note.text).simplified();
    text = metrics.elidedText(text, Qt::ElideRight, room);
    const QRectF box(x + kFlagWidth + 1, top - 1, metrics.horizontalAdvance(text) + 4, kTickBandHeight - 4);
    p_.fillRect(box, f_.theme.header); // covers the tick labels
    p_.setFont(font);
    p_.setPen(colour);
    p_.drawText(box.adjusted(2, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, text);
}

void NotePainter::paintRow(const NoteFlag& flag, int rank) {
    const RowLayout& rows = f_.geometry.rows;
    const int row = rows.rowOf(f_.session.lanes.lineOf(f_.step, rank));
    if (row < 0) return;
    const LaneBand& band = rows.bands().front();
    const int top = kRulerHeight + rows.rowTop(row) + band.top - f_.geometry.scroll_y;
    if (top + band.height < kRulerHeight || top > f_.plot.bottom()) return;
    const double left = std::round(flag.left);
    const double width = std::max(kFlagWidth, std::round(flag.right) - left);
    p_.fillRect(QRectF(left, std::max(kRulerHeight, top - 3), width, 2), f_.theme.selection);
}

} // namespace bubblescope::gui
