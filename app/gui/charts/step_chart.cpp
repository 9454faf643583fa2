#include "app/gui/charts/step_chart.h"

#include "app/gui/language/text.h"
#include "app/gui/theme/theme.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QLocale>
#include <QPainter>
#include <QTextDocumentFragment>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace bubblescope::gui {

namespace {

constexpr double kFromMark = 4;
constexpr double kBetween = 8;
constexpr double kMinMarkLabelWidth = 48; ///< minimum width of useful elided labels

/// The free interval around `x`, with a margin to the neighbouring labels.
struct FreeRoom {
    double left = 0;
    double right = 0;
};

/// None if a label covers `x`.
std::optional<FreeRoom> roomAround(double x, const std::vector<MarkLabel>& placed, double left, double right) {
    FreeRoom room{left, right};
    for (const MarkLabel& label : placed) {
        const double end = label.left + label.width;
        if (label.left <= x && x <= end) return std::nullopt;
        if (end < x) room.left = std::max(room.left, end + kBetween);
        if (label.left > x) room.right = std::min(room.right, label.left - kBetween);
    }
    return room;
}

} // namespace

std::vector<MarkLabel> placeMarkLabels(const std::vector<MarkPlace>& marks, double left, double right) {
    std::vector<std::size_t> order(marks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        if (marks[a].importance != marks[b].importance) return marks[a].importance > marks[b].importance;
        return marks[a].x < marks[b].x; // the first mark is more likely the cause: its name stays when others come
    });
    std::vector<MarkLabel> placed;
    for (const std::size_t mark : order) {
        const auto& [x, width, importance] = marks[mark];
        const std::optional<FreeRoom> room = roomAround(x, placed, left, right);
        if (!room) continue;
        const double after = room->right - (x + kFromMark);
        const double before = x - kFromMark - room->left;
        if (width <= after) {
            placed.push_back({mark, x + kFromMark, width});
        } else if (width <= before) {
            placed.push_back({mark, x - kFromMark - width, width});
        } else if (after >= kMinMarkLabelWidth) {
            placed.push_back({mark, x + kFromMark, after});
        }
    }
    std::ranges::sort(placed, {}, &MarkLabel::left);
    return placed;
}

StepLayout::StepLayout(const std::vector<StepCurve>& curves, const QRectF& area, double gap) {
    if (curves.empty()) return;
    steps_ = curves.front().values.size();
    const auto count = static_cast<double>(curves.size());
    const double height = std::max(10.0, (area.height() - gap * count) / count);
    double top = area.top() + gap;
    for (const StepCurve& curve : curves) {
        plots_.emplace_back(area.left(), top, area.width(), height);
        axes_.push_back(robustAxis(curve.values, curve.from_zero));
        top += height + gap;
    }
}

double StepLayout::pitch() const {
    return plots_.empty() || steps_ == 0 ? 1 : plots_.front().width() / static_cast<double>(steps_);
}

double StepLayout::x(std::size_t step) const {
    return plots_.front().left() + (static_cast<double>(step) + 0.5) * pitch();
}

double StepLayout::y(std::size_t curve, double value) const {
    const QRectF& plot = plots_[curve];
    return plot.bottom() - std::clamp(axes_[curve].fraction(value), 0.0, 1.0) * plot.height();
}

bool StepLayout::outside(std::size_t curve, double value) const {
    return value < axes_[curve].low || value > axes_[curve].high;
}

std::vector<QPointF> StepLayout::line(std::size_t curve, const std::vector<double>& values) const {
    std::vector<QPointF> points;
    points.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        points.emplace_back(x(i), y(curve, values[i]));
    return points;
}

int StepLayout::stepAt(double x) const {
    if (plots_.empty() || steps_ == 0) return -1;
    const auto step = static_cast<int>(std::floor((x - plots_.front().left()) / pitch()));
    return std::clamp(step, 0, static_cast<int>(steps_) - 1);
}

namespace {

constexpr int kStepMargin = 10;
constexpr int kNumbersHeight = 18;
constexpr double kTitleHeight = 18;
constexpr int kTicks = 5;           ///< maximum number on each vertical axis
constexpr double kSameHeight = 0.5; ///< pixels
constexpr int kLabelGap = 4;
constexpr int kAsideOpacity = 110;
constexpr double kDotsFrom = 5; ///< minimum number of pixels per step at which dots do not touch

} // namespace

StepChart::Curve StepChart::timeCurve() {
    return {tr("Time of a step"),
            {{}, false},
            [](double ns) { return shortTime(TimeNs{static_cast<std::int64_t>(ns)}); },
            [](const Theme& theme) { return theme.fill(Role::Forward); },
            {},
            {},
            timeTicks};
}

StepChart::Curve StepChart::bubbleRateCurve() {
    return {tr("Bubble rate (dashed: closed form)"),
            {{}, true},
            [](double fraction) { return percent(fraction); },
            [](const Theme& theme) { return severityColour(theme, Severity::Warning); },
            {},
            {},
            percentTicks};
}

std::vector<StepChart::Curve> StepChart::statedCurves(const std::vector<StepValues>& values,
                                                      const std::vector<double>& walls) {
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    constexpr double kSecond = 1e9;
    std::vector<Curve> out;
    if (std::ranges::any_of(values, [](const StepValues& one) { return one.loss.has_value(); })) {
        Curve loss{tr("Loss"),
                   {{}, false},
                   [](double value) { return QLocale().toString(value, 'g', 5); },
                   [](const Theme& theme) { return theme.fill(Role::Optimizer); },
                   {}};
        for (const StepValues& one : values)
            loss.data.values.push_back(one.loss && std::isfinite(*one.loss) ? *one.loss : kUnknown);
        out.push_back(std::move(loss));
    }
    if (std::ranges::any_of(values, [](const StepValues& one) { return one.tokens.has_value(); })) {
        Curve rate{tr("Tokens per second"),
                   {{}, true},
                   [](double value) { return QLocale().toString(std::llround(value)); },
                   [](const Theme& theme) { return theme.fill(Role::Check); },
                   {}};
        for (std::size_t i = 0; i < values.size(); ++i)
            rate.data.values.push_back(values[i].tokens && walls[i] > 0
                                           ? static_cast<double>(*values[i].tokens) * kSecond / walls[i]
                                           : kUnknown);
        out.push_back(std::move(rate));
    }
    return out;
}

StepChart::Curve StepChart::useCurve(const ModelUse& use, const std::vector<double>& walls) {
    Curve curve = bubbleRateCurve();
    curve.title = tr("Model FLOPs utilisation (MFU)");
    curve.colour = [](const Theme& theme) { return theme.good; };
    for (const double wall : walls)
        curve.data.values.push_back(std::isnan(wall) ? wall : use.of(TimeNs{static_cast<std::int64_t>(wall)}));
    return curve;
}

StepChart::StepChart(ThemeManager& themes, QWidget* parent) : QWidget(parent), themes_(themes) {
    setObjectName(QStringLiteral("stepChart"));
    setAccessibleName(tr("Time and bubble rate over steps"));
    setAttribute(Qt::WA_OpaquePaintEvent);
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setMinimumSize(200, 110);
    connect(&themes_, &ThemeManager::changed, this, qOverload<>(&QWidget::update));
}

QSize StepChart::sizeHint() const {
    return {600, 220};
}

void StepChart::setCurves(std::vector<Curve> curves, std::vector<int> numbers, std::vector<Mark> marks, Aside aside) {
    curves_ = std::move(curves);
    numbers_ = std::move(numbers);
    marks_ = std::move(marks);
    aside_ = std::move(aside);
    press_ = drag_ = -1;
    update();
}

void StepChart::setCurrent(int step) {
    const bool known = step >= 0 && static_cast<std::size_t>(step) < numbers_.size();
    // The description is for screen readers.
    setAccessibleDescription(known ? QTextDocumentFragment::fromHtml(toolTipAt(step)).toPlainText() : QString());
    current_ = step;
    update();
}

std::vector<std::pair<double, QString>> StepChart::ticksOf(const Curve& curve, const Axis& axis) {
    std::vector<std::pair<double, QString>> out;
    const std::vector<double> ticks = niceTicks(axis, kTicks);
    const QStringList labels = curve.ticks ? curve.ticks(ticks) : QStringList();
    for (std::size_t i = 0; i < ticks.size(); ++i)
        out.emplace_back(ticks[i], curve.ticks ? labels[static_cast<qsizetype>(i)] : curve.text(ticks[i]));
    const auto same = [](const auto& a, const auto& b) { return a.second == b.second; };
    out.erase(std::unique(out.begin(), out.end(), same), out.end()); // a curve of zeros has fractions of a nanosecond
    return out;
}

int StepChart::axisWidth() const {
    int widest = 40;
    for (const Curve& curve : curves_) {
        const Axis axis = robustAxis(curve.data.values, curve.data.from_zero);
        for (const auto& [tick, label] : ticksOf(curve, axis))
            widest = std::max(widest, fontMetrics().horizontalAdvance(label));
    }
    return widest + 2 * kStepMargin;
}

StepLayout StepChart::plotLayout() const {
    std::vector<StepCurve> shown;
    for (const Curve& curve : curves_)
        shown.push_back(curve.data);
    const int left = axisWidth();
    const double top = marks_.empty() ? 0 : kTitleHeight; // height of the row for mark labels
    return {shown, QRectF(left, top, width() - left - kStepMargin, height() - top - kNumbersHeight), kTitleHeight};
}

QPointF StepChart::pointOf(int step, std::size_t curve) const {
    const StepLayout lines = plotLayout();
    const auto at = static_cast<std::size_t>(step);
    return {lines.x(at), lines.y(curve, curves_[curve].data.values[at])};
}

void StepChart::paintCurve(QPainter& painter, const StepLayout& layout, std::size_t index) const {
    const Theme& theme = themes_.theme();
    const Curve& curve = curves_[index];
    const QRectF& plot = layout.plot(index);
    painter.setPen(theme.text_dim);
    QString title = curve.title;
    if (layout.axis(index).clipped) title += QStringLiteral("  ") + tr("(▲▼ beyond the axis)");
    painter.drawText(QRectF(plot.left(), plot.top() - kTitleHeight, plot.width(), kTitleHeight),
                     Qt::AlignLeft | Qt::AlignVCenter, title);
    double labelled = plot.bottom() + fontMetrics().height();
    for (const auto& [tick, label] : ticksOf(curve, layout.axis(index))) {
        const double y = std::round(layout.y(index, tick));
        painter.fillRect(QRectF(plot.left(), y, plot.width(), 1), theme.grid);
        if (std::abs(labelled - y) < fontMetrics().height() - 2) continue; // low plots do not have space for all labels
        labelled = y;
        painter.drawText(QRectF(0, y - 10, plot.left() - 6, 20), Qt::AlignRight | Qt::AlignVCenter, label);
    }
    painter.fillRect(QRectF(plot.left(), plot.bottom(), plot.width(), 1), theme.line);
    const QColor colour = curve.colour(theme);
    painter.setRenderHint(QPainter::Antialiasing);
    if (!curve.expected.empty()) {
        painter.setPen(QPen(theme.text_dim, 1, Qt::DashLine));
        for (std::size_t from = 0; from < curve.expected.size();) {
            const double y = layout.y(index, curve.expected[from]); // the expected value is unknown where the value is
            std::size_t to = from + 1;
            // Steps in a row with the same height become one line, because a long run has thousands of steps.
            while (to < curve.expected.size() && std::abs(layout.y(index, curve.expected[to]) - y) < kSameHeight)
                ++to;
            if (!std::isnan(curve.expected[from]))
                painter.drawLine(QPointF(layout.x(from) - layout.pitch() / 2, y),
                                 QPointF(layout.x(to - 1) + layout.pitch() / 2, y));
            from = to;
        }
    }
    QColor thin = colour;
    thin.setAlpha(70);
    painter.setPen(QPen(thin, 1));
    for (const std::vector<double>& values : curve.lines) {
        const std::vector<QPointF> line = layout.line(index, values);
        for (std::size_t i = 0; i + 1 < line.size(); ++i) {
            if (!std::isnan(values[i]) && !std::isnan(values[i + 1])) painter.drawLine(line[i], line[i + 1]);
        }
    }
    const std::vector<QPointF> points = layout.line(index, curve.data.values);
    painter.setPen(QPen(colour, 1.4));
    for (std::size_t from = 0; from < points.size();) { // one curve per sequence of known values
        std::size_t to = from;
        while (to < points.size() && !std::isnan(curve.data.values[to]))
            ++to;
        if (to > from) painter.drawPolyline(&points[from], static_cast<int>(to - from));
        from = to + 1;
    }
    painter.setPen(Qt::NoPen);
    for (std::size_t i = 0; i < points.size(); ++i) {
        const double value = curve.data.values[i];
        if (std::isnan(value)) continue;
        const bool outside = layout.outside(index, value);
        if (!outside && layout.pitch() < kDotsFrom) continue;
        painter.setBrush(outside ? theme.bad : colour);
        if (outside) {
            const double tip = value > layout.axis(index).high ? -5 : 5;
            const QPointF base = points[i] - QPointF(0, tip);
            const std::array<QPointF, 3> triangle{points[i], base + QPointF(-4, 0), base + QPointF(4, 0)};
            painter.drawPolygon(triangle.data(), 3);
        } else {
            painter.drawEllipse(points[i], 2.5, 2.5);
        }
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
}

QColor StepChart::colourOf(const Mark& mark) const {
    const Theme& theme = themes_.theme();
    if (mark.severity) return severityColour(theme, *mark.severity);
    return mark.bad ? theme.bad : theme.good;
}

std::vector<MarkLabel> StepChart::labelsOn(const StepLayout& layout) const {
    std::vector<MarkPlace> places;
    for (const Mark& mark : marks_) {
        const double x = std::round(layout.x(static_cast<std::size_t>(mark.step)) - layout.pitch() / 2);
        places.push_back({x, static_cast<double>(fontMetrics().horizontalAdvance(mark.text)),
                          mark.severity ? static_cast<int>(*mark.severity) : 0});
    }
    return placeMarkLabels(places, layout.plot(0).left(), width() - double{kLabelGap});
}

std::vector<MarkLabel> StepChart::labels() const {
    return numbers_.empty() ? std::vector<MarkLabel>() : labelsOn(plotLayout());
}

void StepChart::paintMarks(QPainter& painter, const StepLayout& layout) const {
    for (const Mark& mark : marks_) {
        const double x = std::round(layout.x(static_cast<std::size_t>(mark.step)) - layout.pitch() / 2);
        painter.setPen(QPen(colourOf(mark), 1, Qt::DashLine));
        painter.drawLine(QPointF(x, 0), QPointF(x, layout.plot(layout.curves() - 1).bottom()));
    }
    for (const MarkLabel& label : labelsOn(layout)) { // labels that do not fit are in the tooltip
        const Mark& mark = marks_[label.mark];
        const QRectF place(label.left, 0, label.width, kTitleHeight);
        painter.setPen(colourOf(mark));
        const bool whole = label.width >= fontMetrics().horizontalAdvance(mark.text);
        painter.drawText(place.adjusted(0, 0, 2, 0), Qt::AlignLeft | Qt::AlignVCenter,
                         whole ? mark.text
                               : fontMetrics().elidedText(mark.text, Qt::ElideRight, static_cast<int>(label.width)));
    }
}

void StepChart::paintNumbers(QPainter& painter, const StepLayout& layout) const {
    painter.setPen(themes_.theme().text_dim);
    const int widest = fontMetrics().horizontalAdvance(QString::number(numbers_.back())) + 14;
    const auto stride =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(widest / std::max(0.01, layout.pitch()))));
    for (std::size_t i = 0; i < numbers_.size(); i += stride) {
        const QRectF place(layout.x(i) - widest / 2.0, height() - kNumbersHeight, widest, kNumbersHeight);
        painter.drawText(place, Qt::AlignCenter, QString::number(numbers_[i]));
    }
}

void StepChart::paintEvent(QPaintEvent*) {
    const Theme& theme = themes_.theme();
    QPainter painter(this);
    painter.fillRect(rect(), theme.timeline);
    if (numbers_.empty()) return;
    const StepLayout lines = plotLayout();
    const auto band = [&](int first, int last, const QBrush& colour) {
        const double left = lines.x(static_cast<std::size_t>(std::min(first, last))) - lines.pitch() / 2;
        const double right = lines.x(static_cast<std::size_t>(std::max(first, last))) + lines.pitch() / 2;
        painter.fillRect(QRectF(left, 0, std::max(2.0, right - left), height()), colour);
    };
    QColor dim = theme.text_dim;
    dim.setAlpha(kAsideOpacity);
    for (const auto& [step, why] : aside_)
        band(step, step, QBrush(dim, Qt::BDiagPattern));
    if (current_ >= 0) band(current_, current_, theme.header);
    if (press_ >= 0 && drag_ >= 0) band(press_, drag_, theme.line);
    for (std::size_t curve = 0; curve < curves_.size(); ++curve)
        paintCurve(painter, lines, curve);
    paintMarks(painter, lines);
    paintNumbers(painter, lines);
    if (hasFocus()) {
        painter.setPen(theme.palette.color(QPalette::Highlight));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

QString StepChart::toolTipAt(int step) const {
    const auto at = static_cast<std::size_t>(step);
    QString text = QStringLiteral("<b>%1</b>").arg(tr("Step %1").arg(numbers_[at]));
    for (const Curve& curve : curves_) {
        const double value = curve.data.values[at];
        text += QStringLiteral("<br>%1: %2")
                    .arg(curve.title.toHtmlEscaped(), std::isnan(value) ? tr("unknown") : curve.text(value));
    }
    if (const auto why = aside_.find(step); why != aside_.end())
        text += QStringLiteral("<br>%1").arg(why->second.toHtmlEscaped());
    for (const Mark& mark : marks_) {
        if (mark.step != step) continue;
        for (const QString& line : mark.all.isEmpty() ? QStringList(mark.text) : mark.all)
            text += QStringLiteral("<br>%1").arg(line.toHtmlEscaped());
    }
    return text;
}

bool StepChart::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip && !numbers_.empty()) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QToolTip::showText(help->globalPos(), toolTipAt(plotLayout().stepAt(help->pos().x())), this);
        return true;
    }
    return QWidget::event(event);
}

void StepChart::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && !numbers_.empty()) press_ = plotLayout().stepAt(event->position().x());
}

void StepChart::mouseMoveEvent(QMouseEvent* event) {
    if (press_ < 0) return;
    const int step = plotLayout().stepAt(event->position().x());
    if (step == press_ && drag_ < 0) return;
    drag_ = step;
    update();
}

void StepChart::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || press_ < 0) return;
    const int first = std::min(press_, drag_ < 0 ? press_ : drag_);
    const int last = std::max(press_, drag_);
    press_ = drag_ = -1;
    update();
    if (first == last) {
        emit stepChosen(first);
    } else {
        emit rangeChosen(first, last);
    }
}

void StepChart::keyPressEvent(QKeyEvent* event) {
    const int last = static_cast<int>(numbers_.size()) - 1;
    const int step = event->key() == Qt::Key_Left    ? current_ - 1
                     : event->key() == Qt::Key_Right ? current_ + 1
                     : event->key() == Qt::Key_Home  ? 0
                     : event->key() == Qt::Key_End   ? last
                                                     : -1;
    if (step < 0 || step > last) return QWidget::keyPressEvent(event);
    emit stepChosen(step);
}

} // namespace bubblescope::gui
