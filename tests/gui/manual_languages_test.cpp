#include "app/gui/main_window.h"
#include "app/gui/manual_window.h"
#include "tests/gui/gui_tests.h"

#include <QDir>
#include <QFile>
#include <QLineEdit>
#include <QListWidget>
#include <QRegularExpression>
#include <QScrollBar>
#include <QString>
#include <QStringList>
#include <QTest>
#include <QTextBlock>
#include <QToolButton>

#include <algorithm>
#include <utility>
#include <vector>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// The structure that a page of the manual and its translation must share.
struct PageStructure {
    struct Section {
        QString title;
        int level = 0;
        QStringList links;  ///< as in the page, sorted: languages differ in the order of words
        QStringList images; ///< in alphabetical order
    };
    std::vector<Section> sections;       ///< the first has level 0 and holds what precedes the first heading
    QStringList blocks;                  ///< code blocks with their fences
    QStringList marks;                   ///< comments, which generate parts of the page
    QStringList codes;                   ///< code within lines, each once, sorted
    std::vector<int> columns;            ///< of each table
    std::vector<std::size_t> table_rows; ///< of each table, with its header
};

/// Cells of a table row; a bar after a backslash belongs to the cell.
int cellsOf(const QString& line) {
    static const QRegularExpression bar(QStringLiteral("(?<!\\\\)\\|"));
    return static_cast<int>(line.count(bar)) - 1;
}

class PageParser {
public:
    PageStructure parse(const QString& markdown) {
        page_.sections.emplace_back();
        for (const QString& line : markdown.split(QLatin1Char('\n')))
            take(line);
        endParagraph();
        for (PageStructure::Section& section : page_.sections) {
            section.links.sort();
            section.images.sort();
        }
        page_.codes.removeDuplicates();
        page_.codes.sort();
        return page_;
    }

private:
    void take(const QString& line) {
        const bool fence = line.trimmed().startsWith(QLatin1String("```"));
        const bool indented = paragraph_.isEmpty() && line.startsWith(QLatin1String("    "));
        if (fenced_ || fence || indented) {
            endParagraph();
            if (!fenced_) page_.blocks << QString();
            page_.blocks.back() += line + QLatin1Char('\n');
            if (fence) fenced_ = !fenced_;
            table_ = false;
            return;
        }
        if (line.startsWith(QLatin1String("<!--"))) page_.marks << line;
        const bool row = line.startsWith(QLatin1Char('|'));
        if (row && !table_) {
            page_.columns.push_back(cellsOf(line));
            page_.table_rows.push_back(0);
        }
        table_ = row;
        if (row) ++page_.table_rows.back();
        static const QRegularExpression heading(QStringLiteral("^(#+)\\s+(.+)$"));
        const auto match = heading.match(line);
        if (row || match.hasMatch() || line.trimmed().isEmpty()) endParagraph();
        if (match.hasMatch()) {
            page_.sections.emplace_back();
            page_.sections.back().level = static_cast<int>(match.capturedLength(1));
            page_.sections.back().title = match.captured(2);
        }
        if (line.trimmed().isEmpty()) return;
        paragraph_ += (paragraph_.isEmpty() ? QString() : QStringLiteral(" ")) + line.trimmed();
    }

    /// Scans the lines of a paragraph together, since code and links may span lines.
    void endParagraph() {
        static const QRegularExpression code(QStringLiteral("`([^`]+)`"));
        static const QRegularExpression link(QStringLiteral("(!?)\\[[^\\]]*\\]\\(([^)\\s]+)\\)"));
        QString line = std::exchange(paragraph_, {});
        for (auto found = code.globalMatch(line); found.hasNext();)
            page_.codes << found.next().captured(1);
        line.remove(code);
        for (auto found = link.globalMatch(line); found.hasNext();) {
            const auto match = found.next();
            PageStructure::Section& section = page_.sections.back();
            (match.captured(1).isEmpty() ? section.links : section.images) << match.captured(2);
        }
    }

    PageStructure page_;
    QString paragraph_;
    bool fenced_ = false;
    bool table_ = false;
};

template <typename List>
void compareLists(const List& english, const List& chinese, const QString& what, QStringList& out) {
    if (english == chinese) return;
    const auto [left, right] = std::mismatch(english.begin(), english.end(), chinese.begin(), chinese.end());
    const auto shown = [](const auto& at, const List& list) {
        if (at == list.end()) return QStringLiteral("nothing");
        if constexpr (std::is_same_v<List, QStringList>) {
            return *at;
        } else {
            return QString::number(*at);
        }
    };
    out << QStringLiteral("%1 %2: %3 in English, %4 in Chinese")
               .arg(what)
               .arg(std::distance(english.begin(), left))
               .arg(shown(left, english), shown(right, chinese));
}

PageStructure pageStructure(const QString& markdown) {
    return PageParser().parse(markdown);
}

/// Describes what the translation of a page lacks or has too much; empty if they agree. `english` and `chinese` are the
/// pages' texts; links are compared elsewhere.
QStringList structureDifferences(const QString& english, const QString& chinese) {
    const PageStructure left = pageStructure(english);
    const PageStructure right = pageStructure(chinese);
    const auto levels = [](const PageStructure& page) {
        std::vector<int> out;
        for (const PageStructure::Section& section : page.sections)
            out.push_back(section.level);
        return out;
    };
    QStringList out;
    compareLists(levels(left), levels(right), QStringLiteral("level of heading"), out);
    compareLists(left.blocks, right.blocks, QStringLiteral("code block"), out);
    compareLists(left.marks, right.marks, QStringLiteral("comment"), out);
    compareLists(left.columns, right.columns, QStringLiteral("columns of table"), out);
    compareLists(left.table_rows, right.table_rows, QStringLiteral("rows of table"), out);
    QStringList missing;
    QStringList added;
    std::ranges::set_difference(left.codes, right.codes, std::back_inserter(missing));
    std::ranges::set_difference(right.codes, left.codes, std::back_inserter(added));
    if (!missing.isEmpty()) out << QStringLiteral("only in English: ") + missing.join(QStringLiteral(" ; "));
    if (!added.isEmpty()) out << QStringLiteral("only in Chinese: ") + added.join(QStringLiteral(" ; "));
    return out;
}

const QString kChinese = QStringLiteral("zh_CN/");

QString readSource(const QString& path) {
    QFile file(QDir(QStringLiteral(BUBBLESCOPE_MANUAL)).filePath(path));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// Not by \p{Han}, which also stands for "·" since Unicode 16.
bool isChinese(const QString& text) {
    return std::ranges::any_of(text, [](QChar letter) { return letter.script() == QChar::Script_Han; });
}

/// Pages of a folder and its schedules folder, by their paths in it.
QStringList pagesIn(const QString& folder) {
    QStringList out;
    const QDir dir(QStringLiteral(BUBBLESCOPE_MANUAL) + QLatin1Char('/') + folder);
    for (const QString& below : {QString(), QStringLiteral("schedules/")}) {
        for (const QString& name : QDir(dir.filePath(below)).entryList({QStringLiteral("*.md")}))
            out << below + name;
    }
    return out;
}

/// The targets of a page's links, section by section: pages by path, sections by index, so that a page and its
/// translation agree.
QStringList targetsOf(const QString& file, const PageStructure& page, Language language) {
    QStringList out;
    for (const PageStructure::Section& section : page.sections) {
        QStringList here;
        for (const QString& link : section.links + section.images) {
            const ManualLink to = manualLink(file, link);
            if (to.path.isEmpty()) {
                here << link;
                continue;
            }
            const ManualPage* target = findManualPage(to.path, language);
            const PageStructure there = pageStructure(target == nullptr ? QString() : target->text);
            const auto found = std::ranges::find_if(there.sections, [&to](const PageStructure::Section& one) {
                return !to.section.isEmpty() && sectionName(one.title) == to.section;
            });
            const auto place = std::distance(there.sections.begin(), found);
            here << (to.section.isEmpty() ? to.path : QStringLiteral("%1#%2").arg(to.path).arg(place));
            if (!to.section.isEmpty() && found == there.sections.end())
                here.back() = link + QStringLiteral(": no such section");
        }
        here.sort();
        out << here.join(QLatin1Char(' '));
    }
    return out;
}

} // namespace

class ManualLanguagesTest : public QObject {
    Q_OBJECT

private slots:
    void everyPageIsThereInBothLanguages() {
        const QStringList english = pagesIn(QString());
        QVERIFY(english.size() > 40);
        QCOMPARE(pagesIn(kChinese), english);
    }

    void pagesAgree_data() {
        QTest::addColumn<QString>("page");
        for (const QString& page : pagesIn(kChinese))
            QTest::newRow(qPrintable(page)) << page;
    }

    // If only the English page is changed, some of these differ.
    void pagesAgree() {
        QFETCH(QString, page);
        const QString english = readSource(page);
        const QString chinese = readSource(kChinese + page);
        QVERIFY2(!english.isEmpty(), "there is no such page in English");
        QCOMPARE(structureDifferences(english, chinese).join(QLatin1Char('\n')), QString());
        QCOMPARE(targetsOf(kChinese + page, pageStructure(chinese), Language::Chinese),
                 targetsOf(page, pageStructure(english), Language::English));
        for (const PageStructure::Section& section : pageStructure(chinese).sections) {
            for (const QString& link : section.links + section.images) {
                if (link.contains(QLatin1String("://")) || link.startsWith(QLatin1Char('#'))) continue;
                const QString target = QDir(QStringLiteral(BUBBLESCOPE_MANUAL))
                                           .filePath(kChinese + QFileInfo(page).path() + QLatin1Char('/') +
                                                     link.section(QLatin1Char('#'), 0, 0));
                QVERIFY2(QFile::exists(target), qPrintable(link)); // as a file, too
            }
        }
        const ManualPage* shown = findManualPage(page, Language::Chinese);
        QVERIFY(shown != nullptr);
        QCOMPARE(shown->file, kChinese + page);
        QVERIFY(isChinese(shown->text) && !shown->title.isEmpty());
        // Lines are not broken within a paragraph, since that would add a space.
        static const QRegularExpression broken(QStringLiteral("[一-鿿，。；：、]\\n[ \\t]*[一-鿿]"));
        const auto match = broken.match(shown->text);
        QVERIFY2(!match.hasMatch(),
                 qPrintable(shown->text.mid(std::max<qsizetype>(0, match.capturedStart() - 20), 40)));
    }

    void whatDiffersIsSaid() {
        const QString page =
            QStringLiteral("# Bubbles\n\nSee `a` and `b`.\n\n## More\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
                           "<!-- run: x -->\n```\n$ x\n```\n<!-- end -->\n");
        QVERIFY(structureDifferences(page, page).isEmpty());
        const auto changed = [&page](const char* from, const char* to) {
            QString other = page;
            other.replace(QLatin1String(from), QLatin1String(to));
            return structureDifferences(page, other).join(QLatin1Char('\n'));
        };
        QCOMPARE(changed("## More", "### More"), QStringLiteral("level of heading 2: 2 in English, 3 in Chinese"));
        QCOMPARE(changed("## More\n", ""), QStringLiteral("level of heading 2: 2 in English, nothing in Chinese"));
        QCOMPARE(changed("$ x", "$ y"),
                 QStringLiteral("code block 0: ```\n$ x\n```\n in English, ```\n$ y\n```\n in Chinese"));
        QCOMPARE(changed("run: x", "run: y"),
                 QStringLiteral("comment 0: <!-- run: x --> in English, <!-- run: y --> in Chinese"));
        QCOMPARE(changed("| 1 | 2 |\n", ""), QStringLiteral("rows of table 0: 3 in English, 2 in Chinese"));
        QCOMPARE(changed("| a | b |", "| a | b | c |"),
                 QStringLiteral("columns of table 0: 2 in English, 3 in Chinese"));
        QCOMPARE(changed("`b`", "`c`"), QStringLiteral("only in English: b\nonly in Chinese: c"));
    }

    void linksLeadToPagesOfAllLanguages() {
        const ManualLink page = manualLink(QStringLiteral("zh_CN/timeline.md"), QStringLiteral("traces.md"));
        QCOMPARE(page.path, QStringLiteral("traces.md"));
        const ManualLink below =
            manualLink(QStringLiteral("zh_CN/schedules/1f1b.md"), QStringLiteral("../bubbles.md#气泡率"));
        QCOMPARE(below.path, QStringLiteral("bubbles.md"));
        QCOMPARE(below.section, QStringLiteral("气泡率"));
        const ManualLink drawing =
            manualLink(QStringLiteral("zh_CN/bubbles.md"), QStringLiteral("../drawings/1f1b.svg"));
        QCOMPARE(drawing.path, QStringLiteral("drawings/1f1b.svg"));
        const ManualLink here = manualLink(QStringLiteral("zh_CN/bubbles.md"), QStringLiteral("#位置"));
        QCOMPARE(here.path, QStringLiteral("bubbles.md"));
        QCOMPARE(here.section, QStringLiteral("位置"));
        QVERIFY(
            manualLink(QStringLiteral("zh_CN/bubbles.md"), QStringLiteral("https://ui.perfetto.dev")).path.isEmpty());
        // In the same order in both languages; pages without a Chinese text are in English.
        const auto& english = manualPages();
        const auto& chinese = manualPages(Language::Chinese);
        QCOMPARE(chinese.size(), english.size());
        for (std::size_t i = 0; i < english.size(); ++i)
            QCOMPARE(chinese[i].path, english[i].path);
        for (const ManualPage& one : chinese) {
            const bool translated = QFile::exists(QStringLiteral(":/manual/zh_CN/") + one.path);
            QCOMPARE(one.file, translated ? kChinese + one.path : one.path);
            QVERIFY2(!one.text.isEmpty(), qPrintable(one.path));
        }
    }

    void theWindowFollowsTheLanguage() {
        MainWindow window([](const auto&, JobControl&) -> Result<Run> { return inputError("", "nothing"); }, false);
        window.show();
        ManualWindow& manual = window.openManual();
        auto& browser = *manual.findChild<ManualBrowser*>();
        auto& pages = *manual.findChild<QListWidget*>(QStringLiteral("manualPages"));
        auto& back = *manual.findChild<QToolButton*>(QStringLiteral("manualBack"));
        auto& search = *manual.findChild<QLineEdit*>(QStringLiteral("manualSearch"));
        QVERIFY(manual.open(QStringLiteral("first-steps.md")));
        QVERIFY(manual.open(QStringLiteral("index.md")));
        QVERIFY(!isChinese(browser.toPlainText()));
        const QString back_text = back.text();
        const int rows = pages.count();

        window.languages().choose(Language::Chinese);
        QTRY_VERIFY(isChinese(browser.toPlainText()));
        QCOMPARE(window.findChild<ManualWindow*>(), &manual); // the same window at the same place
        QVERIFY(manual.isVisible());
        QCOMPARE(manual.path(), QStringLiteral("index.md"));
        QVERIFY(isChinese(back.text()) && isChinese(manual.windowTitle()) && isChinese(search.placeholderText()));
        QCOMPARE(pages.count(), rows);
        QVERIFY(isChinese(pages.item(0)->text()));
        QCOMPARE(pages.currentItem()->data(Qt::UserRole).toString(), QStringLiteral("index.md"));
        back.click(); // the history is kept, and is in Chinese now
        QCOMPARE(manual.path(), QStringLiteral("first-steps.md"));
        QVERIFY(isChinese(browser.document()->begin().text()));
        emit browser.anchorClicked(QUrl(QStringLiteral("index.md")));
        QCOMPARE(browser.file(), QStringLiteral("zh_CN/index.md"));

        search.setText(QStringLiteral("模拟的运行"));
        int listed = 0;
        for (int row = 0; row < pages.count(); ++row)
            listed += pages.item(row)->isHidden() ? 0 : 1;
        QVERIFY(listed >= 1 && listed < pages.count());
        QTest::keyClick(&search, Qt::Key_Return);
        QCOMPARE(browser.textCursor().selectedText(), QStringLiteral("模拟的运行"));

        window.languages().choose(Language::English);
        QTRY_COMPARE(back.text(), back_text);
        QVERIFY(!isChinese(browser.toPlainText()));
        QCOMPARE(window.findChild<ManualWindow*>(), &manual);
    }

    void theSectionStaysInSight() {
        ThemeManager themes;
        ManualWindow window(themes, Language::English);
        window.resize(900, 300); // the page goes on for longer than this below the section, with any fonts
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        auto& browser = *window.findChild<ManualBrowser*>();
        QVERIFY(window.open(QStringLiteral("bubbles.md")));
        browser.verticalScrollBar()->setValue(0);
        QCOMPARE(browser.headingsPassed(), 0); // the page's title is below its margin
        browser.passHeadings(4);
        QCOMPARE(browser.headingsPassed(), 4);
        const QString english = browser.cursorForPosition(QPoint(40, 20)).block().text();
        QCOMPARE(english, QStringLiteral("Closed forms"));
        window.setLanguage(Language::Chinese);
        QCOMPARE(browser.headingsPassed(), 4);
        window.setLanguage(Language::English);
        QCOMPARE(browser.cursorForPosition(QPoint(40, 20)).block().text(), english);
    }
};

BUBBLESCOPE_GUI_TEST(ManualLanguagesTest, manual_languages_test);
#include "manual_languages_test.moc"
