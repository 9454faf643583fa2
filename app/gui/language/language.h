#pragma once

#include <QHash>
#include <QObject>
#include <QTranslator>

#include <optional>

namespace bubblescope::gui {

/// Translates with a table of English texts and their translations, regardless of the context. The tables are JSON
/// files in resources/translations, so that building and running do not require Linguist tools.
class TableTranslator : public QTranslator {
    Q_OBJECT

public:
    explicit TableTranslator(QObject* parent = nullptr) : QTranslator(parent) {}

    /// Loads a table from the program's resources. Returns false if there is none, or if it is not a JSON object of
    /// strings.
    bool loadTable(const QString& language);
    /// The English texts in a language's table.
    [[nodiscard]] static QList<QByteArray> textsOf(const QString& language);
    [[nodiscard]] bool isEmpty() const override { return texts_.isEmpty(); }
    [[nodiscard]] QString translate(const char* context, const char* source, const char* disambiguation,
                                    int n) const override;

private:
    QHash<QByteArray, QString> texts_;
};

/// Puts English texts with a number (%Ln) into singular or plural: "%Ln slice(s)" becomes "1 slice" or "26,933 slices".
class PluralTranslator : public QTranslator {
    Q_OBJECT

public:
    explicit PluralTranslator(QObject* parent = nullptr) : QTranslator(parent) {}

    [[nodiscard]] bool isEmpty() const override { return false; }
    [[nodiscard]] QString translate(const char* context, const char* source, const char* disambiguation,
                                    int n) const override;
};

enum class Language : std::uint8_t { System, English, Chinese };

[[nodiscard]] QString languageKey(Language language); ///< "system", "en", "zh_CN"; also the setting's value
[[nodiscard]] std::optional<Language> languageFromKey(const QString& key);

/// Sets the language of the whole application. One per application, on the GUI thread. Existing widgets keep their
/// texts; the main window is rebuilt on changed().
class LanguageManager : public QObject {
    Q_OBJECT

public:
    explicit LanguageManager(QObject* parent = nullptr);
    ~LanguageManager() override;

    /// System means Chinese on a Chinese system, otherwise English.
    void choose(Language language);
    [[nodiscard]] Language choice() const { return choice_; }
    /// English or Chinese.
    [[nodiscard]] Language current() const { return current_; }
    /// True if an installed font has the characters of the current language.
    [[nodiscard]] bool hasFont() const;

signals:
    void changed();

private:
    Language choice_ = Language::System;
    Language current_ = Language::English;
    PluralTranslator plurals_; ///< always installed; a translator for another language takes precedence
    TableTranslator table_;
    QTranslator qt_; ///< for Qt's own dialogs, if Qt's translations are installed
};

} // namespace bubblescope::gui
