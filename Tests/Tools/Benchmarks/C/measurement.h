// The measurement of every receiver: whether all values came in order, and the processor time from the first value to
// the marker.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

typedef struct {
    uint32_t count;
    bool in_order;
    double cpu, wall;
} Measurement;

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

// Prints the result: the number of values, whether they are complete, and for each value the microseconds of processor
// time and of elapsed time.
static inline void report(const Measurement *self, uint32_t total) {
    printf(
        "%u %s %.2f %.2f\n", self->count, self->in_order && self->count == total ? "complete" : "incomplete",
        (cpu_time() - self->cpu) / self->count, (wall_time() - self->wall) / self->count);
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
    if (counter != self->count) self->in_order = false;
    self->count++;
    return false;
}
