#pragma once

#include <QList>
#include <QString>
#include <QStringList>

namespace bubblescope::gui {

/// What was opened lately, newest first. An entry is all paths that were opened together. Kept in QSettings.
class RecentFiles {
public:
    static constexpr qsizetype kMost = 8;

    [[nodiscard]] static QList<QStringList> load();
    static void add(const QStringList& paths);
    static void clear();
};

/// For menus: the first path, shortened, and how many more there are.
[[nodiscard]] QString recentText(const QStringList& paths);

} // namespace bubblescope::gui
