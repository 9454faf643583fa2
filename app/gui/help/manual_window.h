#pragma once

#include "app/gui/language/language.h"
#include "app/gui/theme/theme.h"

#include <QString>
#include <QStringList>
#include <QTextBrowser>
#include <QWidget>

#include <vector>

class QLineEdit;
class QListWidget;
class QToolButton;

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

/// A page of the manual with its drawings.
class ManualBrowser : public QTextBrowser {
    Q_OBJECT

public:
    using QTextBrowser::QTextBrowser;

    void showPage(const ManualPage& page, const QString& section);
    [[nodiscard]] const QString& path() const { return path_; }
    [[nodiscard]] const QString& file() const { return file_; } ///< of the page, with its language
    /// How many headings begin above the window's upper edge or at it. A page has the same ones in all languages.
    [[nodiscard]] int headingsPassed() const;
    /// Puts the last of so many headings at the window's upper edge.
    void passHeadings(int count);
    [[nodiscard]] QVariant loadResource(int type, const QUrl& name) override;

private:
    QString path_;
    QString file_;
};

/// The manual: pages on the left, those that hold what is searched for; the chosen one on the right. Pages are those of
/// the application's language, and the window's own texts are in whatever language tr() gives.
class ManualWindow : public QWidget {
    Q_OBJECT

public:
    explicit ManualWindow(ThemeManager& themes, Language language = Language::English, QWidget* parent = nullptr);

    /// All texts anew, the open page at the section where it was. Called after the application's language has changed.
    void setLanguage(Language language);

    /// False where there is no such page.
    bool open(const QString& path, const QString& section = {});
    [[nodiscard]] const QString& path() const { return browser_->path(); }

private:
    struct Place {
        QString path;
        int scrolled = 0;
    };
    void follow(const QString& link);
    bool showPlace(const QString& path, const QString& section);
    void back();
    void forward();
    void move(std::vector<Place>& from, std::vector<Place>& to);
    void filter();
    void findNext();
    void markPage();
    void setTexts();
    void listPages();
    void applyTheme();

    ThemeManager& themes_;
    Language language_;
    QLineEdit* search_;
    QListWidget* pages_;
    ManualBrowser* browser_;
    QToolButton* back_;
    QToolButton* forward_;
    std::vector<Place> past_;
    std::vector<Place> future_;
};

} // namespace bubblescope::gui
