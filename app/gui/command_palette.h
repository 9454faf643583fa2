#pragma once

#include <QDialog>
#include <QPointer>

#include <vector>

class QAction;
class QLineEdit;
class QListWidget;
class QMenuBar;

namespace bubblescope::gui {

/// Searches the commands of all menus. Each typed word must occur in the text of the action or the names of its menus.
class CommandPalette : public QDialog {
    Q_OBJECT

public:
    explicit CommandPalette(const QMenuBar& menus, QWidget* parent = nullptr);

    [[nodiscard]] QLineEdit& line() { return *line_; }
    [[nodiscard]] QListWidget& list() { return *list_; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Entry {
        QPointer<QAction> action;
        QString path; ///< menus that lead to the action, such as "View › Theme › Dark"
        QString keys;
    };
    void collect(const QList<QAction*>& actions, const QString& path);
    void filter();
    void run();

    std::vector<Entry> entries_;
    QLineEdit* line_;
    QListWidget* list_;
};

} // namespace bubblescope::gui
