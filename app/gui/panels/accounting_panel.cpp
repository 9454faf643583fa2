#include "app/gui/panels/accounting_panel.h"

#include "app/gui/charts/bar_chart.h"
#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/theme/theme.h"
#include "core/analysis/accounting/accounting.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace bubblescope::gui {

namespace {

/// The pieces of the accounting, followed by the wait for the other replicas.
ShownPiece pieceAt(int piece) {
    const auto at = static_cast<std::size_t>(piece);
    return at < accountPieces().size() ? ShownPiece(accountPieces()[at]) : std::nullopt;
}

std::size_t pieceCount() {
    return accountPieces().size() + 1;
}

QColor shownColour(const Theme& theme, const ShownPiece& piece) {
    return piece ? pieceColour(theme, *piece) : theme.fill(Role::ReplicaWait);
}

} // namespace

QString pieceText(const ShownPiece& piece) {
    if (!piece) return tr("waiting for replicas");
    switch (piece->kind) {
    case AccountPiece::Kind::Compute: return opKindText(piece->op);
    case AccountPiece::Kind::Overlapped: return tr("overlapped pairs");
    case AccountPiece::Kind::Cause: break;
    }
    return QCoreApplication::translate("Cause", std::string(causeName(piece->cause)).c_str());
}

AccountingPanel::AccountingPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), themes_(themes), chart_(new BarChart(themes, this)), view_(new QComboBox(this)),
      note_(new QLabel(this)), legend_(new QLabel(this)), fill_(new FillWhenVisible(*this, [this] { refresh(); })) {
    setObjectName(QStringLiteral("accountingPanel"));
    named(chart_, "accountingChart", tr("Where the time went"));
    view_->setObjectName(QStringLiteral("accountingView"));
    view_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    view_->setAccessibleName(tr("Meaning of the bars"));
    note_->setObjectName(QStringLiteral("accountingNote"));
    note_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    legend_->setTextFormat(Qt::RichText);
    legend_->setWordWrap(true);
    legend_->setContentsMargins(12, 4, 12, 6);
    auto* bar = spaced(new QHBoxLayout, {12, 6, 12, 6}, 12);
    bar->addWidget(view_);
    bar->addWidget(note_, 1);
    QVBoxLayout* column = tightColumn(*this);
    column->addLayout(bar);
    column->addWidget(chart_, 1);
    column->addWidget(legend_);

    chart_->setLook([](const Theme& theme, int piece) { return shownColour(theme, pieceAt(piece)); },
                    [this](int row, int part) { return toolTipOf(row, part); });
    connect(chart_, &BarChart::clicked, this, &AccountingPanel::choose);
    connect(view_, &QComboBox::currentIndexChanged, this, &AccountingPanel::fill);
    connect(&state_, &ViewState::sessionChanged, fill_, &FillWhenVisible::markStale);
    connect(&state_, &ViewState::stepChanged, fill_, &FillWhenVisible::markStale);
    for (const auto change : {&ViewState::stepChanged, &ViewState::selectionChanged})
        connect(&state_, change, this, &AccountingPanel::stopWaiting);
    connect(&state_, &ViewState::diagnosisMade, this, [this](int step) {
        if (!waiting_ || rows_[static_cast<std::size_t>(waiting_->bar)].step != step) return;
        const Choice choice = *waiting_; // copied, because choose() resets it
        choose(choice.bar, choice.part);
    });
    connect(&state_, &ViewState::highlightsChanged, this, [this] {
        if (state_.highlights().empty()) chart_->setMarked(-1, -1);
    });
    connect(&themes_, &ThemeManager::changed, this, &AccountingPanel::showLegend);
    showSession();
}

bool AccountingPanel::bySteps() const {
    return view_->currentIndex() > 0;
}

BarChart& AccountingPanel::chart() {
    fill_->fillNow();
    return *chart_;
}

/// Shows the current session and step, unless they are already shown.
void AccountingPanel::refresh() {
    if (!state_.pipeline() || shown_.lock() != state_.pipeline()) return showSession();
    if (shown_step_ != state_.step()) showStep();
}

void AccountingPanel::showSession() {
    shown_ = state_.pipeline();
    {
        const QSignalBlocker quiet(view_);
        view_->clear();
        if (const SessionPtr& session = state_.pipeline()) {
            view_->addItem(tr("All ranks of the step"));
            view_->addItem(tr("All steps, summed over ranks"));
            for (std::size_t rank = 0; rank < session->lanes.rankCount(); ++rank)
                view_->addItem(tr("All steps of rank %1").arg(rank), static_cast<int>(rank));
        }
    }
    fill();
}

void AccountingPanel::showStep() {
    shown_step_ = state_.step();
    if (bySteps()) {
        chart_->setCurrent(state_.step());
        describe();
    } else {
        fill();
    }
}

TimeRange AccountingPanel::waitOf(int step, Rank rank) const {
    return state_.pipeline()->range({ItemKind::ReplicaWait, step, rank.value, 0});
}

TimeNs AccountingPanel::timeIn(const Row& row, const ShownPiece& piece) const {
    const auto& ranks = state_.pipeline()->report.accounts[static_cast<std::size_t>(row.step)].ranks;
    TimeNs sum{0};
    for (const RankAccounting& account : ranks) {
        if (!row.rank || account.rank.value == *row.rank)
            sum += piece ? timeOf(account, *piece) : waitOf(row.step, account.rank).length();
    }
    return sum;
}

void AccountingPanel::fill() {
    shown_step_ = state_.step();
    waiting_.reset();
    rows_.clear();
    std::vector<Bar> bars;
    if (const SessionPtr& session = state_.pipeline()) {
        if (bySteps()) {
            const QVariant rank = view_->currentData();
            for (int step = 0; step < session->stepCount(); ++step)
                rows_.push_back({step, rank.isValid() ? std::optional(rank.toInt()) : std::nullopt});
        } else {
            for (const RankAccounting& account :
                 session->report.accounts[static_cast<std::size_t>(state_.step())].ranks)
                rows_.push_back({state_.step(), account.rank.value});
        }
        for (const Row& row : rows_) {
            Bar bar{bySteps() ? tr("Step %1").arg(session->step(row.step).index) : tr("Rank %1").arg(*row.rank), {}};
            for (std::size_t piece = 0; piece < pieceCount(); ++piece) {
                const TimeNs time = timeIn(row, pieceAt(static_cast<int>(piece)));
                if (time == TimeNs{0}) continue;
                bar.parts.push_back({static_cast<int>(piece), time});
            }
            bars.push_back(std::move(bar));
        }
    }
    chart_->setBars(std::move(bars));
    chart_->setCurrent(bySteps() ? state_.step() : -1);
    showLegend();
    describe();
}

void AccountingPanel::showLegend() {
    std::vector<std::pair<QColor, QString>> entries;
    for (const int piece : chart_->usedPieces())
        entries.emplace_back(shownColour(themes_.theme(), pieceAt(piece)), pieceText(pieceAt(piece)));
    legend_->setText(colourKey(entries));
}

void AccountingPanel::describe() {
    if (!state_.pipeline()) return note_->clear();
    const StepAccounting& account = state_.pipeline()->report.accounts[static_cast<std::size_t>(state_.step())];
    QStringList notes;
    for (const Sentence& note : accountingNotes(account))
        notes << tr("%1.").arg(sentence(translated(note)));
    const QString text =
        tr("Step %1: %2; with only the schedule's own bubble, %3. Click a segment to see where it occurs.")
            .arg(state_.pipeline()->step(state_.step()).index)
            .arg(shortTime(state_.pipeline()->analysis(state_.step()).wall), shortTime(account.ideal));
    note_->setText(text);
    note_->setToolTip((QStringList(text) + notes).join(QLatin1Char('\n')));
}

ShownPiece AccountingPanel::pieceOf(int bar, int part) const {
    return pieceAt(chart_->bars()[static_cast<std::size_t>(bar)].parts[static_cast<std::size_t>(part)].piece);
}

QString AccountingPanel::toolTipOf(int bar, int part) const {
    const Row& row = rows_[static_cast<std::size_t>(bar)];
    const ShownPiece piece = pieceOf(bar, part);
    const TimeNs time = timeIn(row, piece);
    const auto ranks = row.rank ? 1 : static_cast<std::int64_t>(state_.pipeline()->lanes.rankCount());
    const double whole = static_cast<double>(state_.pipeline()->analysis(row.step).wall.count() * ranks);
    QString text = QStringLiteral("<b>%1</b><br>%2 · %3")
                       .arg(sentence(pieceText(piece)).toHtmlEscaped(), shortTime(time),
                            percent(whole > 0 ? static_cast<double>(time.count()) / whole : 0));
    if (time < TimeNs{0}) text += QStringLiteral("<br>") + tr("This cause made the rank's bubble shorter.");
    if (!piece)
        return text + QStringLiteral("<br>") + tr("Time after the end of the rank's own step; not part of the step.");
    if (piece->kind != AccountPiece::Kind::Cause) return text;
    for (const WaterfallStep& step : state_.pipeline()->report.accounts[static_cast<std::size_t>(row.step)].waterfall) {
        if (step.cause == piece->cause)
            text += QStringLiteral("<br>") +
                    tr("If only this were removed, the step would be %1 shorter.").arg(shortTime(step.without));
    }
    return text;
}

/// Hides the old content while a piece is being computed.
void AccountingPanel::stopWaiting() {
    if (!waiting_) return;
    waiting_.reset();
    chart_->setMarked(-1, -1);
    describe();
}

void AccountingPanel::choose(int bar, int part) {
    const Row row = rows_[static_cast<std::size_t>(bar)];
    const Session& session = *state_.pipeline();
    stopWaiting();
    if (row.step != state_.step()) state_.showStep(row.step);
    if (part < 0 || part >= static_cast<int>(chart_->bars()[static_cast<std::size_t>(bar)].parts.size())) {
        state_.highlight({});
        if (row.rank) emit state_.rankRequested(*row.rank);
        return;
    }
    const ShownPiece piece = pieceOf(bar, part);
    if (piece && session.lacksDiagnosis(row.step)) {
        state_.highlight({});
        chart_->setMarked(bar, part);
        note_->setText(tr("Locating %1 …").arg(pieceText(piece)));
        waiting_ = {bar, part};
        return state_.diagnose(row.step);
    }
    const StepDiagnosis* const diagnosis = session.knownDiagnosis(row.step);
    if (piece && diagnosis == nullptr) return state_.highlight({}); // the diagnosis failed
    std::vector<Highlight> stretches;
    for (const RankAccounting& account : session.report.accounts[static_cast<std::size_t>(row.step)].ranks) {
        if (row.rank && account.rank.value != *row.rank) continue;
        if (!piece) {
            if (const TimeRange wait = waitOf(row.step, account.rank); wait.length() > TimeNs{0})
                stretches.push_back({account.rank.value, wait});
            continue;
        }
        for (const TimeInterval& where : whereIs(*piece, session.step(row.step), *diagnosis, account.rank))
            stretches.push_back({account.rank.value, {where.start, where.end}});
    }
    const bool nowhere = stretches.empty();
    state_.highlight(std::move(stretches));
    chart_->setMarked(bar, part);
    if (row.rank) emit state_.rankRequested(*row.rank);
    describe();
    if (nowhere)
        note_->setText(tr("%1 affects this rank only through other ranks, so there is no interval to show.")
                           .arg(sentence(pieceText(piece))));
}

} // namespace bubblescope::gui
