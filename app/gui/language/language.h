#pragma once

#include <QHash>
#include <QObject>
#include <QTranslator>

#include <optional>

namespace bubblescope::gui {

/// Translates by a table of English texts and their translations, whatever the class that says them. The tables are
/// JSON files in resources/translations, so that building and running need no Linguist tools.
class TableTranslator : public QTranslator {
    Q_OBJECT

public:
    explicit TableTranslator(QObject* parent = nullptr) : QTranslator(parent) {}

    /// From the program's resources. False where there is no such table, or it is no JSON object of texts.
    bool loadTable(const QString& language);
    /// The English texts of a language's table.
    [[nodiscard]] static QList<QByteArray> textsOf(const QString& language);
    [[nodiscard]] bool isEmpty() const override { return texts_.isEmpty(); }
    [[nodiscard]] QString translate(const char* context, const char* source, const char* disambiguation,
                                    int n) const override;

private:
    QHash<QByteArray, QString> texts_;
};

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
