// fake-bluez COUNT RATE: an org.bluez with one adapter and one connected peripheral, one of whose characteristics notifies.
//
// On the bus at DBUS_SYSTEM_BUS_ADDRESS. It prints "ready" once it owns the name. StartNotify is answered, and 100 ms later
// COUNT values of 20 bytes are signaled: the counter from 0 in the first 4 bytes, and after the next 4 the time in
// nanoseconds, by CLOCK_MONOTONIC, in 8 bytes, both little-endian. RATE is the number of values a second, on an absolute
// schedule; 0 is as fast as the bus takes them. Then comes the marker: counter 0xFFFFFFFF, and COUNT in the 4 bytes after
// it. The program answers no calls while it signals. That characteristic and 15 others, char0021 to char0035, can be
// read.
#include "fake-peripheral.h"

#define CHARACTERISTIC SERVICE "/char0011"

enum { flood_batch = 64 };

#define READABLE(number) \
    {SERVICE "/char00" #number, "org.bluez.GattCharacteristic1", (const Property[]){ \
        {"UUID", "s", "0000ff" #number "-0000-1000-8000-00805f9b34fb"}, \
        {"Service", "o", SERVICE}, \
        {"Flags", "as", "read"}, \
        {NULL}, \
    }}

static const Object objects[] = {
    {ADAPTER, "org.bluez.Adapter1", adapter_properties},
    {DEVICE, "org.bluez.Device1", device_properties},
    {SERVICE, "org.bluez.GattService1", service_properties},
    {CHARACTERISTIC, "org.bluez.GattCharacteristic1", (const Property[]){
        {"UUID", "s", "00002a37-0000-1000-8000-00805f9b34fb"},
        {"Service", "o", SERVICE},
        {"Notifying", "b", .number = false},
        {"Flags", "as", "read notify"},
        {"MTU", "q", .number = 247},
        {NULL},
    }},
    READABLE(21), READABLE(22), READABLE(23), READABLE(24), READABLE(25), READABLE(26), READABLE(27), READABLE(28),
    READABLE(29), READABLE(30), READABLE(31), READABLE(32), READABLE(33), READABLE(34), READABLE(35),
};
enum { object_count = sizeof objects / sizeof *objects };

// --- signals ---

static void send_value(DBusConnection *bus, uint32_t counter, uint32_t total) {
    uint8_t value[value_length] = {0};
    struct timespec now;
    uint64_t nanoseconds;
    const Property properties[] = {{"Value", "ay", .data = value, .data_length = value_length}, {NULL}};
    put_uint32(value, counter);
    put_uint32(value + 4, total);
    clock_gettime(CLOCK_MONOTONIC, &now);
    nanoseconds = now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
    put_uint32(value + 8, nanoseconds);
    put_uint32(value + 12, nanoseconds >> 32);
    send_properties_changed(bus, CHARACTERISTIC, "org.bluez.GattCharacteristic1", properties, 1);
}

static void notify(DBusConnection *bus, uint32_t count, uint32_t rate) {
    struct timespec next = begin_schedule(bus);
    for (uint32_t i = 0; i < count; i++) {
        send_value(bus, i, 0);
        if (rate != 0) await_next(bus, &next, rate);
        else if (i % flood_batch == flood_batch - 1) dbus_connection_flush(bus);
    }
    send_value(bus, UINT32_MAX, count);
    dbus_connection_flush(bus);
}

// --- calls ---

static const Property *find_properties(const char *path, const char *interface) {
    return find_object(objects, object_count, path, interface);
}

typedef struct {
    uint32_t count, rate;
} Plan;

static DBusHandlerResult answer(DBusConnection *bus, DBusMessage *call, void *data) {
    // libdbus itself answers Peer.Ping.
    static const char *const plain[] = {
        "Connect", "Disconnect", "StartNotify", "StopNotify", "SetDiscoveryFilter", "StartDiscovery", "StopDiscovery",
    };
    const Plan *plan = data;
    const char *member = dbus_message_get_member(call);
    DBusMessage *reply = NULL;
    DBusMessageIter body;
    if (dbus_message_get_type(call) != DBUS_MESSAGE_TYPE_METHOD_CALL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (strcmp(member, "GetManagedObjects") == 0) {
        reply = dbus_message_new_method_return(call);
        dbus_message_iter_init_append(reply, &body);
        append_objects(&body, objects, object_count);
    } else if (strcmp(member, "ReadValue") == 0) {
        static const uint8_t value[value_length];
        reply = dbus_message_new_method_return(call);
        dbus_message_iter_init_append(reply, &body);
        append_bytes(&body, value, value_length);
    } else if (dbus_message_has_interface(call, "org.freedesktop.DBus.Properties")) {
        reply = get_properties(call, find_properties);
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(member, plain[i]) == 0) reply = dbus_message_new_method_return(call);
    if (reply == NULL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    // As in bluetoothd, the signal precedes the reply.
    if (strcmp(member, "Connect") == 0) set_connected(bus, true);
    if (strcmp(member, "Disconnect") == 0) set_connected(bus, false);
    send_reply(bus, call, reply);
    if (strcmp(member, "StartNotify") == 0) notify(bus, plan->count, plan->rate);
    return DBUS_HANDLER_RESULT_HANDLED;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 3) {
        fprintf(stderr, "usage: fake-bluez COUNT RATE\n");
        return 64;
    }
    Plan plan = {strtoul(arguments[1], NULL, 10), strtoul(arguments[2], NULL, 10)};
    return serve("fake-bluez", answer, &plan);
}
