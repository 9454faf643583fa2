#include "app/gui/manual_window.h"

#include "app/gui/panels/widgets.h"

#include <QAbstractTextDocumentLayout>
#include <QDesktopServices>
#include <QDir>
#include <QFile>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QRegularExpression>
#include <QScrollBar>
#include <QShortcut>
#include <QSplitter>
#include <QSvgRenderer>
#include <QTextBlock>
#include <QTextTable>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

void initManualResource() {
    Q_INIT_RESOURCE(manual); // resources of a static library must be initialised explicitly
}

namespace bubblescope::gui {

namespace {

const QString kRoot = QStringLiteral(":/manual/");

/// Folder of the pages in a language, relative to the folder of the English pages; empty for English.
QString translationFolder(Language language) {
    return language == Language::Chinese ? languageKey(language) + QLatin1Char('/') : QString();
}

ManualPage readPage(const QString& path, Language language) {
    static const QRegularExpression mark(QStringLiteral("<!--.*?-->\\n?"),
                                         QRegularExpression::DotMatchesEverythingOption);
    static const QRegularExpression title(QStringLiteral("^#\\s+(.+)$"), QRegularExpression::MultilineOption);
    ManualPage page;
    page.path = path;
    page.file = translationFolder(language) + path;
    if (!QFile::exists(kRoot + page.file)) page.file = path;
    QFile file(kRoot + page.file);
    if (file.open(QIODevice::ReadOnly)) page.text = QString::fromUtf8(file.readAll()).remove(mark);
    page.title = title.match(page.text).captured(1);
    page.title.remove(QLatin1Char('`'));
    if (page.title.isEmpty()) page.title = path;
    return page;
}

std::vector<ManualPage> readPages(Language language) {
    initManualResource();
    std::vector<ManualPage> pages;
    const auto add = [&pages, language](const QString& path) {
        const auto known = [&path](const ManualPage& page) { return page.path == path; };
        if (!QFile::exists(kRoot + path) || std::ranges::any_of(pages, known)) return;
        pages.push_back(readPage(path, language));
    };
    add(kManualFirstPage);
    static const QRegularExpression link(QStringLiteral("\\]\\(([\\w/-]+\\.md)\\)"));
    if (!pages.empty()) {
        const QString first = pages.front().text;
        for (auto found = link.globalMatch(first); found.hasNext();)
            add(found.next().captured(1));
    }
    const QStringList pattern{QStringLiteral("*.md")};
    for (const QString& name : QDir(kRoot).entryList(pattern, QDir::Files, QDir::Name))
        add(name);
    for (const QString& name : QDir(kRoot + QStringLiteral("schedules")).entryList(pattern, QDir::Files, QDir::Name))
        add(QStringLiteral("schedules/") + name);
    for (const QString& name :
         QDir(kRoot + QStringLiteral("examples")).entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name)) {
        const QString path = QStringLiteral("examples/") + name;
        QFile file(kRoot + path);
        if (!file.open(QIODevice::ReadOnly)) continue;
        const QString text = QString::fromUtf8(file.readAll());
        pages.push_back({path, path, path, QStringLiteral("# %1\n\n```\n%2\n```\n").arg(name, text)});
    }
    return pages;
}

} // namespace

const std::vector<ManualPage>& manualPages(Language language) {
    static const std::vector<ManualPage> english = readPages(Language::English);
    if (language != Language::Chinese) return english;
    static const std::vector<ManualPage> chinese = readPages(Language::Chinese);
    return chinese;
}

const ManualPage* findManualPage(const QString& path, Language language) {
    const auto& pages = manualPages(language);
    const auto found = std::ranges::find(pages, path, &ManualPage::path);
    return found == pages.end() ? nullptr : &*found;
}

ManualLink manualLink(const QString& file, const QString& link) {
    const QUrl url(link);
    if (!url.scheme().isEmpty()) return {};
    QString path = file;
    if (!url.path().isEmpty()) {
        const QString folder = file.contains(QLatin1Char('/')) ? file.section(QLatin1Char('/'), 0, -2) : QString();
        path = QDir::cleanPath(folder.isEmpty() ? url.path() : folder + QLatin1Char('/') + url.path());
    }
    const QString translations = translationFolder(Language::Chinese);
    if (path.startsWith(translations)) path.remove(0, translations.size());
    return {path, url.fragment(QUrl::FullyDecoded)};
}

QString sectionName(const QString& title) {
    QString name;
    for (const QChar c : title.toLower()) {
        if (c.isLetterOrNumber() || c == QLatin1Char('-') || c == QLatin1Char('_')) name += c;
        if (c.isSpace()) name += QLatin1Char('-');
    }
    return name;
}

namespace {

constexpr int kDrawingWidth = 760; ///< logical pixels; the approximate width of a readable page
constexpr int kPathRole = Qt::UserRole;

} // namespace

void ManualBrowser::showPage(const ManualPage& page, const QString& section) {
    path_ = page.path;
    file_ = page.file;
    document()->setMarkdown(page.text, QTextDocument::MarkdownDialectGitHub);
    for (QTextFrame* frame : document()->rootFrame()->childFrames()) {
        auto* table = qobject_cast<QTextTable*>(frame);
        if (table == nullptr) continue;
        QTextTableFormat format = table->format();
        format.setBorderCollapse(true);
        format.setBorderStyle(
            QTextFrameFormat::BorderStyle_Solid); // otherwise, half of the lines are too light to be visible
        format.setBorderBrush(palette().color(QPalette::Mid));
        format.setCellPadding(4);
        table->setFormat(format);
    }
    moveCursor(QTextCursor::Start); // otherwise, the view would later scroll to the cursor at the end
    verticalScrollBar()->setValue(0);
    if (section.isEmpty()) return;
    for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
        if (block.blockFormat().headingLevel() == 0 || sectionName(block.text()) != section) continue;
        verticalScrollBar()->setValue(qRound(document()->documentLayout()->blockBoundingRect(block).top()));
        return;
    }
}

int ManualBrowser::headingsPassed() const {
    int count = 0;
    const QAbstractTextDocumentLayout& layout = *document()->documentLayout();
    for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
        if (block.blockFormat().headingLevel() == 0) continue;
        if (qRound(layout.blockBoundingRect(block).top()) > verticalScrollBar()->value()) break;
        ++count;
    }
    return count;
}

void ManualBrowser::passHeadings(int count) {
    for (QTextBlock block = document()->begin(); block.isValid() && count > 0; block = block.next()) {
        if (block.blockFormat().headingLevel() == 0 || --count > 0) continue;
        verticalScrollBar()->setValue(qRound(document()->documentLayout()->blockBoundingRect(block).top()));
    }
}

QVariant ManualBrowser::loadResource(int type, const QUrl& name) {
    if (type != QTextDocument::ImageResource) return {};
    QSvgRenderer drawing(kRoot + manualLink(file_, name.toString()).path);
    if (!drawing.isValid()) return {};
    const int width = qRound(kDrawingWidth * devicePixelRatioF());
    const QSize size = drawing.defaultSize();
    QImage image(width, width * size.height() / size.width(), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    drawing.render(&painter);
    painter.end();
    image.setDevicePixelRatio(devicePixelRatioF());
    return image;
}

ManualWindow::ManualWindow(ThemeManager& themes, Language language, QWidget* parent)
    : QWidget(parent, Qt::Window), themes_(themes), language_(language), search_(new QLineEdit(this)),
      pages_(new QListWidget(this)), browser_(new ManualBrowser(this)), back_(new QToolButton(this)),
      forward_(new QToolButton(this)) {
    setObjectName(QStringLiteral("manualWindow"));
    resize(1120, 800);
    search_->setObjectName(QStringLiteral("manualSearch"));
    search_->setClearButtonEnabled(true);
    pages_->setObjectName(QStringLiteral("manualPages"));
    pages_->setFrameShape(QFrame::NoFrame);
    pages_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    pages_->setTextElideMode(Qt::ElideRight);
    browser_->setObjectName(QStringLiteral("manualBrowser"));
    browser_->setFrameShape(QFrame::NoFrame);
    browser_->setOpenLinks(false);
    browser_->document()->setDocumentMargin(24);
    back_->setObjectName(QStringLiteral("manualBack"));
    forward_->setObjectName(QStringLiteral("manualForward"));
    setTexts();
    listPages();

    auto* left = new QWidget(this);
    auto* left_column = spaced(new QVBoxLayout(left), {8, 8, 4, 8});
    left_column->addWidget(search_);
    left_column->addWidget(pages_, 1);
    auto* right = new QWidget(this);
    auto* right_column = spaced(new QVBoxLayout(right), {4, 8, 8, 8});
    auto* row = new QHBoxLayout;
    addAll(*row, {back_, forward_});
    row->addStretch(1);
    right_column->addLayout(row);
    right_column->addWidget(browser_, 1);
    auto* splitter = new QSplitter(Qt::Horizontal, this);
    addAll(*splitter, {left, right});
    splitter->setSizes({290, 830});
    splitter->setStretchFactor(1, 1);
    splitter->setChildrenCollapsible(false);
    auto* column = spaced(new QVBoxLayout(this), {0, 0, 0, 0});
    column->addWidget(splitter);

    connect(search_, &QLineEdit::textChanged, this, &ManualWindow::filter);
    connect(search_, &QLineEdit::returnPressed, this, &ManualWindow::findNext);
    connect(pages_, &QListWidget::currentItemChanged, this, [this](QListWidgetItem* item) {
        if (item != nullptr) open(item->data(kPathRole).toString());
    });
    connect(browser_, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) { follow(link.toString()); });
    connect(back_, &QToolButton::clicked, this, &ManualWindow::back);
    connect(forward_, &QToolButton::clicked, this, &ManualWindow::forward);
    connect(&themes_, &ThemeManager::changed, this, &ManualWindow::applyTheme);
    const auto key = [this](const QKeySequence& keys, auto slot) {
        connect(new QShortcut(keys, this), &QShortcut::activated, this, slot);
    };
    key(QKeySequence::Back, &ManualWindow::back);
    key(QKeySequence::Forward, &ManualWindow::forward);
    key(QKeySequence::Find, [this] { search_->setFocus(); });
    key(QKeySequence(Qt::Key_Escape), [this] { close(); });
    applyTheme();
    open(kManualFirstPage);
}

void ManualWindow::setTexts() {
    setWindowTitle(tr("Manual – Bubblescope"));
    search_->setPlaceholderText(tr("Search the manual"));
    search_->setAccessibleName(tr("Search the manual"));
    pages_->setAccessibleName(tr("Pages"));
    browser_->setAccessibleName(tr("Manual"));
    back_->setText(tr("← Back"));
    forward_->setText(tr("Forward →"));
}

void ManualWindow::listPages() {
    const QSignalBlocker quiet(pages_);
    pages_->clear();
    for (const ManualPage& page : manualPages(language_)) {
        if (!page.path.endsWith(QLatin1String(".md"))) continue; // an example that pages link to
        const bool below = page.path.contains(QLatin1Char('/'));
        auto* item = new QListWidgetItem((below ? QStringLiteral("    ") : QString()) + page.title, pages_);
        item->setData(kPathRole, page.path);
        item->setToolTip(page.title);
    }
}

void ManualWindow::setLanguage(Language language) {
    const int passed = browser_->headingsPassed();
    language_ = language;
    setTexts();
    listPages();
    filter();
    showPlace(browser_->path(), {});
    browser_->passHeadings(passed);
}

bool ManualWindow::showPlace(const QString& path, const QString& section) {
    const ManualPage* page = findManualPage(path, language_);
    if (page == nullptr) return false;
    browser_->showPage(*page, section);
    back_->setEnabled(!past_.empty());
    forward_->setEnabled(!future_.empty());
    markPage();
    return true;
}

bool ManualWindow::open(const QString& path, const QString& section) {
    if (findManualPage(path, language_) == nullptr) return false;
    if (path == browser_->path() && section.isEmpty()) return true;
    if (!browser_->path().isEmpty()) past_.push_back({browser_->path(), browser_->verticalScrollBar()->value()});
    future_.clear();
    return showPlace(path, section);
}

void ManualWindow::follow(const QString& link) {
    const ManualLink to = manualLink(browser_->file(), link);
    if (!to.path.isEmpty() && open(to.path, to.section)) return;
    const QUrl url(link);
    if (url.scheme() == QLatin1String("https") || url.scheme() == QLatin1String("http")) QDesktopServices::openUrl(url);
}

void ManualWindow::move(std::vector<Place>& from, std::vector<Place>& to) {
    if (from.empty()) return;
    to.push_back({browser_->path(), browser_->verticalScrollBar()->value()});
    const Place place = from.back();
    from.pop_back();
    showPlace(place.path, {});
    browser_->verticalScrollBar()->setValue(place.scrolled);
}

void ManualWindow::back() {
    move(past_, future_);
}

void ManualWindow::forward() {
    move(future_, past_);
}

void ManualWindow::markPage() {
    const QSignalBlocker quiet(pages_);
    for (int row = 0; row < pages_->count(); ++row) {
        if (pages_->item(row)->data(kPathRole).toString() == browser_->path()) return pages_->setCurrentRow(row);
    }
}

/// Lists the pages that contain all words.
void ManualWindow::filter() {
    const QStringList words = search_->text().split(QLatin1Char(' '), Qt::SkipEmptyParts);
    for (int row = 0; row < pages_->count(); ++row) {
        const ManualPage* page = findManualPage(pages_->item(row)->data(kPathRole).toString(), language_);
        const bool fits = std::all_of(words.begin(), words.end(), [page](const QString& word) {
            return page->text.contains(word, Qt::CaseInsensitive);
        });
        pages_->item(row)->setHidden(!fits);
    }
}

/// Goes to the next match on this page, or on the next listed page.
void ManualWindow::findNext() {
    const QString text = search_->text().trimmed();
    if (text.isEmpty() || browser_->find(text)) return;
    const int rows = pages_->count();
    for (int step = 1; step <= rows; ++step) {
        const int row = (pages_->currentRow() + step) % rows;
        if (pages_->item(row)->isHidden()) continue;
        open(pages_->item(row)->data(kPathRole).toString());
        browser_->moveCursor(QTextCursor::Start);
        browser_->find(text);
        return;
    }
}

void ManualWindow::applyTheme() {
    // Code and rulers take their colours from the palette when a page is laid out.
    const QString path = browser_->path();
    if (const ManualPage* page = findManualPage(path, language_)) browser_->showPage(*page, {});
}

} // namespace bubblescope::gui
