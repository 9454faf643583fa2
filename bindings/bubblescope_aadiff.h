/* Checks in the bubbles of any framework's pipeline: the C interface.
 *
 * A framework that runs a pipeline reports the ops of its rank, and asks in its bubbles what to compute again. It
 * passes in the digests of both executions and gets verdicts back. Ops, checks and digests are written to a trace file
 * that `bubblescope analyze` and `bubblescope aadiff compare` read.
 *
 * Use, on every rank:
 *
 *     bubblescope_aadiff_open(&config, &session);
 *     for each step:
 *         bubblescope_aadiff_begin_step(session, step);
 *         for each op:
 *             in the bubble before it, again and again, while bubblescope_aadiff_ask(session, 0, &task) == 1:
 *                 compute the task's layer again on its inputs and pass the digest of the result to
 *                 bubblescope_aadiff_checked(), or call bubblescope_aadiff_given_up() if the step would have to wait
 *             compute the op; pass the digest of each layer's output to bubblescope_aadiff_computed(), at least for
 *                 layers for which bubblescope_aadiff_wanted() returns 1, whose inputs must be kept
 *             bubblescope_aadiff_op(session, &op, start, end);
 *         in the bubble after the last op, as above
 *         bubblescope_aadiff_end_step(session);
 *     bubblescope_aadiff_close(session);
 *
 * Send an op's results before asking: work queued before a send delays it.
 *
 * All functions may be called by any thread. Calls for one session are serialised; a session must not be used while
 * or after it is closed. No function throws or ends the process. Texts are UTF-8. Times are nanoseconds of
 * CLOCK_MONOTONIC, as returned by bubblescope_aadiff_now().
 *
 * Functions that return int return BUBBLESCOPE_AADIFF_ERROR (-1) on failure; bubblescope_aadiff_error() then returns
 * the reason. The first member of each struct is its size, so that later versions may add members. Members that an
 * older caller's struct lacks count as 0.
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

/* The version of this header. The interface differs between versions. */
#define BUBBLESCOPE_AADIFF_VERSION 1

enum {
    BUBBLESCOPE_AADIFF_ERROR = -1,
    /* results of bubblescope_aadiff_checked() */
    BUBBLESCOPE_AADIFF_EQUAL = 0,
    BUBBLESCOPE_AADIFF_MISMATCH = 1
};

/* The verdict on a mismatch, found by repeating it. */
enum {
    BUBBLESCOPE_AADIFF_OPEN = 0,      /* unknown */
    BUBBLESCOPE_AADIFF_TRANSIENT = 1, /* repetitions on this rank agree with each other and with one of the first two */
    BUBBLESCOPE_AADIFF_DEVICE = 2,    /* this rank differs again, another rank does not: suspect hardware */
    BUBBLESCOPE_AADIFF_EVERYWHERE = 3 /* results differ on other ranks too: the code is not deterministic */
};

/* The type of a tensor's elements. */
enum {
    BUBBLESCOPE_AADIFF_BITS8 = 1, /* compared as bits, without a distance in ulp */
    BUBBLESCOPE_AADIFF_BITS16 = 2,
    BUBBLESCOPE_AADIFF_BITS32 = 4,
    BUBBLESCOPE_AADIFF_BITS64 = 8,
    BUBBLESCOPE_AADIFF_FLOAT16 = 16,
    BUBBLESCOPE_AADIFF_BFLOAT16 = 17,
    BUBBLESCOPE_AADIFF_FLOAT32 = 32,
    BUBBLESCOPE_AADIFF_FLOAT64 = 64
};

typedef struct bubblescope_aadiff bubblescope_aadiff; /* a session of one rank's process */

typedef struct {
    const char* name;
    const char* text; /* NULL = a number */
    int64_t number;
} bubblescope_aadiff_arg;

/* Receives an event of the session for a trace: a slice, or an instant if start and end are equal. Texts are valid
 * only during the call. */
typedef void (*bubblescope_aadiff_event)(const char* track, const char* category, const char* name, int64_t start_ns,
                                         int64_t end_ns, const bubblescope_aadiff_arg* args, size_t count);

typedef struct {
    uint32_t size;        /* sizeof(bubblescope_aadiff_config) */
    int32_t rank;         /* in its pipeline */
    int32_t replica;      /* 0 ... dp - 1 */
    int32_t tensor_rank;  /* 0 ... tp - 1 */
    int32_t dp;           /* replicas of the pipeline; 0 counts as 1, here and below */
    int32_t tp;           /* ranks that share each stage */
    const char* schedule; /* a name listed by `bubblescope schedules`: "1f1b" */
    const char* flavor;   /* NULL = the first */
    int32_t pp;
    int32_t microbatches;
    int32_t vpp;              /* chunks per rank */
    int32_t layers_per_stage; /* parts of a stage that can be repeated separately */
    int64_t forward_ns;       /* of one op; 0 = measured in the first steps, which then have no checks */
    int64_t backward_ns;      /* of a whole backward: input and weight gradients */
    int64_t input_grad_ns;    /* 0 = half of backward_ns */
    int64_t weight_grad_ns;
    double margin;             /* fraction by which a check may overrun without delaying the step; 0 = 0.1 */
    int64_t latency_ns;        /* from the return of ask() to the start of the repetition */
    const char* directory;     /* of the trace, created if missing; NULL = no trace */
    const char* device;        /* identifies the hardware across restarts: a GPU's UUID; NULL = unknown */
    const char* order;         /* of all ranks, in PyTorch's schedule file format; NULL = that of `schedule` */
    const int32_t* layers;     /* of each of the rank's chunks, instead of layers_per_stage; records then number layers
                                  within their stage, because those of other ranks are unknown */
    const char* kinds;         /* of ops that can be repeated, such as "FB"; NULL = all */
    const int64_t* kept_bytes; /* size of the inputs of one op of each chunk; NULL = unknown */
    int64_t room_bytes; /* limit for inputs kept after their activations are freed; 0 = no limit, below 0 = none */
    bubblescope_aadiff_event event; /* receives each check when its step has ended; may be NULL */
    int32_t forward_again;          /* not 0: repeating a backward starts with its forward, which adds to its cost */
} bubblescope_aadiff_config;

typedef struct {
    uint32_t size; /* sizeof(bubblescope_aadiff_op_id) */
    char kind;     /* F forward, B whole backward, I its input half, W its weight half, O optimizer */
    int32_t microbatch;
    int32_t chunk;
    int32_t sequence; /* slice of the sequence, if micro-batches are split along it */
} bubblescope_aadiff_op_id;

typedef struct {
    uint32_t size;               /* sizeof(bubblescope_aadiff_task), set by the caller */
    bubblescope_aadiff_op_id op; /* an op of this step */
    int32_t layer;               /* in its stage, counted from its input: 0 … layers_per_stage - 1 */
    int64_t cost_ns;             /* expected */
    int64_t free_ns;             /* time from now on during which it causes no delay */
} bubblescope_aadiff_task;

typedef struct {
    uint32_t size; /* sizeof(bubblescope_aadiff_counts), set by the caller */
    int64_t planned;
    int64_t equal; /* counts tensors: a check may compare several */
    int64_t mismatched;
    int64_t aborted;
    int64_t skipped;
    int32_t units;         /* pairs of a layer and a kind of op on this rank */
    int32_t units_covered; /* units checked at least once */
} bubblescope_aadiff_counts;

/* The version of the library. */
BUBBLESCOPE_AADIFF_API uint32_t bubblescope_aadiff_version(void);
/* The reason for the calling thread's last failure; valid until its next failure. Never NULL. */
BUBBLESCOPE_AADIFF_API const char* bubblescope_aadiff_error(void);
BUBBLESCOPE_AADIFF_API int64_t bubblescope_aadiff_now(void);

/* The digest of a buffer in host memory. For device memory compute it on the device: the sum of term(index, word) over
 * the buffer's 64-bit words, in any order, then finish(). core/aadiff/digest.h defines both functions. */
BUBBLESCOPE_AADIFF_API uint64_t bubblescope_aadiff_digest(const void* data, size_t bytes);
/* The sum over a part of a buffer that begins at word `first_word`. The size of all parts except the last must be a
 * multiple of 8 bytes. */
BUBBLESCOPE_AADIFF_API uint64_t bubblescope_aadiff_digest_sum(const void* data, size_t bytes, uint64_t first_word);
BUBBLESCOPE_AADIFF_API uint64_t bubblescope_aadiff_digest_finish(uint64_t sum, uint64_t bytes);

BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_open(const bubblescope_aadiff_config* config,
                                                   bubblescope_aadiff** session);
/* Writes the remaining records; NULL is allowed. */
BUBBLESCOPE_AADIFF_API void bubblescope_aadiff_close(bubblescope_aadiff* session);

/* Excludes a layer that cannot be repeated, because it changes its state or is not deterministic. Call it before the
 * first plan: if op times are measured, in the first two steps. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_leave_out(bubblescope_aadiff* session, int32_t chunk, int32_t layer);
/* As above, but only for some kinds of its ops, such as "BIW". */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_leave_out_kinds(bubblescope_aadiff* session, int32_t chunk, int32_t layer,
                                                              const char* kinds);

BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_begin_step(bubblescope_aadiff* session, int32_t step);
/* Writes the step's records. Checks that were planned but not requested count as skipped. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_end_step(bubblescope_aadiff* session);

/* Reports an op that ran. If it is not in the schedule's order, the step has no more checks. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_op(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                 int64_t start_ns, int64_t end_ns);
/* 1 if a check of the layer is planned in this step, so that its inputs and first digest will be needed; otherwise 0.
 */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_wanted(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                     int32_t layer);
/* The checks planned in this step: fills in up to `count` of `tasks`, whose `size` must be set, and returns the number
 * of planned checks. Their cost and free time are 0. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_planned(bubblescope_aadiff* session, bubblescope_aadiff_task* tasks,
                                                      size_t count);
/* Cancels this check in this step, as if it had not been planned. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_withdraw(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                       int32_t layer);
/* Reports the digest of a layer's first result: "output", "input gradient", "weight gradient", or "weights" for an
 * optimizer op (with `layer` counted the same way). It is written to the trace. Later calls replace it: a caller
 * that computes digests only in bubbles first reports any number, so that the layer can be checked. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_computed(bubblescope_aadiff* session, const bubblescope_aadiff_op_id* op,
                                                       int32_t layer, const char* tensor, uint64_t digest);

/* Returns 1 and a task to compute now, or 0 if none fits. The bubble is the one before the op that is next in
 * the schedule. Its length is `free_ns` if that is above 0; otherwise it comes from the plan, or is four fifths of the
 * shortest of the last steps. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_ask(bubblescope_aadiff* session, int64_t free_ns,
                                                  bubblescope_aadiff_task* task);
/* Reports the digest of a repeated computation; call it for each tensor that the first execution reported. Returns
 * EQUAL, MISMATCH or ERROR. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_checked(bubblescope_aadiff* session, const bubblescope_aadiff_task* task,
                                                      const char* tensor, uint64_t digest, int64_t start_ns,
                                                      int64_t end_ns);
/* Reports that a task was started but abandoned, because the step was waiting for it. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_given_up(bubblescope_aadiff* session, const bubblescope_aadiff_task* task,
                                                       int64_t start_ns, int64_t end_ns);

/* Records where the two executions of the latest mismatch differ; their tensors must be in host memory. */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_difference(bubblescope_aadiff* session, const void* first,
                                                         const void* second, int64_t elements, int32_t element_type);
/* Reports that the latest mismatch was repeated on the same inputs: digests of `here_count` executions on this rank (at
 * least 2) and of `there_count` on another rank (0, or at least 2). Returns the verdict, which is written to the trace.
 */
BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_repeated(bubblescope_aadiff* session, const uint64_t* here,
                                                       size_t here_count, const uint64_t* there, size_t there_count);

BUBBLESCOPE_AADIFF_API int bubblescope_aadiff_count(bubblescope_aadiff* session, bubblescope_aadiff_counts* counts);

#ifdef __cplusplus
}
#endif

#endif
