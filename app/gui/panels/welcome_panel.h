#pragma once

#include "app/gui/models/demo_files.h"

#include <QAbstractButton>
#include <QScrollArea>

class QHBoxLayout;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace bubblescope::gui {

/// Button that opens a demo, with its title and description.
class DemoCard : public QAbstractButton {
    Q_OBJECT

public:
    explicit DemoCard(const DemoTrace& demo, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }
    [[nodiscard]] const QString& description() const { return description_; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] QFont titleFont() const;
    /// Rectangle of the description in a card of this size.
    [[nodiscard]] QRect descriptionRect(const QRect& card) const;

    QString description_;
};

/// Page that is shown while no trace is open: ways to open a trace, recent files, and demos. Scrollable, so that the
/// window can be small.
class WelcomePanel : public QScrollArea {
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
    void demoChosen(const QString& name);
    void firstStepsRequested();

private:
    [[nodiscard]] QHBoxLayout* makeButtons();
    [[nodiscard]] QHBoxLayout* makeDemos();

    QWidget* page_;
    QLabel* recent_title_;
    QVBoxLayout* recent_;
    QPushButton* files_;
};

} // namespace bubblescope::gui
