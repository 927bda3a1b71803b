// What the fake scan sends, and what its receivers check.
//
// DEVICES devices take turns. In round 0 each is announced with all its properties. In each later round each has one change: its
// RSSI always, and in every fourth its manufacturer data. The data has the number of the round in its first 4 bytes, little-endian.
// Device and round tell what RSSI and data have to be, so a lost change shows in the next one.
//
// The marker is a change of device 0. Its data has 0xFFFFFFFF instead of a round, and then how many changes there were.
#include <stdint.h>

enum {
    // Ruuvi Innovations, and the length of its data.
    scan_company = 0x0499,
    scan_data_length = 24,
    // One device in so many advertises the Heart Rate service, the first of them device 0.
    scan_stride = 10,
};

// The RSSI of every device in a round, in dBm.
static inline int16_t scan_rssi(uint32_t round) { return -40 - (int)(round % 50); }

// The round whose data a device has in that round.
static inline uint32_t scan_data_round(uint32_t device, uint32_t round) {
    uint32_t age = (device + round) % 4;
    return round > age ? round - age : 0;
}
