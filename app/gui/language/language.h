#pragma once

#include <QHash>
#include <QObject>
#include <QTranslator>

#include <optional>

namespace bubblescope::gui {

/// Translates English strings with a table that ignores Qt's contexts. The tables are JSON files in
/// resources/translations, so that neither the build nor the app requires Qt Linguist.
class TableTranslator : public QTranslator {
    Q_OBJECT

public:
    explicit TableTranslator(QObject* parent = nullptr) : QTranslator(parent) {}

    /// Loads the table of a language from the resources. Returns false if the table does not exist or is not a JSON
    /// object of strings.
    bool loadTable(const QString& language);
    /// English strings in the table of a language.
    [[nodiscard]] static QList<QByteArray> textsOf(const QString& language);
    [[nodiscard]] bool isEmpty() const override { return texts_.isEmpty(); }
    [[nodiscard]] QString translate(const char* context, const char* source, const char* disambiguation,
                                    int n) const override;

private:
    QHash<QByteArray, QString> texts_;
};

/// Selects singular or plural in English strings with a number: "%Ln slice(s)" becomes "1 slice" or "26,933 slices".
class PluralTranslator : public QTranslator {
    Q_OBJECT

public:
    explicit PluralTranslator(QObject* parent = nullptr) : QTranslator(parent) {}

    [[nodiscard]] bool isEmpty() const override { return false; }
    [[nodiscard]] QString translate(const char* context, const char* source, const char* disambiguation,
                                    int n) const override;
};

enum class Language : std::uint8_t { System, English, Chinese };

[[nodiscard]] QString languageKey(Language language); ///< "system", "en" or "zh_CN", as stored in the settings.
[[nodiscard]] std::optional<Language> languageFromKey(const QString& key);

/// Sets the language of the application. There is one instance, on the GUI thread. Existing widgets keep their text
/// until the main window recreates them after changed().
class LanguageManager : public QObject {
    Q_OBJECT

public:
    explicit LanguageManager(QObject* parent = nullptr);
    ~LanguageManager() override;

    /// Language::System selects Chinese if the system's language is Chinese, otherwise English.
    void choose(Language language);
    [[nodiscard]] Language choice() const { return choice_; }
    /// Either English or Chinese.
    [[nodiscard]] Language current() const { return current_; }
    /// True if an installed font has the characters of the current language.
    [[nodiscard]] bool hasFont() const;

signals:
    void changed();

private:
    Language choice_ = Language::System;
    Language current_ = Language::English;
    PluralTranslator plurals_; ///< always installed; a translator for another language has priority
    TableTranslator table_;
    QTranslator qt_; ///< for Qt's own dialogs, if Qt's translations are installed
};

} // namespace bubblescope::gui
