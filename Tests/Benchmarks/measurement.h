// What every receiver measures: whether all values came in order, and the processor time from the first to the marker.
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
static double now(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

// User and system time of the whole process.
static double cpu_time(void) { return now(CLOCK_PROCESS_CPUTIME_ID); }

static double wall_time(void) { return now(CLOCK_MONOTONIC); }

static uint32_t get_uint32(const uint8_t *bytes) {
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

// Takes a value in. True at the marker, for which it has printed the result: values, complete or not, microseconds of
// processor time for each value, and of time that passed.
static bool measure(Measurement *self, const uint8_t *value, int length) {
    if (length < 8) return false;
    uint32_t counter = get_uint32(value);
    if (counter == UINT32_MAX) {
        bool complete = self->in_order && self->count == get_uint32(value + 4);
        printf(
            "%u %s %.2f %.2f\n", self->count, complete ? "complete" : "incomplete",
            (cpu_time() - self->cpu) / self->count, (wall_time() - self->wall) / self->count);
        return true;
    }
    if (self->count == 0) {
        self->in_order = true;
        self->cpu = cpu_time();
        self->wall = wall_time();
    }
    if (counter != self->count) self->in_order = false;
    self->count++;
    return false;
}
