#pragma once

#include "app/gui/live/live_feed.h"

#include <QDialog>

class QLineEdit;
class QListWidget;
class QPushButton;

namespace bubblescope::gui {

/// Dialog for choosing what to watch: folders, or an address that hosts send to with `monitor --forward`.
class LiveDialog : public QDialog {
    Q_OBJECT

public:
    explicit LiveDialog(QWidget* parent = nullptr);

    [[nodiscard]] LiveTarget target() const;
    void addFolder(const QString& folder);

signals:
    void watchRequested(const bubblescope::gui::LiveTarget& target);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void chooseFolder();
    [[nodiscard]] QWidget* withChooser(QLineEdit& line, bool folder);
    void check();

    QListWidget* folders_;
    QLineEdit* folder_;
    QLineEdit* listen_;
    QLineEdit* token_;
    QLineEdit* certificate_;
    QLineEdit* key_;
    QLineEdit* keep_;
    QPushButton* watch_;
};

} // namespace bubblescope::gui
