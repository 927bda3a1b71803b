// scan-libdbus DEVICES: libdbus alone, in its intended use: a filter and a loop around read_write_dispatch. It reads
// each change and keeps none.
#include "measurement.h"
#include "scan.h"

#include <dbus/dbus.h>
#include <stdlib.h>
#include <string.h>

#define ADAPTER "/org/bluez/hci0"

// One change of a device.
typedef struct {
    uint32_t device;
    int16_t rssi;
    bool has_data;
    uint8_t data[scan_data_length];
} Change;

typedef struct {
    uint32_t devices;
    Measurement measurement;
    bool done;
} Scan;

// Checks that a change is the next one.
static void take(Scan *self, const Change *change) {
    Measurement *measurement = &self->measurement;
    uint32_t device = measurement->count % self->devices, round = measurement->count / self->devices + 1;
    if (change->has_data && get_uint32(change->data) == UINT32_MAX) {
        report(measurement, get_uint32(change->data + 4));
        self->done = true;
        return;
    }
    if (measurement->count == 0) {
        measurement->in_order = true;
        start(measurement);
    }
    if (change->device != device || change->rssi != scan_rssi(round)
        || change->has_data != (scan_data_round(device, round) == round)
        || (change->has_data && get_uint32(change->data) != round))
        measurement->in_order = false;
    measurement->count++;
}

// Looks for the company in the a{qv}.
static void read_data(DBusMessageIter *array, Change *change) {
    DBusMessageIter entries, entry, variant, bytes;
    dbus_message_iter_recurse(array, &entries);
    for (; dbus_message_iter_get_arg_type(&entries) == DBUS_TYPE_DICT_ENTRY; dbus_message_iter_next(&entries)) {
        uint16_t company;
        const uint8_t *data = NULL;
        int length = 0;
        dbus_message_iter_recurse(&entries, &entry);
        dbus_message_iter_get_basic(&entry, &company);
        dbus_message_iter_next(&entry);
        dbus_message_iter_recurse(&entry, &variant);
        if (company != scan_company || dbus_message_iter_get_arg_type(&variant) != DBUS_TYPE_ARRAY) continue;
        dbus_message_iter_recurse(&variant, &bytes);
        dbus_message_iter_get_fixed_array(&bytes, &data, &length);
        if (length != scan_data_length) continue;
        memcpy(change->data, data, length);
        change->has_data = true;
    }
}

static void read_properties(DBusMessageIter *properties, Change *change) {
    DBusMessageIter entry, variant;
    for (; dbus_message_iter_get_arg_type(properties) == DBUS_TYPE_DICT_ENTRY; dbus_message_iter_next(properties)) {
        const char *name;
        dbus_message_iter_recurse(properties, &entry);
        dbus_message_iter_get_basic(&entry, &name);
        dbus_message_iter_next(&entry);
        dbus_message_iter_recurse(&entry, &variant);
        int type = dbus_message_iter_get_arg_type(&variant);
        if (strcmp(name, "RSSI") == 0 && type == DBUS_TYPE_INT16) dbus_message_iter_get_basic(&variant, &change->rssi);
        else if (strcmp(name, "ManufacturerData") == 0 && type == DBUS_TYPE_ARRAY) read_data(&variant, change);
    }
}

// The last two bytes of the address in the path.
static uint32_t device_number(const char *path) {
    const char *end = path + strlen(path);
    return strtoul(end - 5, NULL, 16) << 8 | strtoul(end - 2, NULL, 16);
}

static DBusHandlerResult receive(DBusConnection *bus, DBusMessage *message, void *scan) {
    DBusMessageIter body, properties;
    const char *interface, *path = dbus_message_get_path(message);
    (void)bus;
    if (!dbus_message_is_signal(message, "org.freedesktop.DBus.Properties", "PropertiesChanged")
        || !dbus_message_has_signature(message, "sa{sv}as")
        || strlen(path) != strlen(ADAPTER "/dev_C0_00_00_00_00_00"))
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    dbus_message_iter_init(message, &body);
    dbus_message_iter_get_basic(&body, &interface);
    if (strcmp(interface, "org.bluez.Device1") == 0) {
        Change change = {.device = device_number(path)};
        dbus_message_iter_next(&body);
        dbus_message_iter_recurse(&body, &properties);
        read_properties(&properties, &change);
        take(scan, &change);
    }
    return DBUS_HANDLER_RESULT_HANDLED;
}

int main(int argument_count, char **arguments) {
    Scan scan = {.devices = argument_count == 2 ? strtoul(arguments[1], NULL, 10) : 0};
    DBusError error = DBUS_ERROR_INIT;
    if (scan.devices == 0) {
        fprintf(stderr, "usage: scan-libdbus DEVICES\n");
        return 64;
    }
    DBusConnection *bus = dbus_bus_get(DBUS_BUS_SYSTEM, &error);
    if (bus == NULL) {
        fprintf(stderr, "scan-libdbus: %s\n", error.message);
        return 1;
    }
    dbus_connection_add_filter(bus, receive, &scan, NULL);
    dbus_bus_add_match(
        bus,
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
        "path_namespace='/org/bluez'",
        &error);
    DBusMessage *call = dbus_message_new_method_call("org.bluez", ADAPTER, "org.bluez.Adapter1", "StartDiscovery");
    dbus_connection_send(bus, call, NULL);
    while (!scan.done && dbus_connection_read_write_dispatch(bus, -1)) {}
    return !scan.done;
}
