#include "app/gui/panels/devices_panel.h"

#include "app/gui/charts/bar_chart.h"
#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

namespace {

/// Parts of the time of a device or thread, which add up to 100 %.
enum TimePiece : int { Computes, HidesTransfers, Transfers, Copies, WaitsForHost, Gaps, WaitsForOthers, Runs, Rests };

QString pieceName(int piece) {
    switch (piece) {
    case Computes: return tr("compute");
    case HidesTransfers: return tr("communication behind compute");
    case Transfers: return tr("exposed communication");
    case Copies: return tr("exposed copies");
    case WaitsForHost: return tr("idle: waits for the host");
    case Gaps: return tr("idle: gaps between kernels");
    case WaitsForOthers: return tr("idle: waits for other work");
    case Runs: return tr("busy");
    default: return tr("idle");
    }
}

QColor mixed(const QColor& a, const QColor& b) {
    return QColor((a.red() + b.red()) / 2, (a.green() + b.green()) / 2, (a.blue() + b.blue()) / 2);
}

QColor pieceTone(const Theme& theme, int piece) {
    switch (piece) {
    case Computes:
    case Runs: return theme.fill(Role::Forward);
    case HidesTransfers: return mixed(theme.fill(Role::Forward), theme.fill(Role::Send));
    case Transfers: return theme.fill(Role::Send);
    case Copies: return theme.fill(Role::Check);
    case WaitsForHost: return mixed(theme.bad, theme.timeline);
    case Gaps: return theme.line;
    case WaitsForOthers: return mixed(theme.text_dim, theme.timeline);
    default: return theme.line;
    }
}

std::vector<BarPart> partsOf(const DeviceSummary& device) {
    const DeviceTimes& times = device.times;
    return {{Computes, times.compute() - times.hiddenCommunication()},
            {HidesTransfers, times.hiddenCommunication()},
            {Transfers, times.exposedCommunication()},
            {Copies, times.exposedMemory()},
            {WaitsForHost, device.idle.host},
            {Gaps, device.idle.gaps},
            {WaitsForOthers, device.idle.other}};
}

} // namespace

DevicesPanel::DevicesPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), themes_(themes), chart_(new BarChart(themes, this)), legend_(new QLabel(this)),
      fill_(new FillWhenVisible(*this, [this] { fill(); })) {
    setObjectName(QStringLiteral("devicesPanel"));
    named(chart_, "devicesChart", tr("Device time by use"));
    legend_->setObjectName(QStringLiteral("devicesLegend"));
    legend_->setTextFormat(Qt::RichText);
    legend_->setWordWrap(true);
    legend_->setContentsMargins(12, 4, 12, 6);
    QVBoxLayout* column = tightColumn(*this);
    column->addWidget(chart_, 1);
    column->addWidget(legend_);
    chart_->setLook(pieceTone, [this](int bar, int part) { return toolTipOf(bar, part); });
    connect(chart_, &BarChart::clicked, this, [this](int bar, int) { go(static_cast<std::size_t>(bar)); });
    connect(&state_, &ViewState::sessionChanged, fill_, &FillWhenVisible::markStale);
    connect(&themes_, &ThemeManager::changed, this, &DevicesPanel::addLegend);
    fill_->markStale();
}

BarChart& DevicesPanel::chart() {
    fill_->fillNow();
    return *chart_;
}

void DevicesPanel::fill() {
    std::vector<Bar> bars;
    rows_.clear();
    const auto add = [&](std::int64_t rank, const QString& name, const TimeRange& range, std::vector<BarPart> parts) {
        std::erase_if(parts, [](const BarPart& part) { return part.time <= TimeNs{0}; });
        rows_.push_back({rank, range, tr("Rank %1 · %2").arg(rank).arg(name)});
        bars.push_back({rows_.back().title, std::move(parts)});
    };
    const SessionPtr session = state_.session();
    for (std::size_t file = 0; session && file < session->activity.size(); ++file) {
        const FileActivity& of = session->activity[file];
        for (const DeviceSummary& device : of.devices)
            add(device.rank, fromUtf8(device.name), {device.first, device.last}, partsOf(device));
        for (const HostSummary& thread : of.threads)
            add(thread.rank, fromUtf8(thread.thread), {thread.first, thread.last},
                {{Runs, thread.busy}, {Rests, thread.last - thread.first - thread.busy}});
    }
    chart_->setBars(std::move(bars));
    addLegend();
}

void DevicesPanel::addLegend() {
    std::vector<std::pair<QColor, QString>> entries;
    for (const int piece : chart_->usedPieces())
        entries.emplace_back(pieceTone(themes_.theme(), piece), pieceName(piece));
    legend_->setText(entries.empty() ? tr("This trace contains neither device work nor host calls.")
                                     : colourKey(entries));
}

QString DevicesPanel::toolTipOf(int bar, int part) const {
    const Bar& of = chart_->bars()[static_cast<std::size_t>(bar)];
    const BarPart& piece = of.parts[static_cast<std::size_t>(part)];
    const double whole = static_cast<double>(of.above().count());
    return QStringLiteral("<b>%1</b><br>%2 · %3<br>%4")
        .arg(sentence(pieceName(piece.piece)).toHtmlEscaped(), shortTime(piece.time),
             percent(whole > 0 ? static_cast<double>(piece.time.count()) / whole : 0), of.name.toHtmlEscaped());
}

void DevicesPanel::goToRank(std::int64_t rank) {
    fill_->fillNow();
    const auto row = std::ranges::find(rows_, rank, &Row::rank);
    if (row != rows_.end()) go(static_cast<std::size_t>(row - rows_.begin()));
}

void DevicesPanel::go(std::size_t row) {
    if (row >= rows_.size() || !state_.session()) return;
    chart_->setCurrent(static_cast<int>(row));
    state_.range().show(padded(rows_[row].range, 0.02));
    for (int line = 0; line < static_cast<int>(state_.session()->lanes.lineCount()); ++line) {
        if (state_.session()->rankOf(line) == static_cast<int>(rows_[row].rank)) return emit state_.rankRequested(line);
    }
}

} // namespace bubblescope::gui
