#pragma once

#include <QFrame>
#include <QPointer>
#include <QString>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

class QLabel;
class QPushButton;

namespace bubblescope::gui {

class LanguageManager;
class ThemeManager;

/// A stop of the tour: what it points at, and what it says.
struct TourStep {
    QString target; ///< object name of the widget
    QString panel;  ///< to bring to the front before, as for TourPlace::show_panel; empty = none
    QString title;
    QString text;
};

/// The demo that the tour is written for; it can be taken with any trace.
inline constexpr const char* kTourDemo = "slow-last-stage";

/// In the user's language.
[[nodiscard]] std::vector<TourStep> tourSteps();

/// What a tour needs of the window that it leads through. All of it outlives the tour.
struct TourPlace {
    QWidget& window;
    ThemeManager& themes;
    LanguageManager& languages;
    std::function<void(const QString& panel)> show_panel; ///< brings a panel to the front by its name
};

/// Draws the eye to a part of the window: the rest is dimmed. Takes no events.
class TourSpotlight : public QWidget {
    Q_OBJECT

public:
    explicit TourSpotlight(QWidget* window);

    void pointAt(const QRect& place, const QColor& frame);
    [[nodiscard]] const QRect& place() const { return place_; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QRect place_;
    QColor frame_;
};

/// Leads through the window: points at one part after the other and says what it is for. Lies over the window's
/// widgets, which can be used meanwhile. Escape ends it; it deletes itself.
class Tour : public QFrame {
    Q_OBJECT

public:
    /// Begins at step `at`, counted from 0.
    explicit Tour(TourPlace where, int at = 0);
    ~Tour() override;

    void show(int step);
    [[nodiscard]] int step() const { return step_; }
    [[nodiscard]] int count() const { return static_cast<int>(steps_.size()); }
    /// What it says now.
    [[nodiscard]] QString title() const;
    [[nodiscard]] QString text() const;
    /// What it points at; null if the window has no such part.
    [[nodiscard]] QWidget* target() const { return target_; }
    [[nodiscard]] const TourSpotlight& spotlight() const { return *spotlight_; }

    /// Whether one was taken or skipped on this account.
    [[nodiscard]] static bool seen();
    static void setSeen(bool seen);

signals:
    void ended();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void end();
    void say();
    void place();
    void placeLater();
    void applyTheme();
    [[nodiscard]] QWidget* find(const QString& name) const;

    TourPlace where_;
    std::vector<TourStep> steps_;
    int step_ = 0;
    bool due_ = false; ///< to be placed anew
    QPointer<QWidget> target_;
    QPointer<TourSpotlight> spotlight_;
    QLabel* title_;
    QLabel* text_;
    QLabel* count_;
    QPushButton* skip_;
    QPushButton* back_;
    QPushButton* next_;
};

/// Begins tours, one at a time: at once, or when the trace that is being opened is there. Lives on the GUI thread.
class TourLauncher {
public:
    explicit TourLauncher(TourPlace place) : place_(std::move(place)) {}

    /// Begins at step `step`, counted from 0; ends the tour that is being taken.
    void start(int step);
    /// The same, with the next opened().
    void startWhenOpened(int step) { waiting_ = step; }
    void end() { delete tour_; }
    /// What was being opened is there, or will not come.
    void opened();
    void cancelled() { waiting_.reset(); }
    /// The tour that is being taken, or null.
    [[nodiscard]] Tour* tour() const { return tour_; }

private:
    TourPlace place_;
    QPointer<Tour> tour_;
    std::optional<int> waiting_; ///< the step to begin at
};

} // namespace bubblescope::gui
