#include "app/gui/options.h"

#include "app/gui/language/text.h"
#include "app/gui/models/demo_files.h"
#include "core/net/secret.h"

#include <QCommandLineParser>
#include <QRegularExpression>

#include <iterator>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kSmallestSide = 200;
constexpr int kMaxSide = 16384;

std::optional<QSize> parseSize(const QString& text) {
    static const QRegularExpression pattern(QStringLiteral("^(\\d{1,5})x(\\d{1,5})$"));
    const auto match = pattern.match(text);
    if (!match.hasMatch()) return std::nullopt;
    const QSize size(match.captured(1).toInt(), match.captured(2).toInt());
    const auto fits = [](int side) { return side >= kSmallestSide && side <= kMaxSide; };
    return fits(size.width()) && fits(size.height()) ? std::optional(size) : std::nullopt;
}

std::optional<Options::Place> parsePlace(const QString& text) {
    const qsizetype at = text.indexOf(QLatin1Char('@'));
    bool ok = false;
    const int rank = text.left(at).toInt(&ok);
    const Result<TimeNs> time = parseTime(text.mid(at + 1).toStdString());
    if (at < 0 || !ok || rank < 0 || !time.ok()) return std::nullopt;
    return Options::Place{rank, time.value()};
}

std::optional<FlowOverlay> parseFlowOverlay(const QString& text) {
    if (text == QLatin1String("transfers")) return FlowOverlay::Transfers;
    if (text == QLatin1String("path")) return FlowOverlay::CriticalPath;
    if (text == QLatin1String("microbatch")) return FlowOverlay::Microbatch;
    return std::nullopt;
}

QString readLive(const QCommandLineParser& parser, Options& out) {
    LiveTarget target;
    target.folders = parser.values(QStringLiteral("live"));
    target.listen = parser.value(QStringLiteral("listen"));
    if (target.folders.isEmpty() && target.listen.isEmpty()) return {};
    if (!out.files.isEmpty()) return tr("--live and --listen cannot be combined with files");
    if (!target.listen.isEmpty()) {
        const Result<std::string> token = net::readToken(parser.value(QStringLiteral("token-file")).toStdString());
        if (!token.ok()) return QStringLiteral("--listen: %1").arg(QString::fromStdString(token.error().text()));
        target.token = QString::fromStdString(token.value());
    }
    target.certificate = parser.value(QStringLiteral("certificate"));
    target.key = parser.value(QStringLiteral("key"));
    target.keep = parser.value(QStringLiteral("keep"));
    target.insecure = parser.isSet(QStringLiteral("insecure"));
    if (target.certificate.isEmpty() != target.key.isEmpty())
        return tr("--certificate and --key must be given together");
    if (target.listen.isEmpty() && !(target.certificate + target.keep).isEmpty())
        return tr("--certificate and --keep need --listen");
    out.live = std::move(target);
    return {};
}

/// Errors list the available demos.
QString readDemo(const QCommandLineParser& parser, Options& out) {
    if (!parser.isSet(QStringLiteral("demo"))) return {};
    out.demo = parser.value(QStringLiteral("demo"));
    if (!out.files.isEmpty() || out.live) return tr("--demo cannot be combined with files or a run");
    QStringList names;
    for (const DemoTrace& demo : demoTraces())
        names << demoName(demo);
    return names.contains(out.demo) ? QString() : tr("--demo needs one of %1").arg(names.join(QStringLiteral(", ")));
}

/// Options of the user for reading traces.
QString readRecognition(const QCommandLineParser& parser, RecogniseRequest& out) {
    for (const QString& file : parser.values(QStringLiteral("rules")))
        out.rules.push_back(file.toStdString());
    for (const QString& rule : parser.values(QStringLiteral("rank-of")))
        out.ranks.push_back(rule.toStdString());
    out.mesh = parser.value(QStringLiteral("mesh")).toStdString();
    out.mesh_order = parser.value(QStringLiteral("mesh-order")).toStdString();
    out.schedule.spec.name = parser.value(QStringLiteral("schedule")).toStdString();
    for (const char* const name : {"pp", "microbatches", "vpp"}) {
        const QString option = QString::fromLatin1(name);
        if (!parser.isSet(option)) continue;
        bool ok = false;
        const int size = parser.value(option).toInt(&ok);
        if (!ok || size < 1) return tr("--%1 needs a positive number").arg(option);
        (*name == 'p'   ? out.schedule.spec.pp
         : *name == 'm' ? out.schedule.spec.microbatches
                        : out.schedule.vpp.emplace()) = size;
    }
    return {};
}

/// Reads and checks options with values; returns the message for the first invalid one.
QString readValues(const QCommandLineParser& parser, Options& out) {
    if (parser.isSet(QStringLiteral("size"))) {
        const auto size = parseSize(parser.value(QStringLiteral("size")));
        if (!size)
            return tr("--size needs WIDTHxHEIGHT between %1 and %2, such as 1280x800").arg(kSmallestSide).arg(kMaxSide);
        out.size = *size;
        out.sized = true;
    }
    if (parser.isSet(QStringLiteral("theme"))) {
        out.theme = themeFromKey(parser.value(QStringLiteral("theme")));
        if (!out.theme) return tr("--theme needs light, dark, contrast, colour-blind, colour-blind-dark or system");
    }
    if (parser.isSet(QStringLiteral("step"))) {
        bool ok = false;
        out.step = parser.value(QStringLiteral("step")).toInt(&ok);
        if (!ok) return tr("--step needs a step's number");
    }
    if (parser.isSet(QStringLiteral("language"))) {
        out.language = languageFromKey(parser.value(QStringLiteral("language")));
        if (!out.language) return tr("--language needs en, zh_CN or system");
    }
    if (parser.isSet(QStringLiteral("unfold"))) {
        bool ok = false;
        out.unfold = parser.value(QStringLiteral("unfold")).toInt(&ok);
        if (!ok || *out.unfold < 0) return tr("--unfold needs a rank");
    }
    for (const QString& name : parser.values(QStringLiteral("trail"))) {
        const auto flow = parseFlowOverlay(name);
        if (!flow) return tr("--trail needs transfers, path or microbatch");
        out.flows.push_back(*flow);
    }
    if (parser.isSet(QStringLiteral("select"))) {
        out.select = parsePlace(parser.value(QStringLiteral("select")));
        if (!out.select) return tr("--select needs RANK@TIME, such as 2@35ms");
    }
    const QString live = readLive(parser, out);
    if (!live.isEmpty()) return live;
    const QString demo = readDemo(parser, out);
    if (!demo.isEmpty()) return demo;
    if (parser.isSet(QStringLiteral("screenshot"))) {
        out.screenshot = parser.value(QStringLiteral("screenshot"));
        if (out.screenshot.isEmpty()) return tr("--screenshot needs the name of the PNG file to write");
        const bool anything = !out.files.isEmpty() || out.live || !out.demo.isEmpty() || needsNoTrace(out.panel);
        if (!anything) return tr("--screenshot needs a trace to show");
    }
    return {};
}

} // namespace

bool needsNoTrace(const QString& panel) {
    return panel == kWelcomePanel || panel == kRunPanel || panel == kWatchPanel || panel == kKeysPanel ||
           panel == kPreferencesPanel || panel == kRemotePanel;
}

std::optional<Options> parseOptions(const QStringList& arguments, QString& error) {
    QCommandLineParser parser;
    parser.addOptions({{{QStringLiteral("h"), QStringLiteral("help")}, {}},
                       {QStringLiteral("version"), {}},
                       {QStringLiteral("screenshot"), {}, QStringLiteral("file")},
                       {QStringLiteral("force"), {}},
                       {QStringLiteral("size"), {}, QStringLiteral("size")},
                       {QStringLiteral("theme"), {}, QStringLiteral("theme")},
                       {QStringLiteral("step"), {}, QStringLiteral("number")},
                       {QStringLiteral("language"), {}, QStringLiteral("language")},
                       {QStringLiteral("panel"), {}, QStringLiteral("name")},
                       {QStringLiteral("ideal"), {}},
                       {QStringLiteral("counters"), {}},
                       {QStringLiteral("unfold"), {}, QStringLiteral("rank")},
                       {QStringLiteral("compare"), {}, QStringLiteral("file")},
                       {QStringLiteral("trail"), {}, QStringLiteral("name")},
                       {QStringLiteral("select"), {}, QStringLiteral("place")},
                       {QStringLiteral("live"), {}, QStringLiteral("folder")},
                       {QStringLiteral("listen"), {}, QStringLiteral("address")},
                       {QStringLiteral("token-file"), {}, QStringLiteral("file")},
                       {QStringLiteral("certificate"), {}, QStringLiteral("file")},
                       {QStringLiteral("key"), {}, QStringLiteral("file")},
                       {QStringLiteral("keep"), {}, QStringLiteral("folder")},
                       {QStringLiteral("insecure"), {}},
                       {QStringLiteral("demo"), {}, QStringLiteral("name")},
                       {QStringLiteral("rules"), {}, QStringLiteral("file")},
                       {QStringLiteral("mesh"), {}, QStringLiteral("sizes")},
                       {QStringLiteral("mesh-order"), {}, QStringLiteral("order")},
                       {QStringLiteral("rank-of"), {}, QStringLiteral("rule")},
                       {QStringLiteral("schedule"), {}, QStringLiteral("name")},
                       {QStringLiteral("pp"), {}, QStringLiteral("size")},
                       {QStringLiteral("microbatches"), {}, QStringLiteral("size")},
                       {QStringLiteral("vpp"), {}, QStringLiteral("size")}});
    if (!parser.parse(arguments)) {
        error = parser.errorText();
        return std::nullopt;
    }
    Options out;
    out.help = parser.isSet(QStringLiteral("help"));
    out.version = parser.isSet(QStringLiteral("version"));
    if (out.help || out.version) return out;
    out.files = parser.positionalArguments();
    out.ideal = parser.isSet(QStringLiteral("ideal"));
    out.force = parser.isSet(QStringLiteral("force"));
    out.counters = parser.isSet(QStringLiteral("counters"));
    out.compare = parser.value(QStringLiteral("compare"));
    out.panel = parser.value(QStringLiteral("panel"));
    error = readValues(parser, out);
    if (error.isEmpty()) error = readRecognition(parser, out.recognise);
    return error.isEmpty() ? std::optional(out) : std::nullopt;
}

QString helpText() {
    return tr("Usage: bubblescope-gui [options] [FILE|DIRECTORY ...]\n"
              "Shows the pipeline bubbles of training traces. Opens sessions (.bubblescope-session.json) as well.\n"
              "\n"
              "Options:\n"
              "  --screenshot OUT.png   write a picture of the window instead of showing it\n"
              "  --force                overwrite an existing picture\n"
              "  --size WxH             size of the window or picture, at most the screen's (default 1280x800)\n"
              "  --theme THEME          light, dark, contrast, colour-blind, colour-blind-dark or system\n"
              "  --language LANGUAGE    en, zh_CN or system\n"
              "  --step N               show step N first (default: a typical one)\n"
              "  --panel NAME           show this panel first: bubbles, anomalies, accounting, steps, whatif,\n"
              "                         aadiff, compare, details, notes, problems, live, lab for\n"
              "                         the schedule lab, manual, range, teach; for a picture also welcome,\n"
              "                         run, watch, keys, preferences, ssh, ranks, model and figure: the\n"
              "                         first page and dialogs\n"
              "  --demo NAME            open a sample run: balanced, slow-last-stage or checked-zb-h1\n"
              "  --live FOLDER          watch a run that records into this folder; repeat for more\n"
              "  --listen ADDRESS       watch streams that hosts send here (bubblescope monitor --forward)\n"
              "  --token-file FILE      file with the token for these hosts; or BUBBLESCOPE_TOKEN\n"
              "  --certificate FILE     encrypt with TLS, and show this certificate (PEM)\n"
              "  --key FILE             its private key (PEM)\n"
              "  --insecure             let other machines send without TLS\n"
              "  --keep FOLDER          keep received traces of recorded jobs there\n"
              "  --counters             show memory and other counters below the ranks\n"
              "  --ideal                show the ideal step below the observed one\n"
              "  --unfold RANK          show the rank's threads and streams\n"
              "  --compare FILE         compare with another run\n"
              "  --trail NAME           draw transfers, path (the critical one) or microbatch (that of --select)\n"
              "  --select RANK@TIME     select the item on the rank at that time of the step, such as 2@35ms\n"
              "  --rules FILE           further rules for op names, as for the command line\n"
              "  --mesh SIZES           parallel sizes of the job, such as pp=4,dp=2\n"
              "  --mesh-order ORDER     numbering of its ranks: torchtitan or megatron\n"
              "  --rank-of PATTERN=RANK set the rank of files or processes by a pattern of their names\n"
              "  --schedule NAME        the schedule that was run; --pp, --microbatches and --vpp set its sizes\n"
              "  -h, --help             show this help\n"
              "  --version              show the version\n"
              "\n"
              "Exit codes: 0 success, 2 wrong usage or no display, 3 unreadable or invalid input,\n"
              "4 the picture could not be written.\n");
}

RunLoader loaderOf(const Options& options) {
    // Standard input can be read only once.
    std::shared_ptr<Result<LoadOptions>> once;
    if (std::ranges::find(options.recognise.rules, "-") != options.recognise.rules.end())
        once = std::make_shared<Result<LoadOptions>>(options.recognise.options());
    const auto load = [once, request = options.recognise](const RunLoader::Paths& paths, JobControl& control,
                                                          LoadOptions wanted) -> Result<LoadedTrace> {
        BUBBLESCOPE_ASSIGN(LoadOptions own, once ? *once : request.options());
        // Hints that the user gives in the app take precedence.
        std::ranges::move(own.rules, std::back_inserter(wanted.rules));
        std::ranges::move(own.reading.lanes, std::back_inserter(wanted.reading.lanes));
        std::ranges::move(own.reading.ranks, std::back_inserter(wanted.reading.ranks));
        wanted.mesh = own.mesh;
        if (!wanted.family) wanted.family = own.family;
        return loadTrace(paths, control, wanted);
    };
    return {load, options.recognise};
}

bool displayAvailable() {
#ifdef Q_OS_LINUX
    return qEnvironmentVariableIsSet("QT_QPA_PLATFORM") || !qEnvironmentVariableIsEmpty("DISPLAY") ||
           !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
#else
    return true;
#endif
}

} // namespace bubblescope::gui
