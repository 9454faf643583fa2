#pragma once

#include <QWidget>

class QLabel;
class QVBoxLayout;

namespace bubblescope::gui {

/// What is seen before anything is open: how to open a trace, and those opened lately.
class WelcomePanel : public QWidget {
    Q_OBJECT

public:
    explicit WelcomePanel(QWidget* parent = nullptr);

    void setRecent(const QList<QStringList>& recent);

signals:
    void openFilesRequested();
    void openDirectoryRequested();
    void watchRequested();
    void runRequested();
    void recentChosen(const QStringList& paths);

private:
    QLabel* recent_title_;
    QVBoxLayout* recent_;
};

} // namespace bubblescope::gui
