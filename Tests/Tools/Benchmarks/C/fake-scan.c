// fake-scan COUNT RATE DEVICES [bthome]: an org.bluez with one adapter, in range of DEVICES devices that advertise.
//
// On the bus at DBUS_SYSTEM_BUS_ADDRESS. It prints "ready" once it owns the name. StartDiscovery is answered, and 100 ms later every
// device is announced, and then COUNT changes are signaled, RATE a second on an absolute schedule. Then comes the
// marker. See scan.h for their contents; with `bthome` the devices are sensors. The program answers no calls while it
// signals.
//
// Discovery filters are accepted and have no effect, as when another client scans without a filter.
#include "fake-devices.h"

typedef struct {
    uint32_t count, rate, devices;
    bool sensors;
} Plan;

static bool is_announced;

// --- sensors ---

static void fill_report(uint8_t *report, uint32_t number, uint32_t round) {
    int16_t temperature = scan_temperature(number, round);
    uint16_t humidity = scan_humidity(number, round);
    const uint8_t bytes[scan_report_length] = {
        0x40, 0x00, round, 0x01, scan_battery(number, round), 0x02, temperature & 0xFF, temperature >> 8 & 0xFF, 0x03,
        humidity & 0xFF, humidity >> 8,
    };
    memcpy(report, bytes, sizeof bytes);
}

static void announce_sensor(DBusConnection *bus, uint32_t number) {
    uint8_t report[scan_report_length];
    Property properties[device_property_count];
    DBusMessageIter body;
    const Device subject = device(number);
    fill_report(report, number, 0);
    describe(properties, &subject, number % scan_stride == 0, report);
    for (Property *property = properties; property->name != NULL; property++)
        if (strcmp(property->name, "ManufacturerData") == 0)
            *property = (Property){
                "ServiceData", "a{sv}", SCAN_BTHOME, .data = report, .data_length = scan_report_length};
    DBusMessage *signal = dbus_message_new_signal("/", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded");
    dbus_message_iter_init_append(signal, &body);
    append_object(&body, subject.path, DEVICE_INTERFACE, properties);
    send(bus, signal);
}

static void send_sensor_change(DBusConnection *bus, uint32_t number, uint32_t round) {
    uint8_t report[scan_report_length];
    const Property properties[] = {
        {"RSSI", "n", .number = (uint16_t)scan_rssi(round)},
        {"ServiceData", "a{sv}", SCAN_BTHOME, .data = report, .data_length = scan_report_length},
        {NULL},
    };
    const Device subject = device(number);
    fill_report(report, number, round);
    send_properties_changed(bus, subject.path, DEVICE_INTERFACE, properties, 2);
}

static void send_sensor_marker(DBusConnection *bus, uint32_t count) {
    uint8_t report[scan_marker_length] = {0x40, 0x3E};
    const Property properties[] = {
        {"ServiceData", "a{sv}", SCAN_BTHOME, .data = report, .data_length = scan_marker_length},
        {NULL},
    };
    const Device subject = device(0);
    put_uint32(report + 2, count);
    send_properties_changed(bus, subject.path, DEVICE_INTERFACE, properties, 1);
    dbus_connection_flush(bus);
}

// --- signals ---

static void send_marker(DBusConnection *bus, uint32_t count) {
    uint8_t data[scan_data_length];
    const Property properties[] = {
        {"ManufacturerData", "a{qv}", .number = scan_company, .data = data, .data_length = scan_data_length},
        {NULL},
    };
    const Device subject = device(0);
    fill_data(data, UINT32_MAX, count);
    send_properties_changed(bus, subject.path, DEVICE_INTERFACE, properties, 1);
    dbus_connection_flush(bus);
}

static void advertise(DBusConnection *bus, const Plan *plan) {
    struct timespec next = begin_schedule(bus);
    for (uint32_t i = 0; i < plan->devices; i++) {
        const Device subject = device(i);
        if (plan->sensors) announce_sensor(bus, i);
        else announce(bus, &subject, i % scan_stride == 0);
        await_next(bus, &next, plan->rate);
    }
    is_announced = true;
    for (uint32_t i = 0; i < plan->count; i++) {
        if (plan->sensors) send_sensor_change(bus, i % plan->devices, i / plan->devices + 1);
        else send_change(bus, i % plan->devices, i / plan->devices + 1);
        await_next(bus, &next, plan->rate);
    }
    if (plan->sensors) send_sensor_marker(bus, plan->count);
    else send_marker(bus, plan->count);
}

// --- calls ---

static const Property *find_properties(const char *path, const char *interface) {
    return strcmp(path, ADAPTER) == 0 && strcmp(interface, "org.bluez.Adapter1") == 0 ? adapter_properties : NULL;
}

// The answer to a StartDiscovery or StopDiscovery. As in bluetoothd, the changes are signaled before it.
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
        append_devices(&body, is_announced ? plan->devices : 0);
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
    bool sensors = argument_count == 5 && strcmp(arguments[4], "bthome") == 0;
    if (argument_count != 4 && !sensors) {
        fprintf(stderr, "usage: fake-scan COUNT RATE DEVICES [bthome]\n");
        return 64;
    }
    Plan plan = {
        strtoul(arguments[1], NULL, 10), strtoul(arguments[2], NULL, 10), strtoul(arguments[3], NULL, 10),
        sensors,
    };
    if (plan.rate == 0 || plan.devices == 0 || plan.devices > 0xFFFF) return 64;
    return serve("fake-scan", answer, &plan);
}
