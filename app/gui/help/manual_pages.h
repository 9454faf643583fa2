#pragma once

#include <QString>
#include <QStringList>

#include <vector>

namespace bubblescope::gui {

/// The manual that the program carries: the pages of resources/manual, by their paths below that, as in
/// "schedules/1f1b.md".
struct ManualPage {
    QString path;
    QString title;
    QString text; ///< Markdown, without what only the page's maker reads
};

inline const QString kManualFirstPage = QStringLiteral("index.md");

/// All of them, in the order in which the first page names them, then the schedules, and last the examples that pages
/// lead to, which are files of other kinds. Read once.
[[nodiscard]] const std::vector<ManualPage>& manualPages();
/// Null where there is none.
[[nodiscard]] const ManualPage* findManualPage(const QString& path);
/// What a link on a page leads to, as a path and what follows '#'; an empty path where it leaves the manual.
struct ManualLink {
    QString path;
    QString section;
};
[[nodiscard]] ManualLink manualLink(const QString& from, const QString& link);
/// How links name a section with this title.
[[nodiscard]] QString sectionName(const QString& title);

} // namespace bubblescope::gui
