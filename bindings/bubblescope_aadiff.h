/* C interface for checks in the bubbles of any framework's pipeline.
 *
 * A framework that runs a pipeline reports the ops of its rank. In each bubble, the framework requests computations to
 * repeat, passes the digests of both executions, and receives verdicts. Ops, checks and digests are written to a trace
 * file that `bubblescope analyze` and `bubblescope aadiff compare` can read.
 *
 * Usage on every rank:
 *
 *     bubblescope_aadiff_open(&config, &session);
 *     for each step:
 *         bubblescope_aadiff_begin_step(session, step);
 *         for each op:
 *             in the bubble before the op, repeatedly, while bubblescope_aadiff_ask(session, 0, &task) == 1:
 *                 compute the task's layer again on its inputs and pass the digest of the result to
 *                 bubblescope_aadiff_checked(), or call bubblescope_aadiff_given_up() if the step would have to wait
 *             compute the op; pass the digest of each layer's output to bubblescope_aadiff_computed(), at least for
 *                 layers for which bubblescope_aadiff_wanted() returns 1, whose inputs must be kept
 *             bubblescope_aadiff_op(session, &op, start, end);
 *         in the bubble after the last op, as above
 *         bubblescope_aadiff_end_step(session);
 *     bubblescope_aadiff_close(session);
 *
 * Send the results of an op before calling bubblescope_aadiff_ask(): work queued before a send delays the send.
 *
 * All functions may be called by any thread. Calls for one session are serialised. A session must not be used during
 * or after bubblescope_aadiff_close(). No function throws or ends the process. Strings are UTF-8. Times are in
 * nanoseconds of CLOCK_MONOTONIC, as returned by bubblescope_aadiff_now().
 *
 * Functions that return int return BUBBLESCOPE_AADIFF_ERROR (-1) on failure; bubblescope_aadiff_error() then returns
 * the reason. The first member of each struct is its size, so that later versions may add members. Members that an
 * older caller's struct does not contain are treated as 0.
 */
#ifndef BUBBLESCOPE_AADIFF_H
#define BUBBLESCOPE_AADIFF_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BUBBLESCOPE_AADIFF_API __attribute__((visibility("default")))
#else
#define BUBBLESCOPE_AADIFF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header. Different versions are incompatible. */
#define BUBBLESCOPE_AADIFF_VERSION 1

enum {
    BUBBLESCOPE_AADIFF_ERROR = -1,
    /* results of bubblescope_aadiff_checked() */
    BUBBLESCOPE_AADIFF_EQUAL = 0,
    BUBBLESCOPE_AADIFF_MISMATCH = 1
};

/* Verdict on a mismatch, determined by further repetitions. */
enum {
    BUBBLESCOPE_AADIFF_OPEN = 0,      /* undecided */
    BUBBLESCOPE_AADIFF_TRANSIENT = 1, /* repetitions here agree with each other and with a first result */
    BUBBLESCOPE_AADIFF_DEVICE = 2,    /* only this rank produces different results again: suspect the hardware */
    BUBBLESCOPE_AADIFF_EVERYWHERE = 3 /* results also differ on other ranks: the code is not deterministic */
};

/* Element type of a tensor. */
enum {
    BUBBLESCOPE_AADIFF_BITS8 = 1, /* compared bitwise, without a distance in ulp */
    BUBBLESCOPE_AADIFF_BITS16 = 2,
    BUBBLESCOPE_AADIFF_BITS32 = 4,
    BUBBLESCOPE_AADIFF_BITS64 = 8,
    BUBBLESCOPE_AADIFF_FLOAT16 = 16,
    BUBBLESCOPE_AADIFF_BFLOAT16 = 17,
    BUBBLESCOPE_AADIFF_FLOAT32 = 32,
    BUBBLESCOPE_AADIFF_FLOAT64 = 64
};

typedef struct bubblescope_aadiff bubblescope_aadiff; /* session of one rank, which is one process */

typedef struct {
    const char* name;
    const char* text; /* if NULL, the value is `number` */
    int64_t number;
} bubblescope_aadiff_arg;

/* Called with an event for the caller's trace: a slice, or an instant event if start and end are equal. Strings are
 * valid only during the call. */
typedef void (*bubblescope_aadiff_event)(const char* track, const char* category, const char* name, int64_t start_ns,
                                         int64_t end_ns, const bubblescope_aadiff_arg* args, size_t count);

typedef struct {
    uint32_t size;        /* sizeof(bubblescope_aadiff_config) */
    int32_t rank;         /* rank within its pipeline */
    int32_t replica;      /* 0 ... dp - 1 */
    int32_t tensor_rank;  /* 0 ... tp - 1 */
    int32_t dp;           /* number of replicas of the pipeline; 0 means 1, here and below */
    int32_t tp;           /* number of ranks that share each stage */
    const char* schedule; /* name from `bubblescope schedules`, such as "1f1b" */
    const char* flavor;   /* NULL = first flavor */
    int32_t pp;
    int32_t microbatches;
    int32_t vpp;              /* chunks per rank */
    int32_t layers_per_stage; /* number of parts of a stage that can be repeated separately */
    int64_t forward_ns;       /* duration of an op; 0 = measured in the first steps, which then have no checks */
    int64_t backward_ns;      /* duration of a complete backward, with input and weight gradients */
    int64_t input_grad_ns;    /* 0 = half of backward_ns */
    int64_t weight_grad_ns;
    double margin;             /* safety margin for the cost of a check, as a fraction; 0 = 0.1 */
    int64_t latency_ns;        /* time from the return of ask() to the start of the repetition */
    const char* directory;     /* folder for the trace, created if missing; NULL = no trace */
    const char* device;        /* identifies the hardware across restarts, such as a GPU's UUID; NULL = unknown */
    const char* order;         /* order of all ranks in PyTorch's schedule file format; NULL = default */
    const int32_t* layers;     /* number of layers per chunk of the rank, instead of layers_per_stage; records then have
                                  layer numbers within the stage, because other ranks' numbers are unknown */
    const char* kinds;         /* kinds of ops that can be repeated, such as "FB"; NULL = all */
    const int64_t* kept_bytes; /* size of the inputs of one op, per chunk; NULL = unknown */
    int64_t room_bytes; /* limit for inputs kept after activations are freed; 0 = no limit, negative = keep none */
    bubblescope_aadiff_event event; /* called for each check at the end of its step; may be NULL */
    int32_t forward_again;          /* nonzero if repeating a backward also requires repeating the forward */
} bubblescope_aadiff_config;

typedef struct {
    uint32_t size; /* sizeof(bubblescope_aadiff_op_id) */
    char kind;     /* F forward, B complete backward, I input gradients, W weight gradients, O optimizer */
    int32_t microbatch;
    int32_t chunk;
    int32_t sequence; /* index of the slice, if sequences are split into slices */
} bubblescope_aadiff_op_id;

typedef struct {
    uint32_t size;               /* sizeof(bubblescope_aadiff_task), set by the caller */
    bubblescope_aadiff_op_id op; /* op of the current step */
    int32_t layer;               /* index within the stage, in forward order: 0 … layers_per_stage - 1 */
    int64_t cost_ns;             /* expected duration */
    int64_t free_ns;             /* time until the task would delay the step */
} bubblescope_aadiff_task;

typedef struct {
    uint32_t size; /* sizeof(bubblescope_aadiff_counts), set by the caller */
    int64_t planned;
    int64_t equal; /* number of equal tensors; a check may compare several */
    int64_t mismatched;
    int64_t aborted;
    int64_t skipped;
    int32_t units;         /* pairs of a layer and a kind of op, on this rank */
    int32_t units_covered; /* units that were checked at least once */
} bubblescope_aadiff_counts;

/* Version of the library. */
BUBBLESCOPE_AADIFF_API uint32_t bubblescope_aadiff_version(void);
/* Error message of the calling thread's last failure; valid until its next failure. Never NULL. */
BUBBLESCOPE_AADIFF_API const char* bubblescope_aadiff_error(void);
BUBBLESCOPE_AADIFF_API int64_t bubblescope_aadiff_now(void);

/* Digest of a buffer in host memory. For device memory, compute the digest on the device: sum term(index, word) over
 * the buffer's 64-bit words in any order, and apply finish(). core/aadiff/digest.h defines both functions. */
BUBBLESCOPE_AADIFF_API uint64_t bubblescope_aadiff_digest(const void* data, size_t bytes);
/* Sum over the part of a buffer that starts at word `first_word`. The size of every part except the last must be a
 * multiple of 8 bytes. */
BUBBLESCOPE_AADIFF_API uint64_t bubblescope_aadiff_digest_sum(const void* data, size_t bytes, uint64_t first_word);
BUBBLESCOPE_AADIFF_API uint64_t bubblescope_aadiff_digest_finish(uint64_t sum, uint64_t bytes);

BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_open(const bubblescope_aadiff_config* config,
                                                   bubblescope_aadiff** session);
/* Writes the remaining records and frees the session; NULL is allowed. */
BUBBLESCOPE_AADIFF_API void bubblescope_aadiff_close(bubblescope_aadiff* session);

/* Excludes a layer that cannot be repeated because it changes state or is not deterministic. Call this before the first
 * plan; if op times are measured, call it within the first two steps. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_leave_out(bubblescope_aadiff* session, int32_t chunk, int32_t layer);
/* Like bubblescope_aadiff_leave_out(), but only for some kinds of ops, such as "BIW". */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_leave_out_kinds(bubblescope_aadiff* session, int32_t chunk, int32_t layer,
                                                              const char* kinds);

BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_begin_step(bubblescope_aadiff* session, int32_t step);
/* Writes the records of the step. Checks that were planned but not requested count as skipped. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_end_step(bubblescope_aadiff* session);

/* Reports an executed op. If the op is not the next one in the schedule, the step has no further checks. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_op(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                 int64_t start_ns, int64_t end_ns);
/* Returns 1 if a check of the layer is planned in this step, otherwise 0. The check requires the layer's inputs and
 * first digest. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_wanted(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                     int32_t layer);
/* Lists the checks planned in this step: fills up to `count` elements of `tasks`, whose `size` must be set, and returns
 * the number of planned checks. cost_ns and free_ns are 0 in all elements. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_planned(bubblescope_aadiff* session, bubblescope_aadiff_task* tasks,
                                                      size_t count);
/* Cancels a check of this step, as if the check had not been planned. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_withdraw(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                       int32_t layer);
/* Moves a check of this step to another micro-batch, for example because no bubble follows the planned one. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_move(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                   int32_t layer, int32_t microbatch);
/* Reports the digest of a layer's first result and writes it to the trace. `tensor` is "output", "input gradient",
 * "weight gradient", or "weights" for an optimizer op. Later calls replace the digest. A caller that computes digests
 * only in bubbles must first report an arbitrary value, because only reported layers are checked. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_computed(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                       int32_t layer, const char* tensor, uint64_t digest);

/* Returns 1 and a task to compute now, or 0 if no task fits into the bubble before the next op of the schedule. If
 * `free_ns` is positive, it is the length of this bubble. Otherwise the length comes from the plan, or is 80 % of the
 * minimum over the last steps. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_ask(bubblescope_aadiff* session, int64_t free_ns,
                                                  bubblescope_aadiff_task* task);
/* Reports the digest of a repeated computation. Must be called for each tensor that the first execution reported.
 * Returns EQUAL, MISMATCH or ERROR. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_checked(bubblescope_aadiff* session, const bubblescope_aadiff_task* task,
                                                      const char* tensor, uint64_t digest, int64_t start_ns,
                                                      int64_t end_ns);
/* Reports that a task was started but abandoned, because the step was waiting for it. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_given_up(bubblescope_aadiff* session, const bubblescope_aadiff_task* task,
                                                       int64_t start_ns, int64_t end_ns);

/* Records the differences of the latest mismatch. Both results must be in host memory. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_difference(bubblescope_aadiff* session, const void* first,
                                                         const void* second, int64_t elements, int32_t element_type);
/* Reports repetitions of the latest mismatch on the same inputs: the digests of `here_count` executions on this rank
 * (at least 2) and `there_count` on another rank (0 or at least 2). Returns the verdict and writes it to the trace.
 */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_repeated(bubblescope_aadiff* session, const uint64_t* here,
                                                       size_t here_count, const uint64_t* there, size_t there_count);

BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_count(bubblescope_aadiff* session, bubblescope_aadiff_counts* counts);

#ifdef __cplusplus
}
#endif

#endif
