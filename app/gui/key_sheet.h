#pragma once

#include <QDialog>
#include <QString>

#include <vector>

class QLineEdit;
class QMenuBar;
class QScrollArea;

namespace bubblescope::gui {

/// All keys and mouse actions, in columns by menu, with a search line. Fits the screen.
class KeySheet : public QDialog {
    Q_OBJECT

public:
    struct Entry {
        QString group; ///< the menu
        QString keys;  ///< "W, +, ="
        QString text;
    };

    /// Lists the actions of all menus that have shortcuts.
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

/// A menu's text without mnemonics: "Open" for "&Open" and for "Open(&O)".
[[nodiscard]] QString plainMenuText(QString text);

} // namespace bubblescope::gui
