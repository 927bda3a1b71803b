// fake-bluez COUNT RATE: an org.bluez with one adapter and one connected peripheral, whose one characteristic notifies.
//
// On the bus at DBUS_SYSTEM_BUS_ADDRESS. It prints "ready" once it owns the name. StartNotify is answered, and 100 ms later
// COUNT values of 20 bytes are signalled: the counter from 0, little-endian, in the first 4 bytes. RATE is how many a second,
// on an absolute schedule; 0 is as fast as the bus takes them. Then comes the marker: counter 0xFFFFFFFF, and COUNT in the 4
// bytes after it. While it signals it answers nothing.
#include <dbus/dbus.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ADAPTER "/org/bluez/hci0"
#define DEVICE ADAPTER "/dev_F0_F1_F2_F3_F4_F5"
#define SERVICE DEVICE "/service0010"
#define CHARACTERISTIC SERVICE "/char0011"

enum { value_length = 20, flood_batch = 64 };

// A property of type b, n, q, u, s, o or as; of the last, the words of `text`.
typedef struct {
    const char *name, *signature, *text;
    uint32_t number;
} Property;

typedef struct {
    const char *path, *interface;
    const Property *properties;
} Object;

static Property device_properties[] = {
    {"Connected", "b", .number = true}, // (first: see set_connected)
    {"Address", "s", "F0:F1:F2:F3:F4:F5"},
    {"AddressType", "s", "random"},
    {"Name", "s", "Benchmark"},
    {"Alias", "s", "Benchmark"},
    {"Adapter", "o", ADAPTER},
    {"UUIDs", "as", "0000180d-0000-1000-8000-00805f9b34fb"},
    {"RSSI", "n", .number = (uint16_t)-50},
    {"Paired", "b", .number = false},
    {"Bonded", "b", .number = false},
    {"Trusted", "b", .number = false},
    {"Blocked", "b", .number = false},
    {"LegacyPairing", "b", .number = false},
    {"ServicesResolved", "b", .number = true},
    {NULL},
};

static const Object objects[] = {
    {ADAPTER, "org.bluez.Adapter1", (const Property[]){
        {"Address", "s", "00:11:22:33:44:55"},
        {"AddressType", "s", "public"},
        {"Name", "s", "benchmark"},
        {"Alias", "s", "benchmark"},
        {"Class", "u", .number = 0},
        {"Powered", "b", .number = true},
        {"Discoverable", "b", .number = false},
        {"Pairable", "b", .number = false},
        {"Discovering", "b", .number = false},
        {"UUIDs", "as", ""},
        {"Roles", "as", "central peripheral"},
        {NULL},
    }},
    {DEVICE, "org.bluez.Device1", device_properties},
    {SERVICE, "org.bluez.GattService1", (const Property[]){
        {"UUID", "s", "0000180d-0000-1000-8000-00805f9b34fb"},
        {"Device", "o", DEVICE},
        {"Primary", "b", .number = true},
        {"Includes", "as", ""},
        {NULL},
    }},
    {CHARACTERISTIC, "org.bluez.GattCharacteristic1", (const Property[]){
        {"UUID", "s", "00002a37-0000-1000-8000-00805f9b34fb"},
        {"Service", "o", SERVICE},
        {"Notifying", "b", .number = false},
        {"Flags", "as", "read notify"},
        {"MTU", "q", .number = 247},
        {NULL},
    }},
};
enum { object_count = sizeof objects / sizeof *objects };

static void append_words(DBusMessageIter *to, const char *text) {
    DBusMessageIter words;
    char copy[256], *rest = copy, *word;
    snprintf(copy, sizeof copy, "%s", text);
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "s", &words);
    while ((word = strsep(&rest, " ")) != NULL)
        if (*word != '\0') dbus_message_iter_append_basic(&words, DBUS_TYPE_STRING, &word);
    dbus_message_iter_close_container(to, &words);
}

static void append_bytes(DBusMessageIter *to, const uint8_t *bytes, int count) {
    DBusMessageIter array;
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "y", &array);
    dbus_message_iter_append_fixed_array(&array, DBUS_TYPE_BYTE, &bytes, count);
    dbus_message_iter_close_container(to, &array);
}

static void append_value(DBusMessageIter *to, const Property *property) {
    DBusMessageIter variant;
    dbus_bool_t boolean = property->number;
    uint16_t half = property->number;
    dbus_message_iter_open_container(to, DBUS_TYPE_VARIANT, property->signature, &variant);
    switch (property->signature[0]) {
    case 'a': append_words(&variant, property->text); break;
    case 'b': dbus_message_iter_append_basic(&variant, DBUS_TYPE_BOOLEAN, &boolean); break;
    case 'n':
    case 'q': dbus_message_iter_append_basic(&variant, property->signature[0], &half); break;
    case 'u': dbus_message_iter_append_basic(&variant, DBUS_TYPE_UINT32, &property->number); break;
    default: dbus_message_iter_append_basic(&variant, property->signature[0], &property->text);
    }
    dbus_message_iter_close_container(to, &variant);
}

// The properties, or only the first `limit`, as an a{sv}.
static void append_properties(DBusMessageIter *to, const Property *properties, int limit) {
    DBusMessageIter array, entry;
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "{sv}", &array);
    for (const Property *property = properties; property->name != NULL && limit-- > 0; property++) {
        dbus_message_iter_open_container(&array, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
        dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &property->name);
        append_value(&entry, property);
        dbus_message_iter_close_container(&array, &entry);
    }
    dbus_message_iter_close_container(to, &array);
}

static void append_objects(DBusMessageIter *to) {
    DBusMessageIter all, object, interfaces, interface;
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "{oa{sa{sv}}}", &all);
    for (int i = 0; i < object_count; i++) {
        dbus_message_iter_open_container(&all, DBUS_TYPE_DICT_ENTRY, NULL, &object);
        dbus_message_iter_append_basic(&object, DBUS_TYPE_OBJECT_PATH, &objects[i].path);
        dbus_message_iter_open_container(&object, DBUS_TYPE_ARRAY, "{sa{sv}}", &interfaces);
        dbus_message_iter_open_container(&interfaces, DBUS_TYPE_DICT_ENTRY, NULL, &interface);
        dbus_message_iter_append_basic(&interface, DBUS_TYPE_STRING, &objects[i].interface);
        append_properties(&interface, objects[i].properties, INT32_MAX);
        dbus_message_iter_close_container(&interfaces, &interface);
        dbus_message_iter_close_container(&object, &interfaces);
        dbus_message_iter_close_container(&all, &object);
    }
    dbus_message_iter_close_container(to, &all);
}

// --- signals ---

static DBusMessage *properties_changed(const char *path, const char *interface, DBusMessageIter *body) {
    DBusMessage *signal = dbus_message_new_signal(path, "org.freedesktop.DBus.Properties", "PropertiesChanged");
    dbus_message_iter_init_append(signal, body);
    dbus_message_iter_append_basic(body, DBUS_TYPE_STRING, &interface);
    return signal;
}

static void send(DBusConnection *bus, DBusMessage *message) {
    dbus_connection_send(bus, message, NULL);
    dbus_message_unref(message);
}

static void set_connected(DBusConnection *bus, bool connected) {
    DBusMessageIter body;
    if (device_properties[0].number == connected) return;
    device_properties[0].number = connected;
    DBusMessage *signal = properties_changed(DEVICE, "org.bluez.Device1", &body);
    append_properties(&body, device_properties, 1);
    append_words(&body, "");
    send(bus, signal);
}

static void put_uint32(uint8_t *to, uint32_t number) {
    for (int i = 0; i < 4; i++) to[i] = number >> (8 * i);
}

static void send_value(DBusConnection *bus, uint32_t counter, uint32_t total) {
    static const char name[] = "Value", *const name_pointer = name;
    uint8_t value[value_length] = {0};
    DBusMessageIter body, array, entry, variant;
    put_uint32(value, counter);
    put_uint32(value + 4, total);
    DBusMessage *signal = properties_changed(CHARACTERISTIC, "org.bluez.GattCharacteristic1", &body);
    dbus_message_iter_open_container(&body, DBUS_TYPE_ARRAY, "{sv}", &array);
    dbus_message_iter_open_container(&array, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
    dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &name_pointer);
    dbus_message_iter_open_container(&entry, DBUS_TYPE_VARIANT, "ay", &variant);
    append_bytes(&variant, value, value_length);
    dbus_message_iter_close_container(&entry, &variant);
    dbus_message_iter_close_container(&array, &entry);
    dbus_message_iter_close_container(&body, &array);
    append_words(&body, "");
    send(bus, signal);
}

static void add_nanoseconds(struct timespec *time, long nanoseconds) {
    time->tv_nsec += nanoseconds;
    time->tv_sec += time->tv_nsec / 1000000000;
    time->tv_nsec %= 1000000000;
}

static void notify(DBusConnection *bus, uint32_t count, uint32_t rate) {
    struct timespec next;
    dbus_connection_flush(bus);
    clock_gettime(CLOCK_MONOTONIC, &next);
    add_nanoseconds(&next, 100000000);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    for (uint32_t i = 0; i < count; i++) {
        send_value(bus, i, 0);
        if (rate != 0) {
            dbus_connection_flush(bus);
            add_nanoseconds(&next, 1000000000 / rate);
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        } else if (i % flood_batch == flood_batch - 1) {
            dbus_connection_flush(bus);
        }
    }
    send_value(bus, UINT32_MAX, count);
    dbus_connection_flush(bus);
}

// --- calls ---

// The properties of the object at `path` that has `interface`, or NULL.
static const Property *find_properties(const char *path, const char *interface) {
    for (int i = 0; i < object_count; i++)
        if (strcmp(objects[i].path, path) == 0 && strcmp(objects[i].interface, interface) == 0)
            return objects[i].properties;
    return NULL;
}

// The reply to Get or GetAll, or NULL when there is no such thing.
static DBusMessage *get_properties(DBusMessage *call) {
    const char *interface = "", *name = NULL;
    DBusMessageIter body;
    dbus_message_get_args(call, NULL, DBUS_TYPE_STRING, &interface, DBUS_TYPE_STRING, &name, DBUS_TYPE_INVALID);
    const Property *property = find_properties(dbus_message_get_path(call), interface);
    if (property == NULL) return NULL;
    DBusMessage *reply = dbus_message_new_method_return(call);
    dbus_message_iter_init_append(reply, &body);
    if (dbus_message_has_member(call, "GetAll")) {
        append_properties(&body, property, INT32_MAX);
        return reply;
    }
    while (property->name != NULL && (name == NULL || strcmp(property->name, name) != 0)) property++;
    if (property->name != NULL) {
        append_value(&body, property);
        return reply;
    }
    dbus_message_unref(reply);
    return NULL;
}

typedef struct {
    uint32_t count, rate;
} Plan;

static DBusHandlerResult answer(DBusConnection *bus, DBusMessage *call, void *data) {
    // (libdbus itself answers Peer.Ping)
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
        append_objects(&body);
    } else if (strcmp(member, "ReadValue") == 0) {
        static const uint8_t value[value_length];
        reply = dbus_message_new_method_return(call);
        dbus_message_iter_init_append(reply, &body);
        append_bytes(&body, value, value_length);
    } else if (dbus_message_has_interface(call, "org.freedesktop.DBus.Properties")) {
        reply = get_properties(call);
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(member, plain[i]) == 0) reply = dbus_message_new_method_return(call);
    if (reply == NULL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    // As in bluetoothd, the signal precedes the reply.
    if (strcmp(member, "Connect") == 0) set_connected(bus, true);
    if (strcmp(member, "Disconnect") == 0) set_connected(bus, false);
    if (dbus_message_get_no_reply(call)) dbus_message_unref(reply);
    else send(bus, reply);
    if (strcmp(member, "StartNotify") == 0) notify(bus, plan->count, plan->rate);
    return DBUS_HANDLER_RESULT_HANDLED;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 3) {
        fprintf(stderr, "usage: fake-bluez COUNT RATE\n");
        return 64;
    }
    Plan plan = {strtoul(arguments[1], NULL, 10), strtoul(arguments[2], NULL, 10)};
    DBusError error = DBUS_ERROR_INIT;
    DBusConnection *bus = dbus_bus_get(DBUS_BUS_SYSTEM, &error);
    if (bus == NULL || !dbus_connection_add_filter(bus, answer, &plan, NULL)
        || dbus_bus_request_name(bus, "org.bluez", DBUS_NAME_FLAG_DO_NOT_QUEUE, &error)
            != DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER) {
        fprintf(stderr, "fake-bluez: %s\n", dbus_error_is_set(&error) ? error.message : "org.bluez has another owner");
        return 1;
    }
    puts("ready");
    fflush(stdout);
    while (dbus_connection_read_write_dispatch(bus, -1)) {}
    return 0;
}
