// fake-busy RATE DEVICES: an org.bluez with one adapter and one connected peripheral, in range of DEVICES devices that
// advertise.
//
// On the bus at DBUS_SYSTEM_BUS_ADDRESS. It prints "ready" once it owns the name. The peripheral has a characteristic of
// 20 bytes that can be read. StartDiscovery is answered, and makes it announce every device, and then change them, RATE
// a second on an absolute schedule and in turn, until StopDiscovery; see scan.h. Meanwhile calls are answered, a change
// that is due before a call that has arrived.
#include "fake-peripheral.h"
#include "fake-devices.h"

#define CHARACTERISTIC SERVICE "/char0011"

enum { announce_batch = 64 };

static const Object objects[] = {
    {DEVICE, "org.bluez.Device1", device_properties},
    {SERVICE, "org.bluez.GattService1", service_properties},
    {CHARACTERISTIC, "org.bluez.GattCharacteristic1", (const Property[]){
        {"UUID", "s", "00002a37-0000-1000-8000-00805f9b34fb"},
        {"Service", "o", SERVICE},
        {"Flags", "as", "read"},
        {NULL},
    }},
};
enum { object_count = sizeof objects / sizeof *objects };

typedef struct {
    uint32_t rate, devices;
    // The number of the next change, and when it is due.
    uint32_t change;
    struct timespec next;
    bool is_announced;
} Plan;

static const Property *find_properties(const char *path, const char *interface) {
    if (strcmp(path, ADAPTER) == 0 && strcmp(interface, "org.bluez.Adapter1") == 0) return adapter_properties;
    return find_object(objects, object_count, path, interface);
}

static bool is_changing(const Plan *plan) {
    return adapter_properties[0].number && plan->rate > 0 && plan->devices > 0;
}

static void start_changes(DBusConnection *bus, Plan *plan) {
    for (uint32_t i = 0; i < plan->devices; i++) {
        const Device subject = device(i);
        announce(bus, &subject, i % scan_stride == 0);
        if (i % announce_batch == announce_batch - 1) dbus_connection_flush(bus);
    }
    plan->is_announced = true;
    clock_gettime(CLOCK_MONOTONIC, &plan->next);
}

// Sends the changes that are due. Returns the milliseconds until the next one, rounded up, or -1 if there is none.
static int send_due_changes(DBusConnection *bus, Plan *plan) {
    struct timespec now;
    while (is_changing(plan)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t left = (plan->next.tv_sec - now.tv_sec) * INT64_C(1000000000) + plan->next.tv_nsec - now.tv_nsec;
        if (left > 0) return (left + 999999) / 1000000;
        send_change(bus, plan->change % plan->devices, plan->change / plan->devices + 1);
        plan->change++;
        add_nanoseconds(&plan->next, 1000000000 / plan->rate);
    }
    return -1;
}

static DBusHandlerResult answer(DBusConnection *bus, DBusMessage *call, void *data) {
    static const char *const plain[] = {"Connect", "Disconnect", "SetDiscoveryFilter", "StartDiscovery", "StopDiscovery"};
    Plan *plan = data;
    const char *member = dbus_message_get_member(call);
    DBusMessage *reply = NULL;
    DBusMessageIter body, all;
    if (dbus_message_get_type(call) != DBUS_MESSAGE_TYPE_METHOD_CALL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (strcmp(member, "GetManagedObjects") == 0) {
        reply = dbus_message_new_method_return(call);
        dbus_message_iter_init_append(reply, &body);
        dbus_message_iter_open_container(&body, DBUS_TYPE_ARRAY, "{oa{sa{sv}}}", &all);
        append_adapter_and_devices(&all, plan->is_announced ? plan->devices : 0);
        for (int i = 0; i < object_count; i++)
            append_managed(&all, objects[i].path, objects[i].interface, objects[i].properties);
        dbus_message_iter_close_container(&body, &all);
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
    bool starts = strcmp(member, "StartDiscovery") == 0 && !adapter_properties[0].number;
    if (starts) set_discovering(bus, true);
    if (strcmp(member, "StopDiscovery") == 0 && adapter_properties[0].number) set_discovering(bus, false);
    send_reply(bus, call, reply);
    if (starts) start_changes(bus, plan);
    return DBUS_HANDLER_RESULT_HANDLED;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 3) {
        fprintf(stderr, "usage: fake-busy RATE DEVICES\n");
        return 64;
    }
    Plan plan = {strtoul(arguments[1], NULL, 10), strtoul(arguments[2], NULL, 10)};
    if (plan.devices > 0xFFFF) return 64;
    DBusConnection *bus = own_bluez("fake-busy", answer, &plan);
    if (bus == NULL) return 1;
    while (dbus_connection_read_write_dispatch(bus, send_due_changes(bus, &plan))) {}
    return 0;
}
