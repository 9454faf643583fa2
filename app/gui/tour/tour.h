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

/// A step of the tour: its target and its text.
struct TourStep {
    QString target; ///< object name of the target widget
    QString panel;  ///< to bring to the front first, see TourPlace::show_panel; empty = none
    QString title;
    QString text;
};

/// The demo that the tour is written for; any trace will do.
inline constexpr const char* kTourDemo = "slow-last-stage";

/// In the user's language.
[[nodiscard]] std::vector<TourStep> tourSteps();

/// What a tour needs of its window. Must outlive the tour.
struct TourPlace {
    QWidget& window;
    ThemeManager& themes;
    LanguageManager& languages;
    std::function<void(const QString& panel)> show_panel; ///< brings the panel of that name to the front
};

/// Highlights a part of the window by dimming the rest. Ignores events.
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

/// A guided tour of the window: points at one part after the other and explains it. Lies over the window's widgets,
/// which remain usable. Escape ends it; it deletes itself.
class Tour : public QFrame {
    Q_OBJECT

public:
    /// Begins at step `at`, counted from 0.
    explicit Tour(TourPlace where, int at = 0);
    ~Tour() override;

    void show(int step);
    [[nodiscard]] int step() const { return step_; }
    [[nodiscard]] int count() const { return static_cast<int>(steps_.size()); }
    /// The texts of the current step.
    [[nodiscard]] QString title() const;
    [[nodiscard]] QString text() const;
    /// The current target; null if the window has no such part.
    [[nodiscard]] QWidget* target() const { return target_; }
    [[nodiscard]] const TourSpotlight& spotlight() const { return *spotlight_; }

    /// Ends the tour, as its last button and Escape do.
    void end();

    /// Whether the user has taken or skipped a tour.
    [[nodiscard]] static bool seen();
    static void setSeen(bool seen);

signals:
    void ended();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void say();
    void place();
    void placeLater();
    void applyTheme();
    [[nodiscard]] QWidget* find(const QString& name) const;

    TourPlace where_;
    std::vector<TourStep> steps_;
    int step_ = 0;
    bool due_ = false; ///< to be placed again
    QPointer<QWidget> target_;
    QPointer<TourSpotlight> spotlight_;
    QLabel* title_;
    QLabel* text_;
    QLabel* count_;
    QPushButton* skip_;
    QPushButton* back_;
    QPushButton* next_;
};

/// Starts tours, one at a time: at once, or when the trace being opened is loaded. Lives on the GUI thread.
class TourLauncher {
public:
    explicit TourLauncher(TourPlace place) : place_(std::move(place)) {}

    /// Starts at step `step`, counted from 0; ends the running tour.
    void start(int step);
    /// The same with the next opened().
    void startWhenOpened(int step) { waiting_ = step; }
    void end() { delete tour_; }
    /// The trace being opened is loaded, or will not be.
    void opened();
    void cancelled() { waiting_.reset(); }
    /// The running tour, or null.
    [[nodiscard]] Tour* tour() const { return tour_; }

private:
    TourPlace place_;
    QPointer<Tour> tour_;
    std::optional<int> waiting_; ///< first step of the tour to come
};

} // namespace bubblescope::gui
