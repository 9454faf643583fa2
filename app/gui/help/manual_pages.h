#pragma once

#include "app/gui/language/language_manager.h"

#include <QString>
#include <QStringList>

#include <vector>

namespace bubblescope::gui {

/// The manual that the program carries: the pages of resources/manual, by their paths below that, as in
/// "schedules/1f1b.md". A page has the same path in every language. Its Chinese text lies under that path in zh_CN;
/// where there is none, the English one takes its place.
struct ManualPage {
    QString path;
    QString file; ///< where the text lies, as in "zh_CN/schedules/1f1b.md"; its links are relative to that
    QString title;
    QString text; ///< Markdown, without what only the page's maker reads
};

inline const QString kManualFirstPage = QStringLiteral("index.md");

/// All of them, in the order in which the first page names them, then the schedules, and last the examples that pages
/// lead to, which are files of other kinds. Each language's are read once. GUI thread only.
[[nodiscard]] const std::vector<ManualPage>& manualPages(Language language = Language::English);
/// Null where there is none.
[[nodiscard]] const ManualPage* findManualPage(const QString& path, Language language = Language::English);
/// What a link in a page's file leads to, as a page's path and what follows '#'; an empty path where it leaves the
/// manual.
struct ManualLink {
    QString path;
    QString section;
};
[[nodiscard]] ManualLink manualLink(const QString& file, const QString& link);
/// How links name a section with this title.
[[nodiscard]] QString sectionName(const QString& title);

} // namespace bubblescope::gui
