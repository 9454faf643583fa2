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

/// A page of the built-in manual. `path` is relative to resources/manual, such as "schedules/1f1b.md", and is the same
/// in every language. The Chinese text of a page is stored in zh_CN under the same path; if there is none, the English
/// text is shown.
struct ManualPage {
    QString path;
    QString file; ///< path of the text, such as "zh_CN/schedules/1f1b.md"; its links are relative to it
    QString title;
    QString text; ///< Markdown, without the parts for maintainers
};

inline const QString kManualFirstPage = QStringLiteral("index.md");
inline const QString kFirstStepsPage = QStringLiteral("first-steps.md"); ///< for new users of the app

/// All pages: those listed on the first page, in that order, then the schedules, then the examples that pages link to,
/// which are files of other types. Read once per language. GUI thread only.
[[nodiscard]] const std::vector<ManualPage>& manualPages(Language language = Language::English);
/// Null if there is no such page.
[[nodiscard]] const ManualPage* findManualPage(const QString& path, Language language = Language::English);
/// The target of a link in a page's file: the path of a page and the section after '#'. The path is empty for links
/// that leave the manual.
struct ManualLink {
    QString path;
    QString section;
};
[[nodiscard]] ManualLink manualLink(const QString& file, const QString& link);
/// The name that links use for a section with this title.
[[nodiscard]] QString sectionName(const QString& title);

/// Shows a page of the manual with its drawings.
class ManualBrowser : public QTextBrowser {
    Q_OBJECT

public:
    using QTextBrowser::QTextBrowser;

    void showPage(const ManualPage& page, const QString& section);
    [[nodiscard]] const QString& path() const { return path_; }
    [[nodiscard]] const QString& file() const { return file_; } ///< file name of the page, with its language
    /// The number of headings that start at or above the upper edge. A page has the same headings in all languages.
    [[nodiscard]] int headingsPassed() const;
    /// Scrolls so that this many headings have been passed, with the last one at the upper edge.
    void passHeadings(int count);
    [[nodiscard]] QVariant loadResource(int type, const QUrl& name) override;

private:
    QString path_;
    QString file_;
};

/// The manual window: a list of pages, filtered by a search, and the chosen page. The pages are in the application's
/// language.
class ManualWindow : public QWidget {
    Q_OBJECT

public:
    explicit ManualWindow(ThemeManager& themes, Language language = Language::English, QWidget* parent = nullptr);

    /// Replaces all texts, keeping the open page at its section. Call it after the application's language has changed.
    void setLanguage(Language language);

    /// Returns false if the page does not exist.
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
