#pragma once

#include "app/gui/help/manual_pages.h"
#include "app/gui/theme/theme_manager.h"

#include <QTextBrowser>
#include <QWidget>

class QLineEdit;
class QListWidget;
class QToolButton;

namespace bubblescope::gui {

/// A page of the manual with its drawings.
class ManualBrowser : public QTextBrowser {
    Q_OBJECT

public:
    using QTextBrowser::QTextBrowser;

    void showPage(const ManualPage& page, const QString& section);
    [[nodiscard]] const QString& path() const { return path_; }
    [[nodiscard]] QVariant loadResource(int type, const QUrl& name) override;

private:
    QString path_;
};

/// The manual: pages on the left, those that hold what is searched for; the chosen one on the right.
class ManualWindow : public QWidget {
    Q_OBJECT

public:
    explicit ManualWindow(ThemeManager& themes, QWidget* parent = nullptr);

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
    void applyTheme();

    ThemeManager& themes_;
    QLineEdit* search_;
    QListWidget* pages_;
    ManualBrowser* browser_;
    QToolButton* back_;
    QToolButton* forward_;
    std::vector<Place> past_;
    std::vector<Place> future_;
};

} // namespace bubblescope::gui
