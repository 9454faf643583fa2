// The GPU's attention, compiled for the host: the folder of this file comes before the toolkit's.

#include "runtime/backend/cuda/attention.cu"
