#pragma once

#include <QDialog>
#include <QString>

#include <vector>

class QLineEdit;
class QMenuBar;
class QScrollArea;

namespace bubblescope::gui {

/// Dialog with all keyboard shortcuts and mouse actions, grouped by menu, with a search field. Fits on the screen.
class KeySheet : public QDialog {
    Q_OBJECT

public:
    struct Entry {
        QString group; ///< name of the menu
        QString keys;  ///< such as "W, +, ="
        QString text;
    };

    /// Lists all menu actions that have shortcuts.
    KeySheet(const QMenuBar& menus, QWidget* parent);

    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
    [[nodiscard]] QLineEdit& line() { return *line_; }

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void collect(const QList<QAction*>& actions, const QString& group);
    void addMouse();
    [[nodiscard]] int columnsThatFit() const;
    void fill();

    std::vector<Entry> entries_;
    QLineEdit* line_;
    QScrollArea* area_;
    int columns_ = 0;
};

/// Removes mnemonics from the text of a menu: "Open" for "&Open" and for "Open(&O)".
[[nodiscard]] QString plainMenuText(QString text);

} // namespace bubblescope::gui
