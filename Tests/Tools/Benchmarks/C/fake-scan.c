// fake-scan COUNT RATE DEVICES: an org.bluez with one adapter, in range of DEVICES devices that advertise.
//
// On the bus at DBUS_SYSTEM_BUS_ADDRESS. It prints "ready" once it owns the name. StartDiscovery is answered, and 100 ms later every
// device is announced, and then COUNT changes are signaled, RATE a second on an absolute schedule. Then comes the marker. See scan.h
// for what each of them says. While it signals it answers nothing.
//
// Discovery filters are accepted and hide nothing, as when another client scans without one.
#include "fake.h"
#include "scan.h"

#define DEVICE "org.bluez.Device1"

typedef struct {
    char path[64], address[18], name[16];
} Device;

typedef struct {
    uint32_t count, rate, devices;
} Plan;

static bool is_announced;

// A static random address. Its last two bytes are the device's number.
static Device device(uint32_t number) {
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

static void fill_data(uint8_t *data, uint32_t round, uint32_t total) {
    for (int i = 0; i < scan_data_length; i++) data[i] = i;
    put_uint32(data, round);
    put_uint32(data + 4, total);
}

enum { device_property_count = 17 };

// Everything that bluetoothd has of a device that was heard and never connected. Keeps pointers to `device` and `data`.
static void describe(Property *to, const Device *device, bool is_match, const uint8_t *data) {
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

// --- signals ---

static void announce(DBusConnection *bus, uint32_t number) {
    uint8_t data[scan_data_length];
    Property properties[device_property_count];
    DBusMessageIter body;
    const Device subject = device(number);
    fill_data(data, 0, 0);
    describe(properties, &subject, number % scan_stride == 0, data);
    DBusMessage *signal = dbus_message_new_signal("/", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded");
    dbus_message_iter_init_append(signal, &body);
    append_object(&body, subject.path, DEVICE, properties);
    send(bus, signal);
}

static void send_change(DBusConnection *bus, uint32_t number, uint32_t round) {
    uint8_t data[scan_data_length];
    const Property properties[] = {
        {"RSSI", "n", .number = (uint16_t)scan_rssi(round)},
        {"ManufacturerData", "a{qv}", .number = scan_company, .data = data, .data_length = scan_data_length},
        {NULL},
    };
    const Device subject = device(number);
    fill_data(data, round, 0);
    send_properties_changed(bus, subject.path, DEVICE, properties, scan_data_round(number, round) == round ? 2 : 1);
}

static void send_marker(DBusConnection *bus, uint32_t count) {
    uint8_t data[scan_data_length];
    const Property properties[] = {
        {"ManufacturerData", "a{qv}", .number = scan_company, .data = data, .data_length = scan_data_length},
        {NULL},
    };
    const Device subject = device(0);
    fill_data(data, UINT32_MAX, count);
    send_properties_changed(bus, subject.path, DEVICE, properties, 1);
    dbus_connection_flush(bus);
}

static void set_discovering(DBusConnection *bus, bool is_discovering) {
    adapter_properties[0].number = is_discovering;
    send_properties_changed(bus, ADAPTER, "org.bluez.Adapter1", adapter_properties, 1);
}

static void advertise(DBusConnection *bus, const Plan *plan) {
    struct timespec next = begin_schedule(bus);
    for (uint32_t i = 0; i < plan->devices; i++) {
        announce(bus, i);
        await_next(bus, &next, plan->rate);
    }
    is_announced = true;
    for (uint32_t i = 0; i < plan->count; i++) {
        send_change(bus, i % plan->devices, i / plan->devices + 1);
        await_next(bus, &next, plan->rate);
    }
    send_marker(bus, plan->count);
}

// --- calls ---

static const Property *find_properties(const char *path, const char *interface) {
    return strcmp(path, ADAPTER) == 0 && strcmp(interface, "org.bluez.Adapter1") == 0 ? adapter_properties : NULL;
}

static void append_objects(DBusMessageIter *to, uint32_t devices) {
    uint8_t data[scan_data_length];
    Property properties[device_property_count];
    DBusMessageIter all;
    fill_data(data, 0, 0);
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "{oa{sa{sv}}}", &all);
    append_managed(&all, ADAPTER, "org.bluez.Adapter1", adapter_properties);
    for (uint32_t i = 0; i < devices; i++) {
        const Device subject = device(i);
        describe(properties, &subject, i % scan_stride == 0, data);
        append_managed(&all, subject.path, DEVICE, properties);
    }
    dbus_message_iter_close_container(to, &all);
}

// The answer to a StartDiscovery or StopDiscovery. As in bluetoothd, what it changes is signaled before.
static DBusMessage *discover(DBusConnection *bus, DBusMessage *call, bool start) {
    bool is_discovering = adapter_properties[0].number;
    if (start && is_discovering)
        return dbus_message_new_error(call, "org.bluez.Error.InProgress", "Operation already in progress");
    if (!start && !is_discovering)
        return dbus_message_new_error(call, "org.bluez.Error.Failed", "No discovery started");
    set_discovering(bus, start);
    return dbus_message_new_method_return(call);
}

static DBusHandlerResult answer(DBusConnection *bus, DBusMessage *call, void *data) {
    const Plan *plan = data;
    DBusMessage *reply = NULL;
    DBusMessageIter body;
    bool starts = false;
    if (dbus_message_get_type(call) != DBUS_MESSAGE_TYPE_METHOD_CALL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (dbus_message_has_member(call, "GetManagedObjects")) {
        reply = dbus_message_new_method_return(call);
        dbus_message_iter_init_append(reply, &body);
        append_objects(&body, is_announced ? plan->devices : 0);
    } else if (dbus_message_has_interface(call, "org.freedesktop.DBus.Properties")) {
        reply = get_properties(call, find_properties);
    } else if (dbus_message_has_member(call, "StartDiscovery")) {
        reply = discover(bus, call, true);
        starts = dbus_message_get_type(reply) == DBUS_MESSAGE_TYPE_METHOD_RETURN;
    } else if (dbus_message_has_member(call, "StopDiscovery")) {
        reply = discover(bus, call, false);
    } else if (dbus_message_has_member(call, "SetDiscoveryFilter")) {
        reply = dbus_message_new_method_return(call);
    }
    if (reply == NULL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    send_reply(bus, call, reply);
    if (starts) advertise(bus, plan);
    return DBUS_HANDLER_RESULT_HANDLED;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 4) {
        fprintf(stderr, "usage: fake-scan COUNT RATE DEVICES\n");
        return 64;
    }
    Plan plan = {
        strtoul(arguments[1], NULL, 10), strtoul(arguments[2], NULL, 10), strtoul(arguments[3], NULL, 10),
    };
    if (plan.rate == 0 || plan.devices == 0 || plan.devices > 0xFFFF) return 64;
    return serve("fake-scan", answer, &plan);
}
