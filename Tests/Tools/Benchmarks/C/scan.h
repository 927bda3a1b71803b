// The data that the fake scan sends, and that its receivers check.
//
// DEVICES devices take turns. In round 0 each is announced with all its properties. In each later round each has one
// change: its RSSI always, and in every fourth its manufacturer data. The data has the number of the round in its first
// 4 bytes, little-endian. Device and round determine RSSI and data, so a lost change is detected with the next one.
//
// The marker is a change of device 0. Its data has 0xFFFFFFFF instead of a round, and then the number of changes.
//
// Sensors have no manufacturer data. Instead, the announcement and every change of a sensor have a report in BTHome v2,
// which is service data of FCD2: 0x40; packet id, 0x00 and the low byte of the round; battery, 0x01 and a byte;
// temperature, 0x02 and an int16; humidity, 0x03 and a uint16. The marker's report is 0x40, 0x3E and the number of
// changes, in 4 bytes. All numbers are little-endian.
#include <stdint.h>

enum {
    // The company Ruuvi Innovations, and the length of its data.
    scan_company = 0x0499,
    scan_data_length = 24,
    // One device in this many advertises the Heart Rate service, beginning with device 0.
    scan_stride = 10,
};

// The service of BTHome, and the lengths of a report and of the marker's report.
#define SCAN_BTHOME "0000fcd2-0000-1000-8000-00805f9b34fb"
enum { scan_report_length = 11, scan_marker_length = 6 };

// The RSSI of every device in a round, in dBm.
static inline int16_t scan_rssi(uint32_t round) { return -40 - (int)(round % 50); }

// The round of a device's last change of data, up to the given round.
static inline uint32_t scan_data_round(uint32_t device, uint32_t round) {
    uint32_t age = (device + round) % 4;
    return round > age ? round - age : 0;
}

// A sensor's values: percent, hundredths of a degree Celsius, and hundredths of a percent.
static inline uint8_t scan_battery(uint32_t device, uint32_t round) { return 100 - (device + round) % 101; }
static inline int16_t scan_temperature(uint32_t device, uint32_t round) {
    return (int)((device * 7 + round * 13) % 6000) - 2000;
}
static inline uint16_t scan_humidity(uint32_t device, uint32_t round) { return (device * 11 + round * 17) % 10001; }
