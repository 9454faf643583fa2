#include "app/gui/panels/stacks_panel.h"

#include "app/gui/charts/flame_graph.h"
#include "app/gui/charts/histogram.h"
#include "app/gui/language/text.h"
#include "app/gui/models/rows.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/timeline/raw_painter.h"

#include <QHeaderView>
#include <QLabel>
#include <QScopedValueRollback>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

namespace {

enum StackTab : int { NamesTab, CallsTab, SlicesTab };

QLabel* plainLabel(const char* name, QWidget* parent) {
    auto* label = named(new ElidedLabel(parent), name);
    label->setTextFormat(Qt::PlainText);
    label->setContentsMargins(12, 4, 12, 4);
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    return label;
}

QString nameIn(const Session& session, StringId name) {
    return fromUtf8(session.run.trace->text(name));
}

} // namespace

StacksPanel::StacksPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), title_(plainLabel("stacksTitle", this)), graph_(new FlameGraph(themes, this)),
      tabs_(new QTabWidget(this)), fill_(new FillWhenVisible(*this, [this] { fill(); })) {
    setObjectName(QStringLiteral("stacksPanel"));
    named(graph_, "flameGraph", tr("Flame graph"));
    graph_->setLook([](const Theme& theme, std::uint32_t key) { return rawColour(theme, key); },
                    [this](int frame) { return toolTipOf(frame); });
    tabs_->setObjectName(QStringLiteral("stacksTabs"));
    tabs_->setDocumentMode(true);
    histogram_ = new Histogram(themes, this);
    tabs_->addTab(makeNames(), tr("Names"));
    tabs_->addTab(makeCalls(), tr("Callers and callees"));
    tabs_->addTab(makeSlices(), tr("All slices with this name"));
    auto* both = new QSplitter(Qt::Horizontal, this);
    addAll(*both, {graph_, tabs_});
    both->setSizes({500, 600}); // the tables have room for all columns in English
    both->setChildrenCollapsible(false);
    both->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored); // allows the panels next to it to be low
    QVBoxLayout* column = tightColumn(*this);
    column->addWidget(title_);
    column->addWidget(both, 1);
    connect(graph_, &FlameGraph::chosen, this, [this](int frame) {
        graph_->setCurrent(frame);
        if (frame > 0) choose(tree_.nodes[static_cast<std::size_t>(frame)].name);
    });
    for (const auto change : {&ViewState::sessionChanged, &ViewState::measuredChanged, &ViewState::selectionChanged,
                              &ViewState::stepChanged})
        connect(&state_, change, this, [this] {
            if (!goes_) fill_->markStale(); // selecting a slice in the list does not change the scope
        });
    connect(&state_, &ViewState::sessionChanged, this, [this] {
        name_.reset();
        calls_title_->setText(tr("Click a frame or a name to see its callers and callees."));
        showSlices({});
    });
    fill_->markStale();
}

StacksPanel::Table StacksPanel::makeTable(const char* name, const QString& title) {
    Table table{new QTableView(this), new RangeTableModel(this), new QSortFilterProxyModel(this)};
    table.view->setObjectName(QString::fromLatin1(name));
    table.view->setAccessibleName(title);
    table.sorted->setSourceModel(table.model);
    table.sorted->setSortRole(RangeTableModel::kSortRole);
    table.view->setModel(table.sorted);
    styleTable(*table.view);
    table.view->setSortingEnabled(true);
    table.view->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder); // by total, descending
    constexpr int kNameDigits = 14;
    table.view->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table.view->horizontalHeader()->setSectionResizeMode(RangeTableModel::NameColumn, QHeaderView::Interactive);
    fillWithColumn(*table.view, RangeTableModel::NameColumn,
                   kNameDigits * fontMetrics().horizontalAdvance(QLatin1Char('0')));
    table.view->setTextElideMode(Qt::ElideMiddle);
    for (const int column : {RangeTableModel::MeanColumn, RangeTableModel::LongestColumn})
        table.view->hideColumn(column);
    table.model->show({}, TimeNs{0}, title);
    return table;
}

QWidget* StacksPanel::makeNames() {
    names_ = makeTable("stackNames", tr("Name"));
    connect(names_.view, &QTableView::clicked, this, [this](const QModelIndex& index) { chooseRow(names_, index); });
    connect(names_.view, &QTableView::activated, this, [this](const QModelIndex& index) { chooseRow(names_, index); });
    return names_.view;
}

QWidget* StacksPanel::makeCalls() {
    auto* page = new QWidget(this);
    calls_title_ = plainLabel("callsTitle", page);
    callers_ = makeTable("callers", tr("Called by"));
    callees_ = makeTable("callees", tr("Calls"));
    for (const Table* table : {&callers_, &callees_})
        connect(table->view, &QTableView::activated, this,
                [this, table](const QModelIndex& index) { chooseRow(*table, index); });
    auto* both = new QSplitter(Qt::Vertical, page);
    addAll(*both, {callers_.view, callees_.view});
    QVBoxLayout* column = tightColumn(*page);
    column->addWidget(calls_title_);
    column->addWidget(both, 1);
    return page;
}

QWidget* StacksPanel::makeSlices() {
    auto* page = new QWidget(this);
    slices_title_ = plainLabel("slicesTitle", page);
    named(histogram_, "durations", tr("Histogram of durations"));
    histogram_->setToolTip(tr("Drag over a range of durations to highlight its slices on the timeline"));
    list_ = new SliceListModel(this);
    sorted_list_ = new QSortFilterProxyModel(this);
    sorted_list_->setSourceModel(list_);
    sorted_list_->setSortRole(SliceListModel::kSortRole);
    list_view_ = named(new QTableView(page), "sliceList", tr("Slices with this name"));
    list_view_->setModel(sorted_list_);
    styleTable(*list_view_);
    list_view_->setSortingEnabled(true);
    list_view_->horizontalHeader()->setSortIndicator(SliceListModel::DurationColumn, Qt::DescendingOrder);
    list_view_->horizontalHeader()->setStretchLastSection(true);
    connect(histogram_, &Histogram::brushed, this, &StacksPanel::brush);
    connect(list_view_, &QTableView::clicked, this, &StacksPanel::goTo);
    connect(list_view_, &QTableView::activated, this, &StacksPanel::goTo);
    QVBoxLayout* column = tightColumn(*page);
    addAll(*column, {slices_title_, histogram_});
    column->addWidget(list_view_, 1);
    return page;
}

StacksPanel::Scope StacksPanel::scope() const {
    const Session& session = *state_.session();
    if (state_.measured().length() > TimeNs{0})
        return {state_.measured(), state_.measuredTracks(),
                tr("Stacks in the time range of %1").arg(shortTime(state_.measured().length()))};
    if (const ItemRef item = state_.selection()) {
        const int line = session.lanes.lineOf(item);
        std::vector<TrackId> tracks;
        for (const RawLane& lane : session.raw.of(line)) {
            const bool own = item.kind == ItemKind::Slice
                                 ? lane.track == session.run.trace->sliceTracks()[session.slice(item)]
                                 : !lane.device;
            if (own) tracks.push_back(lane.track);
        }
        std::ranges::sort(tracks);
        return {session.range(item), tracks,
                tr("Stacks of the selection, %1").arg(shortTime(session.range(item).length()))};
    }
    if (session.hasSteps()) return {session.window(state_.step()), {}, tr("Stacks of the step")};
    return {session.lanes.extent(), {}, tr("Stacks of the whole trace")};
}

void StacksPanel::fill() {
    if (!state_.session() || !state_.session()->raw.any()) {
        job_.cancel();
        title_->setText(tr("This trace contains no host threads or streams."));
        return showTree({});
    }
    const Scope of = scope();
    title_->setText(of.title);
    job_.start([session = state_.session(),
                of](JobControl& control) { return stackTree(*session, of.range, of.tracks, control.stop); },
               [this](StackTree tree) { showTree(std::move(tree)); });
}

void StacksPanel::showTree(StackTree tree) {
    tree_ = std::move(tree);
    std::vector<FlameFrame> frames;
    for (const StackNode& node : tree_.nodes)
        frames.push_back(
            {node.parent < 0 ? tr("all") : nameIn(*state_.session(), node.name), node.name, node.parent, node.total});
    graph_->setFrames(std::move(frames));
    if (tree_.cut)
        title_->setText(tr("%1; only the first %2 paths are shown").arg(title_->text()).arg(StackTree::kMost));
    const TimeNs whole = tree_.nodes.empty() ? TimeNs{0} : tree_.nodes.front().total;
    names_.model->show(tree_.nodes.empty() ? std::vector<RangeRow>() : namesOf(*state_.session(), tree_), whole,
                       tr("Name"));
    if (name_ && !tree_.nodes.empty()) choose(*name_);
    emit filled();
}

void StacksPanel::choose(StringId name) {
    const SessionPtr session = state_.session();
    const QString text = nameIn(*session, name);
    CallTables calls = callsOf(*session, tree_, name);
    const TimeNs whole = tree_.nodes.empty() ? TimeNs{0} : tree_.nodes.front().total;
    calls_title_->setText(text);
    callers_.model->show(std::move(calls.callers), whole, tr("Called by"));
    callees_.model->show(std::move(calls.callees), whole, tr("Calls"));
    if (name_ == name && !slices_.empty()) return;
    name_ = name;
    slices_job_.start([session, name](JobControl& control) { return slicesOf(*session, name, control.stop); },
                      [this](std::vector<SliceId> slices) {
                          showSlices(std::move(slices));
                          state_.mark(slices_);
                          emit filled();
                      });
}

void StacksPanel::showSlices(std::vector<SliceId> slices) {
    slices_job_.cancel();
    slices_ = std::move(slices);
    std::vector<TimeNs> durations;
    TimeNs total{0};
    for (const SliceId slice : slices_) {
        durations.emplace_back(state_.session()->run.trace->sliceDurations()[slice]);
        total += durations.back();
    }
    slices_title_->setText(slices_.empty()
                               ? tr("Click a frame or a name to see all of its slices.")
                               : tr("%1: %Ln slice(s), %2 in total", nullptr, static_cast<int>(slices_.size()))
                                     .arg(nameIn(*state_.session(), *name_), shortTime(total)));
    histogram_->setDurations(std::move(durations));
    list_->show(state_.session(), slices_);
}

void StacksPanel::brush(TimeNs shortest, TimeNs longest) {
    if (!state_.session()) return;
    std::vector<SliceId> within;
    std::ranges::copy_if(slices_, std::back_inserter(within), [&](SliceId slice) {
        const TimeNs duration{state_.session()->run.trace->sliceDurations()[slice]};
        return duration >= shortest && duration <= longest;
    });
    list_->show(state_.session(), within);
    state_.mark(std::move(within));
}

void StacksPanel::chooseRow(const Table& table, const QModelIndex& index) {
    const QModelIndex source = table.sorted->mapToSource(index);
    if (!source.isValid()) return;
    const ItemRef item = table.model->at(source.row()).longest_item;
    if (item) choose(state_.session()->run.trace->sliceNames()[state_.session()->slice(item)]);
}

void StacksPanel::goTo(const QModelIndex& index) {
    const QModelIndex source = sorted_list_->mapToSource(index);
    if (!source.isValid()) return;
    const ItemRef item = state_.session()->sliceItem(list_->at(source.row()));
    const QScopedValueRollback guard(goes_, true);
    state_.select(item);
    state_.reveal(item);
}

QString StacksPanel::toolTipOf(int frame) const {
    const StackNode& node = tree_.nodes[static_cast<std::size_t>(frame)];
    const double whole = static_cast<double>(std::max<std::int64_t>(1, tree_.nodes.front().total.count()));
    return QStringLiteral("<b>%1</b><br>%2")
        .arg(graph_->frames()[static_cast<std::size_t>(frame)].name.toHtmlEscaped(),
             tr("%1 (%2), self time %3; %Ln slice(s)", nullptr, static_cast<int>(node.count))
                 .arg(shortTime(node.total), percent(static_cast<double>(node.total.count()) / whole),
                      shortTime(node.self)));
}

} // namespace bubblescope::gui
