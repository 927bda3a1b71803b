// fake-known DEVICES: an org.bluez with one adapter that knows DEVICES devices from before.
//
// On the bus at DBUS_SYSTEM_BUS_ADDRESS. It prints "ready" once it owns the name. The devices are those of fake-scan in
// round 0. StartDiscovery is answered, and right after that one more device is announced, with the name "Marker". It is
// forgotten at once: GetManagedObjects never contains it, and the next StartDiscovery announces it again.
#include "fake-devices.h"

static uint32_t devices;

// A device for Get and GetAll. Valid until the next call of this function.
static const Property *device_properties(const char *path) {
    static uint8_t data[scan_data_length];
    static Property properties[device_property_count];
    static Device subject;
    size_t length = strlen(path);
    if (length != strlen(ADAPTER "/dev_C0_00_00_00_00_00")) return NULL;
    uint32_t number = strtoul(path + length - 5, NULL, 16) << 8 | strtoul(path + length - 2, NULL, 16);
    subject = device(number);
    if (number >= devices || strcmp(subject.path, path) != 0) return NULL;
    fill_data(data, 0, 0);
    describe(properties, &subject, number % scan_stride == 0, data);
    return properties;
}

static const Property *find_properties(const char *path, const char *interface) {
    if (strcmp(path, ADAPTER) == 0 && strcmp(interface, "org.bluez.Adapter1") == 0) return adapter_properties;
    return strcmp(interface, DEVICE_INTERFACE) == 0 ? device_properties(path) : NULL;
}

static void announce_marker(DBusConnection *bus) {
    Device marker = device(devices);
    snprintf(marker.name, sizeof marker.name, "Marker");
    announce(bus, &marker, false);
}

static DBusHandlerResult answer(DBusConnection *bus, DBusMessage *call, void *data) {
    DBusMessage *reply = NULL;
    DBusMessageIter body;
    bool is_discovering = adapter_properties[0].number, starts = false;
    (void)data;
    if (dbus_message_get_type(call) != DBUS_MESSAGE_TYPE_METHOD_CALL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (dbus_message_has_member(call, "GetManagedObjects")) {
        reply = dbus_message_new_method_return(call);
        dbus_message_iter_init_append(reply, &body);
        append_devices(&body, devices);
    } else if (dbus_message_has_interface(call, "org.freedesktop.DBus.Properties")) {
        reply = get_properties(call, find_properties);
    } else if (dbus_message_has_member(call, "StartDiscovery")) {
        // A second call during discovery is treated as another client's. As in bluetoothd, the changes are signaled
        // before the reply.
        if (!is_discovering) set_discovering(bus, true);
        reply = dbus_message_new_method_return(call);
        starts = true;
    } else if (dbus_message_has_member(call, "StopDiscovery") && !is_discovering) {
        reply = dbus_message_new_error(call, "org.bluez.Error.Failed", "No discovery started");
    } else if (dbus_message_has_member(call, "StopDiscovery")) {
        set_discovering(bus, false);
        reply = dbus_message_new_method_return(call);
    } else if (dbus_message_has_member(call, "SetDiscoveryFilter")) {
        reply = dbus_message_new_method_return(call);
    }
    if (reply == NULL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    send_reply(bus, call, reply);
    if (starts) announce_marker(bus);
    return DBUS_HANDLER_RESULT_HANDLED;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 2) {
        fprintf(stderr, "usage: fake-known DEVICES\n");
        return 64;
    }
    devices = strtoul(arguments[1], NULL, 10);
    // The number of the marker has to fit in 2 bytes, too.
    if (devices >= 0xFFFF) return 64;
    return serve("fake-known", answer, NULL);
}
