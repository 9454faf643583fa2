#include "app/gui/help/manual_pages.h"

#include <QDir>
#include <QFile>
#include <QRegularExpression>
#include <QUrl>

#include <algorithm>

void initManualResource() {
    Q_INIT_RESOURCE(manual); // in a static library nobody else asks for it
}

namespace bubblescope::gui {

namespace {

const QString kRoot = QStringLiteral(":/manual/");

/// Of the pages in a language, below that of the English ones; empty for English.
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

} // namespace bubblescope::gui
