#pragma once

#include <QScrollArea>

class QHBoxLayout;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace bubblescope::gui {

/// What is seen before anything is open: how to open a trace, those opened lately, demos and the tour.
/// Scrolls, so that it does not keep the window as large as it is.
class WelcomePanel : public QScrollArea {
    Q_OBJECT

public:
    explicit WelcomePanel(QWidget* parent = nullptr);

    void setRecent(const QList<QStringList>& recent);
    /// Who has not taken the tour is offered it first.
    void setNewcomer(bool newcomer);

signals:
    void openFilesRequested();
    void openDirectoryRequested();
    void watchRequested();
    void runRequested();
    void recentChosen(const QStringList& paths);
    void demoChosen(const QString& name);
    void tourRequested();

private:
    [[nodiscard]] QHBoxLayout* makeButtons();
    [[nodiscard]] QHBoxLayout* makeDemos();

    QWidget* page_;
    QLabel* recent_title_;
    QVBoxLayout* recent_;
    QPushButton* files_;
    QPushButton* tour_;
};

} // namespace bubblescope::gui
