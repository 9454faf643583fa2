#pragma once

#include "app/gui/language/language.h"
#include "app/gui/theme/theme.h"

#include <QString>
#include <QTextBrowser>
#include <QWidget>

#include <vector>

class QLineEdit;
class QListWidget;
class QToolButton;

namespace bubblescope::gui {

/// A page of the built-in manual. `path` is relative to resources/manual, such as "schedules/1f1b.md", and independent
/// of the language. The Chinese text of a page is stored in zh_CN under the same path. If the Chinese text is missing,
/// the English text is shown.
struct ManualPage {
    QString path;
    QString file; ///< path of the text, such as "zh_CN/schedules/1f1b.md"; links are relative to it
    QString title;
    QString text; ///< Markdown text, without the sections for maintainers
};

inline const QString kManualFirstPage = QStringLiteral("index.md");
inline const QString kFirstStepsPage = QStringLiteral("first-steps.md"); ///< page for new users of the app

/// All pages: the pages listed on the first page, the schedules, and finally examples (files of other types that pages
/// link to). Loaded once per language. GUI thread only.
[[nodiscard]] const std::vector<ManualPage>& manualPages(Language language = Language::English);
/// Returns null if the page does not exist.
[[nodiscard]] const ManualPage* findManualPage(const QString& path, Language language = Language::English);
/// Target of a link: path of a page, and the section after '#'. The path is empty for links to other
/// sites.
struct ManualLink {
    QString path;
    QString section;
};
[[nodiscard]] ManualLink manualLink(const QString& file, const QString& link);
/// Identifier of a section in links, derived from the section title.
[[nodiscard]] QString sectionName(const QString& title);

/// Displays a page of the manual with its drawings.
class ManualBrowser : public QTextBrowser {
    Q_OBJECT

public:
    using QTextBrowser::QTextBrowser;

    void showPage(const ManualPage& page, const QString& section);
    [[nodiscard]] const QString& path() const { return path_; }
    [[nodiscard]] const QString& file() const { return file_; } ///< file name of the page, including the language
    /// Number of headings at or above the upper edge of the view. A page has the same headings in all languages.
    [[nodiscard]] int headingsPassed() const;
    /// Scrolls until headingsPassed() equals `count`, with the last of these headings at the upper edge.
    void passHeadings(int count);
    [[nodiscard]] QVariant loadResource(int type, const QUrl& name) override;

private:
    QString path_;
    QString file_;
};

/// Window with a searchable list of pages and the selected page, in the language of the
/// application.
class ManualWindow : public QWidget {
    Q_OBJECT

public:
    explicit ManualWindow(ThemeManager& themes, Language language = Language::English, QWidget* parent = nullptr);

    /// Updates all text after a change of the application's language; the open page stays at its section.
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
