// The GPU's kernels, compiled for the host: the folder of this file comes before the toolkit's.

#include "runtime/backend/cuda/kernels.cu"
