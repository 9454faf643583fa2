#pragma once

#include "core/base/process_team.h"

#include <mpi.h>

namespace bubblescope {

/// The processes of a communicator. Uses a duplicate of it, so that its messages are never confused with others.
class MpiTeam final : public ProcessTeam {
public:
    explicit MpiTeam(MPI_Comm of);
    ~MpiTeam() override;

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return size_; }
    [[nodiscard]] Result<std::string> broadcast(std::string bytes) override;
    [[nodiscard]] Result<std::vector<std::string>> gather(std::string bytes) override;
    [[nodiscard]] Result<std::vector<std::string>> exchange(std::vector<std::string> to) override;

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
};

/// The result of an MPI call as a Status; `tried` names the operation.
[[nodiscard]] Status mpiStatus(int code, const char* tried);

} // namespace bubblescope
