#pragma once

#include <QList>
#include <QString>
#include <QStringList>

namespace bubblescope::gui {

/// Recently opened paths, newest first. Paths that were opened together are one entry. Stored in QSettings.
class RecentFiles {
public:
    static constexpr qsizetype kMaxEntries = 8;

    [[nodiscard]] static QList<QStringList> load();
    static void add(const QStringList& paths);
    static void clear();
};

/// Text for menus: the shortened first path, and the number of other paths.
[[nodiscard]] QString recentText(const QStringList& paths);

} // namespace bubblescope::gui
