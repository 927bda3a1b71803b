// Common code of the fake bluetoothds: an adapter, properties and signals, a schedule, and the loop that answers calls.
#pragma once
#include <dbus/dbus.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ADAPTER "/org/bluez/hci0"

// A property of type b, y, n, q, u, s, o, as, ay, a{qv} or a{sv}. An as has the words of `text`, an ay the `data`. An
// a{qv} has one entry: `number` and the `data`; so has an a{sv}: `text` and the `data`.
typedef struct {
    const char *name, *signature, *text;
    uint32_t number;
    const uint8_t *data;
    int data_length;
} Property;

// The properties of the adapter. The first is the one that changes.
static Property adapter_properties[] = {
    {"Discovering", "b", .number = false},
    {"Address", "s", "00:11:22:33:44:55"},
    {"AddressType", "s", "public"},
    {"Name", "s", "benchmark"},
    {"Alias", "s", "benchmark"},
    {"Class", "u", .number = 0},
    {"Powered", "b", .number = true},
    {"Discoverable", "b", .number = false},
    {"Pairable", "b", .number = false},
    {"UUIDs", "as", ""},
    {"Roles", "as", "central peripheral"},
    {NULL},
};

// --- values ---

static inline void put_uint32(uint8_t *to, uint32_t number) {
    for (int i = 0; i < 4; i++) to[i] = number >> (8 * i);
}

static inline void append_words(DBusMessageIter *to, const char *text) {
    DBusMessageIter words;
    char copy[256], *rest = copy, *word;
    snprintf(copy, sizeof copy, "%s", text);
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "s", &words);
    while ((word = strsep(&rest, " ")) != NULL)
        if (*word != '\0') dbus_message_iter_append_basic(&words, DBUS_TYPE_STRING, &word);
    dbus_message_iter_close_container(to, &words);
}

static inline void append_bytes(DBusMessageIter *to, const uint8_t *bytes, int count) {
    DBusMessageIter array;
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "y", &array);
    dbus_message_iter_append_fixed_array(&array, DBUS_TYPE_BYTE, &bytes, count);
    dbus_message_iter_close_container(to, &array);
}

static inline void append_entry(DBusMessageIter *to, const Property *property) {
    DBusMessageIter array, entry, variant;
    uint16_t key = property->number;
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, property->signature + 1, &array);
    dbus_message_iter_open_container(&array, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
    if (property->signature[2] == 'q') dbus_message_iter_append_basic(&entry, DBUS_TYPE_UINT16, &key);
    else dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &property->text);
    dbus_message_iter_open_container(&entry, DBUS_TYPE_VARIANT, "ay", &variant);
    append_bytes(&variant, property->data, property->data_length);
    dbus_message_iter_close_container(&entry, &variant);
    dbus_message_iter_close_container(&array, &entry);
    dbus_message_iter_close_container(to, &array);
}

static inline void append_value(DBusMessageIter *to, const Property *property) {
    DBusMessageIter variant;
    dbus_bool_t boolean = property->number;
    uint8_t byte = property->number;
    uint16_t half = property->number;
    dbus_message_iter_open_container(to, DBUS_TYPE_VARIANT, property->signature, &variant);
    switch (property->signature[0]) {
    case 'a':
        if (property->signature[1] == 's') append_words(&variant, property->text);
        else if (property->signature[1] == 'y') append_bytes(&variant, property->data, property->data_length);
        else append_entry(&variant, property);
        break;
    case 'b': dbus_message_iter_append_basic(&variant, DBUS_TYPE_BOOLEAN, &boolean); break;
    case 'y': dbus_message_iter_append_basic(&variant, DBUS_TYPE_BYTE, &byte); break;
    case 'n':
    case 'q': dbus_message_iter_append_basic(&variant, property->signature[0], &half); break;
    case 'u': dbus_message_iter_append_basic(&variant, DBUS_TYPE_UINT32, &property->number); break;
    default: dbus_message_iter_append_basic(&variant, property->signature[0], &property->text);
    }
    dbus_message_iter_close_container(to, &variant);
}

// Appends the properties, or only the first `limit`, as an a{sv}.
static inline void append_properties(DBusMessageIter *to, const Property *properties, int limit) {
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

// An object's path and its interfaces, in the form of InterfacesAdded. As in bluetoothd, it has the standard
// interfaces, too.
static inline void append_object(
    DBusMessageIter *to, const char *path, const char *interface, const Property *properties) {
    static const Property none[] = {{NULL}};
    const char *const names[] = {
        "org.freedesktop.DBus.Introspectable", interface, "org.freedesktop.DBus.Properties",
    };
    DBusMessageIter interfaces, entry;
    dbus_message_iter_append_basic(to, DBUS_TYPE_OBJECT_PATH, &path);
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "{sa{sv}}", &interfaces);
    for (int i = 0; i < 3; i++) {
        dbus_message_iter_open_container(&interfaces, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
        dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &names[i]);
        append_properties(&entry, names[i] == interface ? properties : none, INT32_MAX);
        dbus_message_iter_close_container(&interfaces, &entry);
    }
    dbus_message_iter_close_container(to, &interfaces);
}

// One entry of the reply to GetManagedObjects.
static inline void append_managed(
    DBusMessageIter *all, const char *path, const char *interface, const Property *properties) {
    DBusMessageIter object;
    dbus_message_iter_open_container(all, DBUS_TYPE_DICT_ENTRY, NULL, &object);
    append_object(&object, path, interface, properties);
    dbus_message_iter_close_container(all, &object);
}

// --- messages ---

static inline void send(DBusConnection *bus, DBusMessage *message) {
    dbus_connection_send(bus, message, NULL);
    dbus_message_unref(message);
}

// A PropertiesChanged with the first `limit` of the properties.
static inline void send_properties_changed(
    DBusConnection *bus, const char *path, const char *interface, const Property *properties, int limit) {
    DBusMessageIter body;
    DBusMessage *signal = dbus_message_new_signal(path, "org.freedesktop.DBus.Properties", "PropertiesChanged");
    dbus_message_iter_init_append(signal, &body);
    dbus_message_iter_append_basic(&body, DBUS_TYPE_STRING, &interface);
    append_properties(&body, properties, limit);
    append_words(&body, "");
    send(bus, signal);
}

// The properties of that interface of the object at `path`, or NULL.
typedef const Property *FindProperties(const char *path, const char *interface);

// The reply to Get or GetAll, or NULL if there is no such object or property.
static inline DBusMessage *get_properties(DBusMessage *call, FindProperties find) {
    const char *interface = "", *name = NULL;
    DBusMessageIter body;
    dbus_message_get_args(call, NULL, DBUS_TYPE_STRING, &interface, DBUS_TYPE_STRING, &name, DBUS_TYPE_INVALID);
    const Property *property = find(dbus_message_get_path(call), interface);
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

// Sends the reply, unless the caller expects none.
static inline void send_reply(DBusConnection *bus, DBusMessage *call, DBusMessage *reply) {
    if (dbus_message_get_no_reply(call)) dbus_message_unref(reply);
    else send(bus, reply);
}

// --- a schedule ---

static inline void add_nanoseconds(struct timespec *time, long nanoseconds) {
    time->tv_nsec += nanoseconds;
    time->tv_sec += time->tv_nsec / 1000000000;
    time->tv_nsec %= 1000000000;
}

// Flushes and waits for 100 ms. Then the schedule begins.
static inline struct timespec begin_schedule(DBusConnection *bus) {
    struct timespec next;
    dbus_connection_flush(bus);
    clock_gettime(CLOCK_MONOTONIC, &next);
    add_nanoseconds(&next, 100000000);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    return next;
}

// Flushes and waits until the next value is due, with `rate` a second.
static inline void await_next(DBusConnection *bus, struct timespec *next, uint32_t rate) {
    dbus_connection_flush(bus);
    add_nanoseconds(next, 1000000000 / rate);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

// --- the loop ---

// Owns org.bluez and prints "ready". Returns the bus, on which `answer` answers dispatched calls, or NULL after a
// message with the reason.
static inline DBusConnection *own_bluez(const char *program, DBusHandleMessageFunction answer, void *data) {
    DBusError error = DBUS_ERROR_INIT;
    DBusConnection *bus = dbus_bus_get(DBUS_BUS_SYSTEM, &error);
    if (bus == NULL || !dbus_connection_add_filter(bus, answer, data, NULL)
        || dbus_bus_request_name(bus, "org.bluez", DBUS_NAME_FLAG_DO_NOT_QUEUE, &error)
            != DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER) {
        fprintf(stderr, "%s: %s\n", program, dbus_error_is_set(&error) ? error.message : "org.bluez has another owner");
        return NULL;
    }
    puts("ready");
    fflush(stdout);
    return bus;
}

// Owns org.bluez and answers calls with `answer`, until the bus ends. Returns the exit status.
static inline int serve(const char *program, DBusHandleMessageFunction answer, void *data) {
    DBusConnection *bus = own_bluez(program, answer, data);
    if (bus == NULL) return 1;
    while (dbus_connection_read_write_dispatch(bus, -1)) {}
    return 0;
}
