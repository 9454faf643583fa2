#include "core/recognise/load_checks.h"

#include "core/recognise/native_checks.h"
#include "core/recognise/questions.h"
#include "core/recognise/trace_shares.h"

#include <fmt/format.h>

#include <utility>

namespace bubblescope {

Result<RecordedChecks> loadChecks(const std::vector<std::filesystem::path>& paths, JobControl& control) {
    DiagnosticLog log;
    BUBBLESCOPE_ASSIGN(const std::shared_ptr<TraceShares> shares, TraceShares::read(paths, control, {}, nullptr, log));
    RecordedChecks result;
    for (const TraceFile& file : shares->files()) {
        if (!file.format.empty()) result.files.push_back(file.path);
    }
    BUBBLESCOPE_ASSIGN(std::vector<NativeMarks> marks, shares->ask(NativeMarksOf{}));
    result.info = joinNativeMarks(std::move(marks), shares->files(), log).info;
    BUBBLESCOPE_ASSIGN(std::vector<NativeChecks> checks, shares->ask(NativeChecksOf{}));
    result.log = joinNativeChecks(std::move(checks), log);
    result.problems = log.take();
    if (!result.log.empty()) return result;
    std::string why = "no check and no digest found";
    for (const Diagnostic& problem : result.problems)
        why += fmt::format("; {} ({} times)", problem.message.text(), problem.count);
    return inputError(paths.empty() ? std::string() : paths.front().string(), why,
                      "record a run with checks: 'bubblescope run --aadiff …', or the interface for other frameworks");
}

} // namespace bubblescope
