#pragma once

#include "app/gui/language/translator.h"

#include <QObject>
#include <QTranslator>

#include <optional>

namespace bubblescope::gui {

enum class Language : std::uint8_t { System, English, Chinese };

[[nodiscard]] QString languageKey(Language language); ///< "system", "en", "zh_CN"; also the setting's value
[[nodiscard]] std::optional<Language> languageFromKey(const QString& key);

/// Puts a language on the whole application. One per application, on the GUI thread. Widgets that are there keep their
/// texts; the main window makes its own anew when changed() says so.
class LanguageManager : public QObject {
    Q_OBJECT

public:
    explicit LanguageManager(QObject* parent = nullptr) : QObject(parent) {}
    ~LanguageManager() override;

    /// System is Chinese where the system's is, and else English.
    void choose(Language language);
    [[nodiscard]] Language choice() const { return choice_; }
    /// English or Chinese.
    [[nodiscard]] Language current() const { return current_; }
    /// Whether a font here has the letters of the current language.
    [[nodiscard]] bool hasFont() const;

signals:
    void changed();

private:
    Language choice_ = Language::System;
    Language current_ = Language::English;
    TableTranslator table_;
    QTranslator qt_; ///< of Qt's own dialogs, where its translations are installed
};

} // namespace bubblescope::gui
