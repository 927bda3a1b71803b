// known-libdbus DEVICES: libdbus alone. It gets the objects of fake-known, walks through all of them, and keeps some
// properties of each device in a table.
//
// The processor time counts from the start of the process, the time from that of main, both up to the full table. A
// fifth number is the growth of the resident memory in bytes, from before the call to after it. All numbers are for
// each device. A run with 0 devices prints totals: the cost of a start without devices.
#include "measurement.h"
#include "scan.h"

#include <dbus/dbus.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// Longer names and data are cut.
typedef struct {
    char address[18], name[32];
    int16_t rssi;
    uint16_t company;
    uint8_t data_length, data[31];
} Device;

typedef struct {
    Device *devices;
    uint32_t count, capacity;
} Table;

// --- the walk ---

// Copies as much as the string has room for.
static void read_string(DBusMessageIter *value, char *to, size_t size) {
    const char *text;
    if (dbus_message_iter_get_arg_type(value) != DBUS_TYPE_STRING) return;
    dbus_message_iter_get_basic(value, &text);
    snprintf(to, size, "%s", text);
}

// Takes the first company in the a{qv}.
static void read_data(DBusMessageIter *array, Device *device) {
    DBusMessageIter entries, entry, variant, bytes;
    const uint8_t *data = NULL;
    int length = 0;
    if (dbus_message_iter_get_arg_type(array) != DBUS_TYPE_ARRAY) return;
    dbus_message_iter_recurse(array, &entries);
    if (dbus_message_iter_get_arg_type(&entries) != DBUS_TYPE_DICT_ENTRY) return;
    dbus_message_iter_recurse(&entries, &entry);
    dbus_message_iter_get_basic(&entry, &device->company);
    dbus_message_iter_next(&entry);
    dbus_message_iter_recurse(&entry, &variant);
    if (dbus_message_iter_get_arg_type(&variant) != DBUS_TYPE_ARRAY) return;
    dbus_message_iter_recurse(&variant, &bytes);
    dbus_message_iter_get_fixed_array(&bytes, &data, &length);
    if (length > (int)sizeof device->data) length = sizeof device->data;
    device->data_length = length;
    memcpy(device->data, data, length);
}

static void read_properties(DBusMessageIter *properties, Device *device) {
    DBusMessageIter entry, value;
    for (; dbus_message_iter_get_arg_type(properties) == DBUS_TYPE_DICT_ENTRY; dbus_message_iter_next(properties)) {
        const char *name;
        dbus_message_iter_recurse(properties, &entry);
        dbus_message_iter_get_basic(&entry, &name);
        dbus_message_iter_next(&entry);
        dbus_message_iter_recurse(&entry, &value);
        if (strcmp(name, "Address") == 0) read_string(&value, device->address, sizeof device->address);
        else if (strcmp(name, "Name") == 0) read_string(&value, device->name, sizeof device->name);
        else if (strcmp(name, "ManufacturerData") == 0) read_data(&value, device);
        else if (strcmp(name, "RSSI") == 0 && dbus_message_iter_get_arg_type(&value) == DBUS_TYPE_INT16)
            dbus_message_iter_get_basic(&value, &device->rssi);
    }
}

static Device *add_device(Table *self) {
    if (self->count == self->capacity) {
        self->capacity = self->capacity == 0 ? 64 : self->capacity * 2;
        self->devices = realloc(self->devices, self->capacity * sizeof *self->devices);
        if (self->devices == NULL) abort();
    }
    Device *device = &self->devices[self->count++];
    memset(device, 0, sizeof *device);
    return device;
}

static void read_interfaces(DBusMessageIter *interfaces, Table *table) {
    DBusMessageIter interface, properties;
    for (; dbus_message_iter_get_arg_type(interfaces) == DBUS_TYPE_DICT_ENTRY; dbus_message_iter_next(interfaces)) {
        const char *name;
        dbus_message_iter_recurse(interfaces, &interface);
        dbus_message_iter_get_basic(&interface, &name);
        if (strcmp(name, "org.bluez.Device1") != 0) continue;
        dbus_message_iter_next(&interface);
        dbus_message_iter_recurse(&interface, &properties);
        read_properties(&properties, add_device(table));
    }
}

// Walks through the a{oa{sa{sv}}}.
static void read_objects(DBusMessageIter *all, Table *table) {
    DBusMessageIter object, interfaces;
    for (; dbus_message_iter_get_arg_type(all) == DBUS_TYPE_DICT_ENTRY; dbus_message_iter_next(all)) {
        dbus_message_iter_recurse(all, &object);
        dbus_message_iter_next(&object);
        dbus_message_iter_recurse(&object, &interfaces);
        read_interfaces(&interfaces, table);
    }
}

static bool load(DBusConnection *bus, Table *table, DBusError *error) {
    DBusMessageIter body, all;
    DBusMessage *call = dbus_message_new_method_call(
        "org.bluez", "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects");
    DBusMessage *reply = dbus_connection_send_with_reply_and_block(bus, call, DBUS_TIMEOUT_INFINITE, error);
    dbus_message_unref(call);
    if (reply == NULL) return false;
    if (dbus_message_has_signature(reply, "a{oa{sa{sv}}}")) {
        dbus_message_iter_init(reply, &body);
        dbus_message_iter_recurse(&body, &all);
        read_objects(&all, table);
    }
    dbus_message_unref(reply);
    return true;
}

// --- measurement ---

// The resident memory of the process, in bytes. (On an older Linux, VmRSS is off by up to some 100 kB; this number is
// exact.)
static long resident_memory(void) {
    char line[128];
    long kilobytes = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, "Rss: %ld", &kilobytes) != 1) {}
    fclose(file);
    return kilobytes * 1024;
}

// Whether the table has the data of fake-known.
static bool is_right(const Table *self, uint32_t devices) {
    if (self->count != devices) return false;
    for (uint32_t i = 0; i < devices; i++) {
        const Device *device = &self->devices[i];
        char name[16];
        snprintf(name, sizeof name, "Sensor %04X", (uint16_t)i);
        if (strlen(device->address) != 17 || strcmp(device->name, name) != 0 || device->rssi != scan_rssi(0)
            || device->company != scan_company || device->data_length != scan_data_length
            || get_uint32(device->data) != 0)
            return false;
    }
    return true;
}

int main(int argument_count, char **arguments) {
    double wall = wall_time(), cpu;
    Table table = {0};
    DBusError error = DBUS_ERROR_INIT;
    if (argument_count != 2) {
        fprintf(stderr, "usage: known-libdbus DEVICES\n");
        return 64;
    }
    uint32_t devices = strtoul(arguments[1], NULL, 10), divisor = devices == 0 ? 1 : devices;
    DBusConnection *bus = dbus_bus_get(DBUS_BUS_SYSTEM, &error);
    if (bus == NULL) {
        fprintf(stderr, "known-libdbus: %s\n", error.message);
        return 1;
    }
    long memory = resident_memory();
    if (!load(bus, &table, &error)) {
        fprintf(stderr, "known-libdbus: %s\n", error.message);
        return 1;
    }
    cpu = cpu_time();
    wall = wall_time() - wall;
    malloc_trim(0);
    memory = resident_memory() - memory;
    bool is_complete = is_right(&table, devices);
    printf(
        "%u %s %.2f %.2f %.1f\n", table.count, is_complete ? "complete" : "incomplete", cpu / divisor, wall / divisor,
        (double)memory / divisor);
    return !is_complete;
}
