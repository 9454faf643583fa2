#include "app/gui/charts/histogram.h"

#include "app/gui/language/text.h"

#include <QFontMetrics>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr double kMargin = 8;
constexpr std::int64_t kFarApart = 20; ///< ratio of the longest to the shortest duration

double log(TimeNs time) {
    return std::log(static_cast<double>(std::max<std::int64_t>(1, time.count())));
}

} // namespace

Histogram::Histogram(ThemeManager& themes, QWidget* parent) : QWidget(parent), themes_(themes) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&themes_, &ThemeManager::changed, this, qOverload<>(&QWidget::update));
}

void Histogram::setDurations(std::vector<TimeNs> durations) {
    bins_.clear();
    brush_.reset();
    if (!durations.empty()) {
        const auto [low, high] = std::ranges::minmax(durations);
        low_ = low;
        high_ = high;
        ratios_ = high / kFarApart > low;
        bins_.resize(kBins);
        for (const TimeNs duration : durations)
            ++bins_[binOf(duration)];
    }
    update();
}

std::size_t Histogram::binOf(TimeNs duration) const {
    if (high_ <= low_) return 0;
    const double part =
        ratios_ ? (log(duration) - log(low_)) / (log(high_) - log(low_)) : fractionOf(duration - low_, high_ - low_);
    return std::min(kBins - 1, static_cast<std::size_t>(std::max(0.0, part * static_cast<double>(kBins))));
}

std::pair<TimeNs, TimeNs> Histogram::bin(std::size_t at) const {
    const auto border = [this](std::size_t index) {
        if (index == 0) return low_;
        if (index >= kBins) return high_;
        const double part = static_cast<double>(index) / static_cast<double>(kBins);
        if (ratios_) return TimeNs{static_cast<std::int64_t>(std::exp(log(low_) + part * (log(high_) - log(low_))))};
        return low_ + TimeNs{static_cast<std::int64_t>(part * static_cast<double>((high_ - low_).count()))};
    };
    return {border(at), border(at + 1)};
}

QRectF Histogram::plot() const {
    return QRectF(rect()).adjusted(kMargin, 4, -kMargin, -fontMetrics().height() - 4.0);
}

QRectF Histogram::rectOf(std::size_t at) const {
    if (at >= bins_.size()) return {};
    const QRectF area = plot();
    const std::size_t most = std::max<std::size_t>(1, *std::ranges::max_element(bins_));
    const double wide = area.width() / static_cast<double>(kBins);
    const double share = static_cast<double>(bins_[at]) / static_cast<double>(most);
    const double high = bins_[at] == 0 ? 0 : std::max(2.0, std::round(share * area.height()));
    return {area.left() + static_cast<double>(at) * wide, area.bottom() - high, std::max(1.0, wide - 1), high};
}

std::size_t Histogram::binAt(double x) const {
    const double part = (x - plot().left()) / plot().width();
    return static_cast<std::size_t>(std::clamp(part * static_cast<double>(kBins), 0.0, static_cast<double>(kBins - 1)));
}

void Histogram::paintEvent(QPaintEvent*) {
    const Theme& theme = themes_.theme();
    QPainter painter(this);
    painter.fillRect(rect(), theme.palette.color(QPalette::Base));
    if (bins_.empty()) return;
    for (std::size_t at = 0; at < bins_.size(); ++at) {
        const bool chosen = !brush_ || (at >= brush_->first && at <= brush_->second);
        painter.fillRect(rectOf(at), chosen ? theme.fill(Role::Forward) : theme.line);
    }
    painter.fillRect(QRectF(plot().left(), plot().bottom(), plot().width(), 1), theme.text_dim);
    painter.setPen(theme.text_dim);
    const QRectF below(plot().left(), plot().bottom() + 2, plot().width(), fontMetrics().height());
    const TimeNs low = brush_ ? bin(brush_->first).first : low_;
    const TimeNs high = brush_ ? bin(brush_->second).second : high_;
    painter.drawText(below, Qt::AlignLeft | Qt::AlignVCenter, shortTime(low));
    painter.drawText(below, Qt::AlignRight | Qt::AlignVCenter, shortTime(high));
}

void Histogram::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && !bins_.empty()) pressed_ = binAt(event->position().x());
}

void Histogram::mouseMoveEvent(QMouseEvent* event) {
    if (!pressed_) return;
    brush_ = std::minmax(*pressed_, binAt(event->position().x()));
    update();
}

void Histogram::mouseReleaseEvent(QMouseEvent* event) {
    if (!pressed_ || event->button() != Qt::LeftButton) return;
    const auto from = *std::exchange(pressed_, std::nullopt);
    const std::size_t to = binAt(event->position().x());
    brush_ = from == to ? std::nullopt : std::optional<std::pair<std::size_t, std::size_t>>(std::minmax(from, to));
    update();
    if (!brush_) return emit brushed(low_, high_);
    emit brushed(bin(brush_->first).first, bin(brush_->second).second);
}

} // namespace bubblescope::gui
