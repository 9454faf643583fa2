#pragma once

#include "app/gui/models/demo_files.h"

#include <QAbstractButton>
#include <QScrollArea>

class QHBoxLayout;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace bubblescope::gui {

/// A demo to click: its title, and below it the sentence that says what there is to see.
class DemoCard : public QAbstractButton {
    Q_OBJECT

public:
    explicit DemoCard(const DemoTrace& demo, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }
    [[nodiscard]] const QString& says() const { return says_; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] QFont titleFont() const;
    /// Where the sentence stands in a card of that size.
    [[nodiscard]] QRect saysIn(const QRect& card) const;

    QString says_;
};

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
