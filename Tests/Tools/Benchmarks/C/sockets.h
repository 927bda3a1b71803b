// Common code of the C clients that use a socket: calls of a characteristic's methods, and the socket from such a call.
#include <dbus/dbus.h>
#include <stdio.h>
#include <stdlib.h>

#define SERVICE "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5/service0010"

static inline DBusConnection *open_bus(void) {
    DBusError error = DBUS_ERROR_INIT;
    DBusConnection *bus = dbus_bus_get(DBUS_BUS_SYSTEM, &error);
    if (bus != NULL) return bus;
    fprintf(stderr, "no bus: %s\n", error.message);
    exit(1);
}

// The reply to a method that takes only options, called without options.
static inline DBusMessage *call(DBusConnection *bus, const char *characteristic, const char *method) {
    DBusError error = DBUS_ERROR_INIT;
    DBusMessageIter body, options;
    DBusMessage *call = dbus_message_new_method_call(
        "org.bluez", characteristic, "org.bluez.GattCharacteristic1", method);
    dbus_message_iter_init_append(call, &body);
    dbus_message_iter_open_container(&body, DBUS_TYPE_ARRAY, "{sv}", &options);
    dbus_message_iter_close_container(&body, &options);
    DBusMessage *reply = dbus_connection_send_with_reply_and_block(bus, call, DBUS_TIMEOUT_INFINITE, &error);
    dbus_message_unref(call);
    if (reply != NULL) return reply;
    fprintf(stderr, "%s: %s\n", method, error.message);
    exit(1);
}

// The socket from AcquireNotify or AcquireWrite. It does not block.
static inline int acquire(DBusConnection *bus, const char *characteristic, const char *method) {
    int socket = -1;
    dbus_uint16_t mtu;
    DBusMessage *reply = call(bus, characteristic, method);
    if (!dbus_message_get_args(reply, NULL, DBUS_TYPE_UNIX_FD, &socket, DBUS_TYPE_UINT16, &mtu, DBUS_TYPE_INVALID)) {
        fprintf(stderr, "%s: no socket\n", method);
        exit(1);
    }
    dbus_message_unref(reply);
    return socket;
}
