// receive-libdbus [latency]: libdbus alone, in its intended use: a filter and a loop around read_write_dispatch.
#include "measurement.h"

#include <dbus/dbus.h>
#include <string.h>

#define CHARACTERISTIC "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5/service0010/char0011"

static bool done;

// Looks for "Value" in the a{sv}.
static void read_properties(DBusMessageIter *properties, Measurement *measurement) {
    DBusMessageIter entry, variant, bytes;
    for (; dbus_message_iter_get_arg_type(properties) == DBUS_TYPE_DICT_ENTRY; dbus_message_iter_next(properties)) {
        const char *name;
        const uint8_t *value = NULL;
        int length = 0;
        dbus_message_iter_recurse(properties, &entry);
        dbus_message_iter_get_basic(&entry, &name);
        if (strcmp(name, "Value") != 0 || !dbus_message_iter_next(&entry)) continue;
        dbus_message_iter_recurse(&entry, &variant);
        if (dbus_message_iter_get_arg_type(&variant) != DBUS_TYPE_ARRAY) continue;
        dbus_message_iter_recurse(&variant, &bytes);
        dbus_message_iter_get_fixed_array(&bytes, &value, &length);
        done = measure(measurement, value, length);
    }
}

static DBusHandlerResult receive(DBusConnection *bus, DBusMessage *message, void *measurement) {
    DBusMessageIter body, properties;
    const char *interface;
    (void)bus;
    if (!dbus_message_is_signal(message, "org.freedesktop.DBus.Properties", "PropertiesChanged")
        || !dbus_message_has_path(message, CHARACTERISTIC) || !dbus_message_has_signature(message, "sa{sv}as"))
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    dbus_message_iter_init(message, &body);
    dbus_message_iter_get_basic(&body, &interface);
    if (strcmp(interface, "org.bluez.GattCharacteristic1") == 0) {
        dbus_message_iter_next(&body);
        dbus_message_iter_recurse(&body, &properties);
        read_properties(&properties, measurement);
    }
    return DBUS_HANDLER_RESULT_HANDLED;
}

int main(int argument_count, char **arguments) {
    Measurement measurement = {0};
    if (argument_count == 2 && strcmp(arguments[1], "latency") == 0)
        measurement.latencies = malloc(latency_limit * sizeof *measurement.latencies);
    DBusError error = DBUS_ERROR_INIT;
    DBusConnection *bus = dbus_bus_get(DBUS_BUS_SYSTEM, &error);
    if (bus == NULL) {
        fprintf(stderr, "receive-libdbus: %s\n", error.message);
        return 1;
    }
    dbus_connection_add_filter(bus, receive, &measurement, NULL);
    dbus_bus_add_match(
        bus,
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
        "path_namespace='/org/bluez'",
        &error);
    DBusMessage *call = dbus_message_new_method_call(
        "org.bluez", CHARACTERISTIC, "org.bluez.GattCharacteristic1", "StartNotify");
    dbus_connection_send(bus, call, NULL);
    while (!done && dbus_connection_read_write_dispatch(bus, -1)) {}
    return !done;
}
