#include "app/gui/panels/sql_panel.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"
#include "core/query/database.h"

#include <QFontDatabase>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <chrono>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 28U; ///< limit for the rows that a table shows
constexpr int kWidest = 420;                              ///< initial maximum width of a column in pixels

constexpr const char* kByName = R"(SELECT name, count(*) AS n, sum(dur) AS total, percentile(dur, 50) AS p50,
       percentile(dur, 99) AS p99
FROM slice GROUP BY name ORDER BY total DESC LIMIT 100)";
constexpr const char* kByStream = R"(SELECT rank, device, stream, kind, count(*) AS n, sum(dur) AS total
FROM slice WHERE stream IS NOT NULL GROUP BY 1, 2, 3, 4 ORDER BY total DESC)";
constexpr const char* kLaunches = R"(SELECT k.id, k.ts, k.dur, k.ts - l.ts_end AS delay, k.name, op.name AS op
FROM slice k
JOIN slice l ON l.correlation = k.correlation AND l.rank = k.rank AND l.kind = 'host'
LEFT JOIN slice op ON op.id = l.parent
WHERE k.stream IS NOT NULL ORDER BY delay DESC LIMIT 100)";
constexpr const char* kSteps = "SELECT * FROM step ORDER BY dur DESC";
constexpr const char* kBubbles = R"(SELECT rank, position, count(*) AS n, sum(dur) AS total
FROM bubble GROUP BY rank, position ORDER BY rank, total DESC)";

} // namespace

SqlPanel::SqlPanel(ViewState& state, QWidget* parent)
    : QWidget(parent), state_(state), text_(new QPlainTextEdit(this)), run_(new QPushButton(tr("&Run"), this)),
      stop_(new QPushButton(tr("Stop"), this)), status_(new ElidedLabel(this)), model_(new QueryRowsModel(this)),
      sorted_(new QSortFilterProxyModel(this)), table_(new QTableView(this)) {
    setObjectName(QStringLiteral("sqlPanel"));
    named(text_, "sqlText", tr("Query"));
    text_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    text_->setTabChangesFocus(true);
    text_->setPlainText(QString::fromLatin1(kByName)); // initial query
    text_->installEventFilter(this);
    status_->setObjectName(QStringLiteral("sqlStatus"));
    status_->setTextFormat(Qt::PlainText);
    status_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    status_->setContentsMargins(12, 4, 12, 4);
    makeTable();
    auto* query = new QWidget(this);
    QVBoxLayout* const left = tightColumn(*query);
    left->addWidget(text_, 1);
    left->addWidget(makeButtons());
    auto* rows = new QWidget(this);
    QVBoxLayout* const right = tightColumn(*rows);
    right->addWidget(status_);
    right->addWidget(table_, 1);
    auto* both = new QSplitter(Qt::Horizontal, this); // side by side, because the panel is wide and low
    addAll(*both, {query, rows});
    both->setSizes({400, 600});
    both->setChildrenCollapsible(false);
    both->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored); // allows the panels next to it to be low
    tightColumn(*this)->addWidget(both, 1);
    connect(&job_, &BackgroundJob::runningChanged, stop_, &QWidget::setEnabled);
    connect(&state_, &ViewState::sessionChanged, this, &SqlPanel::clear);
    clear();
}

QWidget* SqlPanel::makeButtons() {
    auto* row = new QWidget(this);
    run_->setObjectName(QStringLiteral("sqlRun"));
    run_->setToolTip(tr("Ctrl+Enter"));
    stop_->setObjectName(QStringLiteral("sqlStop"));
    stop_->setEnabled(false);
    auto* examples = named(new QPushButton(tr("Examples"), row), "sqlExamples");
    addExamples(*examples);
    auto* buttons = spaced(new QHBoxLayout(row), {6, 4, 6, 4}, 6);
    for (QPushButton* const button : {run_, stop_, examples})
        buttons->addWidget(button);
    buttons->addStretch(1);
    connect(run_, &QPushButton::clicked, this, &SqlPanel::run);
    connect(stop_, &QPushButton::clicked, this, [this] {
        job_.cancel();
        status_->setText(tr("Stopped."));
    });
    return row;
}

void SqlPanel::addExamples(QPushButton& button) {
    auto* menu = new QMenu(&button);
    const auto add = [&](const QString& title, const char* sql) {
        connect(menu->addAction(title), &QAction::triggered, this, [this, sql] {
            text_->setPlainText(QString::fromLatin1(sql));
            run();
        });
    };
    add(tr("Time by name"), kByName);
    add(tr("Work by stream"), kByStream);
    add(tr("Delay from launch to kernel"), kLaunches);
    add(tr("Longest steps"), kSteps);
    add(tr("Bubbles by rank and position"), kBubbles);
    button.setMenu(menu);
}

void SqlPanel::makeTable() {
    sorted_->setSourceModel(model_);
    sorted_->setSortRole(QueryRowsModel::kSortRole);
    named(table_, "sqlRows", tr("Rows of the query"));
    table_->setModel(sorted_);
    styleTable(*table_);
    table_->setSortingEnabled(true);
    table_->setTextElideMode(Qt::ElideMiddle);
    table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder); // in the query's order
    connect(table_, &QTableView::activated, this, &SqlPanel::goTo);
    connect(table_, &QTableView::doubleClicked, this, &SqlPanel::goTo);
}

bool SqlPanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == text_ && event->type() == QEvent::KeyPress) {
        const auto& key = static_cast<const QKeyEvent&>(*event);
        const bool is_enter = key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter;
        if (is_enter && key.modifiers().testFlag(Qt::ControlModifier)) {
            run();
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

Result<SqlPanel::Rows> SqlPanel::ask(const Session& session, const std::string& sql, const JobControl& control) {
    const auto begin = std::chrono::steady_clock::now();
    const RunReport* const report = session.hasSteps() ? &session.report : nullptr;
    query::Database database({session.run, report, nullptr});
    query::QueryLimits limits;
    limits.result_bytes = kMostBytes;
    BUBBLESCOPE_ASSIGN(report::DataTable rows, database.run(sql, control, limits));
    BUBBLESCOPE_ASSIGN(std::set<std::string> read, database.tablesOf(sql));
    return Rows{std::move(rows), std::move(read), std::chrono::steady_clock::now() - begin};
}

void SqlPanel::run() {
    if (!state_.session()) return;
    status_->setText(tr("Running …"));
    job_.start([session = state_.session(),
                sql = text_->toPlainText().toStdString()](JobControl& control) { return ask(*session, sql, control); },
               [this](Result<Rows> rows) { showRows(std::move(rows)); });
}

void SqlPanel::showRows(Result<Rows> rows) {
    if (!rows.ok()) {
        const Error& error = rows.error();
        const QString text = errorText(error);
        status_->setText(text);
        status_->setToolTip(text);
        emit answered();
        return;
    }
    read_ = std::move(rows.value().read);
    status_->setToolTip({});
    status_->setText(
        tr("%Ln row(s), %1", nullptr, static_cast<int>(rows.value().table.rows())).arg(shortTime(rows.value().took)));
    table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    model_->show(std::move(rows.value().table));
    for (int column = 0; column < model_->columnCount(); ++column) {
        table_->resizeColumnToContents(column);
        table_->setColumnWidth(column, std::min(table_->columnWidth(column), kWidest));
    }
    emit answered();
}

void SqlPanel::clear() {
    job_.cancel();
    read_.clear();
    model_->show(report::DataTable(std::vector<report::DataColumn>()));
    run_->setEnabled(state_.session() != nullptr);
    status_->setText(tr("Double-click a row to go to its slice or time. The manual's page on SQL lists the tables."));
}

ItemRef SqlPanel::sliceIn(int row) const {
    const Session& session = *state_.session();
    if (session.run.trace == nullptr) return {};
    const Trace& trace = *session.run.trace;
    for (const char* const name : {"slice", "slice_id", "id"}) {
        const auto id = model_->number(row, name);
        if (!id || *id < 0 || *id >= static_cast<std::int64_t>(trace.sliceCount())) continue;
        const auto slice = static_cast<SliceId>(*id);
        // Other tables also have ids.
        const auto dur = model_->number(row, "dur");
        const bool is_slice = name != std::string_view("id") || read_ == std::set<std::string>{"slice"};
        if (is_slice && (!dur || *dur == trace.sliceDurations()[slice])) return session.sliceItem(slice);
    }
    return {};
}

void SqlPanel::goTo(const QModelIndex& index) {
    const QModelIndex source = sorted_->mapToSource(index);
    if (!source.isValid() || !state_.session()) return;
    if (const ItemRef item = sliceIn(source.row())) {
        state_.select(item);
        state_.reveal(item);
        return;
    }
    const auto ts = model_->number(source.row(), "ts");
    if (!ts) return;
    const TimeNs begin{*ts};
    const TimeNs length{std::max<std::int64_t>(model_->number(source.row(), "dur").value_or(0), 0)};
    state_.zoomTo({begin, begin + length});
}

} // namespace bubblescope::gui
