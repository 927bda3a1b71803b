// The measurement of every receiver: whether all values came in order, and the processor time from the first value to
// the marker.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    uint32_t count;
    bool in_order;
    double cpu, wall;
    // The time of each value from its sender to this program, in microseconds. NULL if it is not measured.
    double *latencies;
} Measurement;

// The maximum number of latencies.
enum { latency_limit = 1 << 20 };

// A clock, in microseconds.
static inline double now(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

// User and system time of the whole process.
static inline double cpu_time(void) { return now(CLOCK_PROCESS_CPUTIME_ID); }

static inline double wall_time(void) { return now(CLOCK_MONOTONIC); }

static inline uint32_t get_uint32(const uint8_t *bytes) {
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline void start(Measurement *self) {
    self->cpu = cpu_time();
    self->wall = wall_time();
}

static inline int compare_doubles(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return difference < 0 ? -1 : difference > 0;
}

// Prints the result: the number of values, whether they are complete, and for each value the microseconds of processor
// time and of elapsed time. If latencies are measured, also what half, 99 % and 99.9 % of them do not exceed.
static inline void report(const Measurement *self, uint32_t total) {
    static const double parts[] = {0.5, 0.99, 0.999};
    printf(
        "%u %s %.2f %.2f", self->count, self->in_order && self->count == total ? "complete" : "incomplete",
        (cpu_time() - self->cpu) / self->count, (wall_time() - self->wall) / self->count);
    if (self->latencies != NULL) {
        qsort(self->latencies, self->count, sizeof *self->latencies, compare_doubles);
        for (int i = 0; i < 3; i++) printf(" %.1f", self->latencies[(uint32_t)(parts[i] * (self->count - 1))]);
    }
    puts("");
}

// Counts a value. Prints the result and returns true at the marker.
static inline bool measure(Measurement *self, const uint8_t *value, int length) {
    if (length < 8) return false;
    uint32_t counter = get_uint32(value);
    if (counter == UINT32_MAX) {
        report(self, get_uint32(value + 4));
        return true;
    }
    if (self->count == 0) {
        self->in_order = true;
        start(self);
    }
    if (self->latencies != NULL && length >= 16 && self->count < latency_limit) {
        uint64_t sent = get_uint32(value + 8) | (uint64_t)get_uint32(value + 12) << 32;
        self->latencies[self->count] = wall_time() - sent / 1e3;
    }
    if (counter != self->count) self->in_order = false;
    self->count++;
    return false;
}
