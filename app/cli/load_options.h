#pragma once

#include "app/cli/command_line.h"
#include "app/cli/schedule_options.h"
#include "core/base/result.h"
#include "core/recognise/run.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

/// What a user knows of a trace, for the commands that look for its pipeline.
class RecogniseOptions {
public:
    /// --mesh and --mesh-order.
    void addMesh(Command command);
    /// The mesh and --rules.
    void addNames(Command command);
    /// These, and the schedule options, whose sizes may be left open.
    void add(Command command);

    [[nodiscard]] Result<std::optional<Mesh>> mesh() const;
    [[nodiscard]] Result<LoadOptions> options() const;
    /// The names' options as given, to be given to another command.
    [[nodiscard]] std::vector<std::string> words() const;

private:
    std::vector<std::string> rules_;
    std::string mesh_;
    std::string order_;
    ScheduleOptions schedule_;
};

} // namespace bubblescope::cli
