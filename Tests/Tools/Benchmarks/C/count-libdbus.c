// count-libdbus advertisements | notifications PATH | socket PATH: libdbus alone, on the real bluetoothd. It counts the
// changes of advertising devices, or the values of the characteristic at PATH, and prints the number at each marker: the
// number 0xFFFFFFFF at the beginning of the manufacturer data, or of the value.
#include "measurement.h"
#include "sockets.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

typedef struct {
    // The characteristic; NULL for advertisements.
    const char *path;
    uint32_t count;
} Counter;

static void take(Counter *self, const uint8_t *bytes, int length) {
    if (length < 4 || get_uint32(bytes) != UINT32_MAX) {
        self->count++;
        return;
    }
    printf("%u\n", self->count);
    fflush(stdout);
}

// The bytes of an ay in a variant. NULL if it is something else.
static const uint8_t *read_bytes(DBusMessageIter *variant, int *length) {
    DBusMessageIter value, bytes;
    const uint8_t *data = NULL;
    dbus_message_iter_recurse(variant, &value);
    if (dbus_message_iter_get_arg_type(&value) != DBUS_TYPE_ARRAY
        || dbus_message_iter_get_element_type(&value) != DBUS_TYPE_BYTE)
        return NULL;
    dbus_message_iter_recurse(&value, &bytes);
    dbus_message_iter_get_fixed_array(&bytes, &data, length);
    return data;
}

// The bytes of the only company in an a{qv} in a variant.
static const uint8_t *read_manufacturer_data(DBusMessageIter *variant, int *length) {
    DBusMessageIter array, entries, entry;
    dbus_message_iter_recurse(variant, &array);
    if (dbus_message_iter_get_arg_type(&array) != DBUS_TYPE_ARRAY) return NULL;
    dbus_message_iter_recurse(&array, &entries);
    if (dbus_message_iter_get_arg_type(&entries) != DBUS_TYPE_DICT_ENTRY) return NULL;
    dbus_message_iter_recurse(&entries, &entry);
    dbus_message_iter_next(&entry);
    return read_bytes(&entry, length);
}

static DBusHandlerResult receive(DBusConnection *bus, DBusMessage *message, void *context) {
    Counter *self = context;
    DBusMessageIter body, properties, entry;
    const char *interface, *name;
    (void)bus;
    if (!dbus_message_is_signal(message, "org.freedesktop.DBus.Properties", "PropertiesChanged")
        || !dbus_message_has_signature(message, "sa{sv}as")
        || (self->path != NULL && !dbus_message_has_path(message, self->path)))
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    dbus_message_iter_init(message, &body);
    dbus_message_iter_get_basic(&body, &interface);
    dbus_message_iter_next(&body);
    if (strcmp(interface, self->path == NULL ? "org.bluez.Device1" : "org.bluez.GattCharacteristic1") != 0)
        return DBUS_HANDLER_RESULT_HANDLED;
    dbus_message_iter_recurse(&body, &properties);
    for (; dbus_message_iter_get_arg_type(&properties) == DBUS_TYPE_DICT_ENTRY; dbus_message_iter_next(&properties)) {
        int length = 0;
        const uint8_t *bytes = NULL;
        dbus_message_iter_recurse(&properties, &entry);
        dbus_message_iter_get_basic(&entry, &name);
        dbus_message_iter_next(&entry);
        if (self->path != NULL && strcmp(name, "Value") == 0) bytes = read_bytes(&entry, &length);
        if (self->path == NULL && strcmp(name, "ManufacturerData") == 0)
            bytes = read_manufacturer_data(&entry, &length);
        if (bytes != NULL) take(self, bytes, length);
    }
    return DBUS_HANDLER_RESULT_HANDLED;
}

static int receive_from(int socket) {
    Counter counter = {0};
    struct pollfd watched = {socket, POLLIN};
    for (;;) {
        uint8_t packet[512];
        ssize_t length = recv(watched.fd, packet, sizeof packet, 0);
        if (length > 0)
            take(&counter, packet, (int)length);
        else if (length < 0 && errno == EAGAIN)
            poll(&watched, 1, -1);
        else
            return 1;
    }
}

int main(int argument_count, char **arguments) {
    const char *kind = argument_count > 1 ? arguments[1] : "";
    Counter counter = {argument_count == 3 ? arguments[2] : NULL};
    bool scans = strcmp(kind, "advertisements") == 0;
    if (argument_count != (scans ? 2 : 3) || (!scans && strcmp(kind, "notifications") && strcmp(kind, "socket"))) {
        fprintf(stderr, "usage: count-libdbus advertisements | notifications PATH | socket PATH\n");
        return 64;
    }
    DBusConnection *bus = open_bus();
    if (strcmp(kind, "socket") == 0) return receive_from(acquire(bus, counter.path, "AcquireNotify"));
    DBusError error = DBUS_ERROR_INIT;
    dbus_connection_add_filter(bus, receive, &counter, NULL);
    dbus_bus_add_match(
        bus,
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
        "path_namespace='/org/bluez'",
        &error);
    dbus_connection_send(
        bus,
        scans ? dbus_message_new_method_call("org.bluez", "/org/bluez/hci0", "org.bluez.Adapter1", "StartDiscovery")
              : dbus_message_new_method_call(
                  "org.bluez", counter.path, "org.bluez.GattCharacteristic1", "StartNotify"),
        NULL);
    while (dbus_connection_read_write_dispatch(bus, -1)) {}
    return 1;
}
