// Common code of the fake bluetoothds with many devices, which were discovered and never connected. See scan.h for
// their data.
#include "fake.h"
#include "scan.h"

#define DEVICE_INTERFACE "org.bluez.Device1"

typedef struct {
    char path[64], address[18], name[16];
} Device;

// A static random address. Its last two bytes are the device's number.
static inline Device device(uint32_t number) {
    Device device;
    uint32_t hash = number * 2654435761u;
    const unsigned bytes[] = {
        0xC0 | hash >> 26, hash >> 18 & 0xFF, hash >> 10 & 0xFF, hash >> 2 & 0xFF, number >> 8 & 0xFF, number & 0xFF,
    };
    snprintf(
        device.address, sizeof device.address, "%02X:%02X:%02X:%02X:%02X:%02X", bytes[0], bytes[1], bytes[2], bytes[3],
        bytes[4], bytes[5]);
    snprintf(device.path, sizeof device.path, ADAPTER "/dev_%s", device.address);
    for (char *c = device.path; *c != '\0'; c++)
        if (*c == ':') *c = '_';
    snprintf(device.name, sizeof device.name, "Sensor %04X", (uint16_t)number);
    return device;
}

static inline void fill_data(uint8_t *data, uint32_t round, uint32_t total) {
    for (int i = 0; i < scan_data_length; i++) data[i] = i;
    put_uint32(data, round);
    put_uint32(data + 4, total);
}

enum { device_property_count = 17 };

// All properties that bluetoothd has of a device that was discovered and never connected. Keeps pointers to `device`
// and `data`.
static inline void describe(Property *to, const Device *device, bool is_match, const uint8_t *data) {
    const Property properties[device_property_count] = {
        {"Address", "s", device->address},
        {"AddressType", "s", "random"},
        {"Name", "s", device->name},
        {"Alias", "s", device->name},
        {"Paired", "b", .number = false},
        {"Bonded", "b", .number = false},
        {"Trusted", "b", .number = false},
        {"Blocked", "b", .number = false},
        {"LegacyPairing", "b", .number = false},
        {"RSSI", "n", .number = (uint16_t)scan_rssi(0)},
        {"Connected", "b", .number = false},
        {"UUIDs", "as",
         is_match ? "0000180d-0000-1000-8000-00805f9b34fb 0000180f-0000-1000-8000-00805f9b34fb"
                  : "0000180f-0000-1000-8000-00805f9b34fb 0000181a-0000-1000-8000-00805f9b34fb"},
        {"Adapter", "o", ADAPTER},
        {"ManufacturerData", "a{qv}", .number = scan_company, .data = data, .data_length = scan_data_length},
        {"TxPower", "n", .number = 4},
        {"ServicesResolved", "b", .number = false},
        {NULL},
    };
    memcpy(to, properties, sizeof properties);
}

// Signals a new device with its state in round 0.
static inline void announce(DBusConnection *bus, const Device *device, bool is_match) {
    uint8_t data[scan_data_length];
    Property properties[device_property_count];
    DBusMessageIter body;
    fill_data(data, 0, 0);
    describe(properties, device, is_match, data);
    DBusMessage *signal = dbus_message_new_signal("/", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded");
    dbus_message_iter_init_append(signal, &body);
    append_object(&body, device->path, DEVICE_INTERFACE, properties);
    send(bus, signal);
}

// Entries of the reply to GetManagedObjects: the adapter, and the devices with their state in round 0.
static inline void append_adapter_and_devices(DBusMessageIter *all, uint32_t devices) {
    uint8_t data[scan_data_length];
    Property properties[device_property_count];
    fill_data(data, 0, 0);
    append_managed(all, ADAPTER, "org.bluez.Adapter1", adapter_properties);
    for (uint32_t i = 0; i < devices; i++) {
        const Device subject = device(i);
        describe(properties, &subject, i % scan_stride == 0, data);
        append_managed(all, subject.path, DEVICE_INTERFACE, properties);
    }
}

// The reply to GetManagedObjects with nothing else.
static inline void append_devices(DBusMessageIter *to, uint32_t devices) {
    DBusMessageIter all;
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "{oa{sa{sv}}}", &all);
    append_adapter_and_devices(&all, devices);
    dbus_message_iter_close_container(to, &all);
}

// Signals a device's change of a round.
static inline void send_change(DBusConnection *bus, uint32_t number, uint32_t round) {
    uint8_t data[scan_data_length];
    const Property properties[] = {
        {"RSSI", "n", .number = (uint16_t)scan_rssi(round)},
        {"ManufacturerData", "a{qv}", .number = scan_company, .data = data, .data_length = scan_data_length},
        {NULL},
    };
    const Device subject = device(number);
    fill_data(data, round, 0);
    send_properties_changed(
        bus, subject.path, DEVICE_INTERFACE, properties, scan_data_round(number, round) == round ? 2 : 1);
}

static inline void set_discovering(DBusConnection *bus, bool is_discovering) {
    adapter_properties[0].number = is_discovering;
    send_properties_changed(bus, ADAPTER, "org.bluez.Adapter1", adapter_properties, 1);
}
