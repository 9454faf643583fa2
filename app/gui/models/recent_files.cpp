#include "app/gui/models/recent_files.h"

#include "app/gui/language/text.h"

#include <QDir>
#include <QSettings>

namespace bubblescope::gui {

namespace {

const QString kGroup = QStringLiteral("recent");
constexpr qsizetype kMaxTextLength = 64;

void store(const QList<QStringList>& entries) {
    QSettings settings;
    settings.remove(kGroup);
    settings.beginWriteArray(kGroup);
    for (qsizetype i = 0; i < entries.size(); ++i) {
        settings.setArrayIndex(static_cast<int>(i));
        settings.setValue(QStringLiteral("paths"), entries[i]);
    }
    settings.endArray();
}

} // namespace

QList<QStringList> RecentFiles::load() {
    QList<QStringList> entries;
    QSettings settings;
    const int size = settings.beginReadArray(kGroup);
    for (int i = 0; i < size; ++i) {
        settings.setArrayIndex(i);
        const QStringList paths = settings.value(QStringLiteral("paths")).toStringList();
        if (!paths.isEmpty()) entries << paths;
    }
    settings.endArray();
    return entries;
}

void RecentFiles::add(const QStringList& paths) {
    QStringList absolute;
    for (const QString& path : paths)
        absolute << QDir::cleanPath(QDir::current().absoluteFilePath(path));
    QList<QStringList> entries = load();
    entries.removeAll(absolute);
    entries.prepend(absolute);
    if (entries.size() > kMaxEntries) entries.resize(kMaxEntries);
    store(entries);
}

void RecentFiles::clear() {
    store({});
}

QString recentText(const QStringList& paths) {
    QString text = QDir::toNativeSeparators(paths.value(0));
    if (text.size() > kMaxTextLength) text = QStringLiteral("…") + text.right(kMaxTextLength - 1);
    if (paths.size() > 1) text = tr("%1 and %2 more").arg(text).arg(paths.size() - 1);
    return text;
}

} // namespace bubblescope::gui
