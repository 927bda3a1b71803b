// fake-central COUNT RATE [reads]: an org.bluez with one adapter, and a central that uses the application served to it.
//
// On the bus at DBUS_SYSTEM_BUS_ADDRESS. It prints "ready" once it owns the name. On RegisterApplication it fetches the
// application's objects and replies. 100 ms later it calls StartNotify on the first characteristic that notifies. It then
// expects COUNT values of 20 bytes, each with its number from 0, little-endian, in the first 4 bytes. After the last one
// it calls StopNotify. After any other value it exits, and releases the name org.bluez.
//
// With `reads`, it reads these values from that characteristic, one after the other, and then calls StartNotify and
// StopNotify.
//
// RATE is ignored: the application paces itself. One bus serves one application.
#include "fake.h"

#define BLUEZ "/org/bluez"
#define CHARACTERISTIC "org.bluez.GattCharacteristic1"

enum { value_length = 20, call_timeout = 10000 };

typedef struct {
    const char *path, *interface;
    const Property *properties;
} Object;

static const Property no_properties[] = {{NULL}};

static const Property advertising_properties[] = {
    {"ActiveInstances", "y", .number = 0},
    {"SupportedInstances", "y", .number = 4},
    {"SupportedIncludes", "as", "tx-power appearance local-name"},
    {"SupportedSecondaryChannels", "as", "1M 2M Coded"},
    {NULL},
};

// The interfaces of an object follow one another.
static const Object objects[] = {
    {BLUEZ, "org.bluez.AgentManager1", no_properties},
    {ADAPTER, "org.bluez.Adapter1", adapter_properties},
    {ADAPTER, "org.bluez.GattManager1", no_properties},
    {ADAPTER, "org.bluez.LEAdvertisingManager1", advertising_properties},
};
enum { object_count = sizeof objects / sizeof *objects };

// The reply to Introspect. The property types are those of the tables above.
static const struct {
    const char *path, *xml;
} introspections[] = {
    {"/",
     "<node><interface name='org.freedesktop.DBus.ObjectManager'><method name='GetManagedObjects'>"
     "<arg name='objects' type='a{oa{sa{sv}}}' direction='out'/></method></interface><node name='org'/></node>"},
    {"/org", "<node><node name='bluez'/></node>"},
    {BLUEZ,
     "<node><interface name='org.bluez.AgentManager1'>"
     "<method name='RegisterAgent'><arg type='o' direction='in'/><arg type='s' direction='in'/></method>"
     "<method name='UnregisterAgent'><arg type='o' direction='in'/></method>"
     "<method name='RequestDefaultAgent'><arg type='o' direction='in'/></method>"
     "</interface><node name='hci0'/></node>"},
    {ADAPTER,
     "<node><interface name='org.bluez.Adapter1'>"
     "<property name='Discovering' type='b' access='read'/><property name='Address' type='s' access='read'/>"
     "<property name='AddressType' type='s' access='read'/><property name='Name' type='s' access='read'/>"
     "<property name='Alias' type='s' access='readwrite'/><property name='Class' type='u' access='read'/>"
     "<property name='Powered' type='b' access='readwrite'/>"
     "<property name='Discoverable' type='b' access='readwrite'/>"
     "<property name='Pairable' type='b' access='readwrite'/><property name='UUIDs' type='as' access='read'/>"
     "<property name='Roles' type='as' access='read'/>"
     "</interface><interface name='org.bluez.GattManager1'>"
     "<method name='RegisterApplication'><arg type='o' direction='in'/><arg type='a{sv}' direction='in'/></method>"
     "<method name='UnregisterApplication'><arg type='o' direction='in'/></method>"
     "</interface><interface name='org.bluez.LEAdvertisingManager1'>"
     "<method name='RegisterAdvertisement'><arg type='o' direction='in'/><arg type='a{sv}' direction='in'/></method>"
     "<method name='UnregisterAdvertisement'><arg type='o' direction='in'/></method>"
     "<property name='ActiveInstances' type='y' access='read'/>"
     "<property name='SupportedInstances' type='y' access='read'/>"
     "<property name='SupportedIncludes' type='as' access='read'/>"
     "<property name='SupportedSecondaryChannels' type='as' access='read'/>"
     "</interface></node>"},
};

// The state of the one application, and of its values.
typedef struct {
    uint32_t count, received;
    char *application, *characteristic;
    // Whether it reads values instead.
    bool reads;
} Central;

static void fail(const Central *self, const char *problem) {
    fprintf(stderr, "fake-central: incomplete: %s after %u of %u values\n", problem, self->received, self->count);
    exit(1);
}

// --- its own objects ---

static const Property *find_properties(const char *path, const char *interface) {
    for (int i = 0; i < object_count; i++)
        if (strcmp(objects[i].path, path) == 0 && strcmp(objects[i].interface, interface) == 0)
            return objects[i].properties;
    return NULL;
}

static void append_interface(DBusMessageIter *interfaces, const Object *object) {
    DBusMessageIter entry;
    dbus_message_iter_open_container(interfaces, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
    dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &object->interface);
    append_properties(&entry, object->properties, INT32_MAX);
    dbus_message_iter_close_container(interfaces, &entry);
}

static void append_objects(DBusMessageIter *to) {
    DBusMessageIter all, object, interfaces;
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "{oa{sa{sv}}}", &all);
    for (int i = 0; i < object_count;) {
        const char *path = objects[i].path;
        dbus_message_iter_open_container(&all, DBUS_TYPE_DICT_ENTRY, NULL, &object);
        dbus_message_iter_append_basic(&object, DBUS_TYPE_OBJECT_PATH, &path);
        dbus_message_iter_open_container(&object, DBUS_TYPE_ARRAY, "{sa{sv}}", &interfaces);
        for (; i < object_count && strcmp(objects[i].path, path) == 0; i++) append_interface(&interfaces, &objects[i]);
        dbus_message_iter_close_container(&object, &interfaces);
        dbus_message_iter_close_container(&all, &object);
    }
    dbus_message_iter_close_container(to, &all);
}

static DBusMessage *introspect(DBusMessage *call) {
    for (size_t i = 0; i < sizeof introspections / sizeof *introspections; i++)
        if (dbus_message_has_path(call, introspections[i].path)) {
            DBusMessage *reply = dbus_message_new_method_return(call);
            dbus_message_append_args(reply, DBUS_TYPE_STRING, &introspections[i].xml, DBUS_TYPE_INVALID);
            return reply;
        }
    return NULL;
}

// --- the application's objects ---

// Looks for `name` in the a{sv} or a{sa{sv}}, and moves `value` to its value.
static bool find(DBusMessageIter *dictionary, const char *name, DBusMessageIter *value) {
    DBusMessageIter entries;
    dbus_message_iter_recurse(dictionary, &entries);
    for (; dbus_message_iter_get_arg_type(&entries) == DBUS_TYPE_DICT_ENTRY; dbus_message_iter_next(&entries)) {
        const char *key;
        dbus_message_iter_recurse(&entries, value);
        dbus_message_iter_get_basic(value, &key);
        dbus_message_iter_next(value);
        if (strcmp(key, name) == 0) return true;
    }
    return false;
}

// Whether the variant is an array of strings with "notify".
static bool has_notify(DBusMessageIter *variant) {
    DBusMessageIter array, words;
    dbus_message_iter_recurse(variant, &array);
    if (dbus_message_iter_get_arg_type(&array) != DBUS_TYPE_ARRAY
        || dbus_message_iter_get_element_type(&array) != DBUS_TYPE_STRING)
        return false;
    dbus_message_iter_recurse(&array, &words);
    for (; dbus_message_iter_get_arg_type(&words) == DBUS_TYPE_STRING; dbus_message_iter_next(&words)) {
        const char *word;
        dbus_message_iter_get_basic(&words, &word);
        if (strcmp(word, "notify") == 0) return true;
    }
    return false;
}

// The path of the first characteristic that notifies, or NULL. `served` is the reply to GetManagedObjects.
static const char *find_notifying(DBusMessage *served) {
    DBusMessageIter body, entries;
    dbus_message_iter_init(served, &body);
    dbus_message_iter_recurse(&body, &entries);
    for (; dbus_message_iter_get_arg_type(&entries) == DBUS_TYPE_DICT_ENTRY; dbus_message_iter_next(&entries)) {
        DBusMessageIter entry, properties, flags;
        const char *path;
        dbus_message_iter_recurse(&entries, &entry);
        dbus_message_iter_get_basic(&entry, &path);
        dbus_message_iter_next(&entry);
        if (find(&entry, CHARACTERISTIC, &properties) && find(&properties, "Flags", &flags) && has_notify(&flags))
            return path;
    }
    return NULL;
}

static void call_characteristic(DBusConnection *bus, const Central *self, const char *method) {
    send(bus, dbus_message_new_method_call(self->application, self->characteristic, CHARACTERISTIC, method));
    dbus_connection_flush(bus);
}

// The reply to RegisterApplication. Unless it is an error, the characteristic is known.
static DBusMessage *register_application(DBusConnection *bus, Central *self, DBusMessage *call) {
    const char *root, *path = NULL;
    DBusError error = DBUS_ERROR_INIT;
    if (self->application != NULL)
        return dbus_message_new_error(call, "org.bluez.Error.AlreadyExists", "there is an application");
    if (!dbus_message_has_signature(call, "oa{sv}")
        || !dbus_message_get_args(call, NULL, DBUS_TYPE_OBJECT_PATH, &root, DBUS_TYPE_INVALID))
        return dbus_message_new_error(call, "org.bluez.Error.InvalidArguments", "these are not a path and options");
    DBusMessage *fetch = dbus_message_new_method_call(
        dbus_message_get_sender(call), root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects");
    DBusMessage *served = dbus_connection_send_with_reply_and_block(bus, fetch, call_timeout, &error);
    dbus_message_unref(fetch);
    if (served == NULL) {
        DBusMessage *failure = dbus_message_new_error(call, "org.bluez.Error.Failed", error.message);
        dbus_error_free(&error);
        return failure;
    }
    if (dbus_message_has_signature(served, "a{oa{sa{sv}}}")) path = find_notifying(served);
    if (path != NULL) {
        self->application = strdup(dbus_message_get_sender(call));
        self->characteristic = strdup(path);
    }
    dbus_message_unref(served);
    return path != NULL ? dbus_message_new_method_return(call)
                        : dbus_message_new_error(call, "org.bluez.Error.Failed", "no characteristic notifies");
}

static void read_value(DBusConnection *bus, const Central *self) {
    DBusMessageIter body, options;
    DBusMessage *call = dbus_message_new_method_call(
        self->application, self->characteristic, CHARACTERISTIC, "ReadValue");
    dbus_message_iter_init_append(call, &body);
    dbus_message_iter_open_container(&body, DBUS_TYPE_ARRAY, "{sv}", &options);
    dbus_message_iter_close_container(&body, &options);
    send(bus, call);
    dbus_connection_flush(bus);
}

// Takes the reply to a read, and reads again, or ends with a subscription.
static void take_read(DBusConnection *bus, Central *self, DBusMessage *reply) {
    const uint8_t *value = NULL;
    int length = 0;
    if (!self->reads || self->received == self->count
        || !dbus_message_get_args(
            reply, NULL, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &value, &length, DBUS_TYPE_INVALID))
        return;
    uint8_t expected[4];
    put_uint32(expected, self->received);
    if (length != value_length || memcmp(value, expected, sizeof expected) != 0) fail(self, "another value");
    if (++self->received < self->count) return read_value(bus, self);
    call_characteristic(bus, self, "StartNotify");
    call_characteristic(bus, self, "StopNotify");
}

static void subscribe(DBusConnection *bus, const Central *self) {
    char rule[512];
    snprintf(
        rule, sizeof rule,
        "type='signal',sender='%s',path='%s',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'",
        self->application, self->characteristic);
    dbus_bus_add_match(bus, rule, NULL);
    begin_schedule(bus);
    if (self->reads) read_value(bus, self);
    else call_characteristic(bus, self, "StartNotify");
}

// --- values ---

static void take(DBusConnection *bus, Central *self, const uint8_t *value, int length) {
    uint8_t expected[4];
    put_uint32(expected, self->received);
    if (self->received == self->count) fail(self, "another value");
    if (length != value_length) fail(self, "a value of another length");
    if (memcmp(value, expected, sizeof expected) != 0) fail(self, "a value out of order");
    if (++self->received < self->count) return;
    fprintf(stderr, "fake-central: complete: %u values\n", self->received);
    call_characteristic(bus, self, "StopNotify");
}

static DBusHandlerResult receive(DBusConnection *bus, Central *self, DBusMessage *signal) {
    DBusMessageIter body, variant, array, bytes;
    const char *interface;
    const uint8_t *value = NULL;
    int length = 0;
    if (self->characteristic == NULL
        || !dbus_message_is_signal(signal, "org.freedesktop.DBus.Properties", "PropertiesChanged")
        || !dbus_message_has_path(signal, self->characteristic) || !dbus_message_has_signature(signal, "sa{sv}as"))
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    dbus_message_iter_init(signal, &body);
    dbus_message_iter_get_basic(&body, &interface);
    dbus_message_iter_next(&body);
    if (strcmp(interface, CHARACTERISTIC) != 0 || !find(&body, "Value", &variant)) return DBUS_HANDLER_RESULT_HANDLED;
    dbus_message_iter_recurse(&variant, &array);
    if (dbus_message_iter_get_arg_type(&array) != DBUS_TYPE_ARRAY
        || dbus_message_iter_get_element_type(&array) != DBUS_TYPE_BYTE)
        fail(self, "a value that is not bytes");
    dbus_message_iter_recurse(&array, &bytes);
    dbus_message_iter_get_fixed_array(&bytes, &value, &length);
    take(bus, self, value, length);
    return DBUS_HANDLER_RESULT_HANDLED;
}

// --- calls ---

static DBusMessage *reply_to(DBusConnection *bus, Central *self, DBusMessage *call) {
    static const char *const plain[] = {
        "UnregisterApplication", "RegisterAdvertisement", "UnregisterAdvertisement", "RegisterAgent", "UnregisterAgent",
        "RequestDefaultAgent", "Set",
    };
    const char *member = dbus_message_get_member(call);
    DBusMessageIter body;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(member, plain[i]) == 0) return dbus_message_new_method_return(call);
    if (strcmp(member, "RegisterApplication") == 0) return register_application(bus, self, call);
    if (strcmp(member, "Introspect") == 0) return introspect(call);
    if (dbus_message_has_interface(call, "org.freedesktop.DBus.Properties"))
        return get_properties(call, find_properties);
    if (strcmp(member, "GetManagedObjects") != 0) return NULL;
    DBusMessage *reply = dbus_message_new_method_return(call);
    dbus_message_iter_init_append(reply, &body);
    append_objects(&body);
    return reply;
}

static DBusHandlerResult answer(DBusConnection *bus, DBusMessage *message, void *data) {
    Central *self = data;
    switch (dbus_message_get_type(message)) {
    case DBUS_MESSAGE_TYPE_SIGNAL: return receive(bus, self, message);
    case DBUS_MESSAGE_TYPE_METHOD_RETURN:
        take_read(bus, self, message);
        return DBUS_HANDLER_RESULT_HANDLED;
    case DBUS_MESSAGE_TYPE_ERROR:
        // StartNotify failed. (An application may end before it replies to StopNotify.)
        if (self->received < self->count) fail(self, dbus_message_get_error_name(message));
        return DBUS_HANDLER_RESULT_HANDLED;
    case DBUS_MESSAGE_TYPE_METHOD_CALL: break;
    default: return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    }
    bool had_application = self->application != NULL;
    DBusMessage *reply = reply_to(bus, self, message);
    if (reply == NULL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    send_reply(bus, message, reply);
    if (self->application != NULL && !had_application) subscribe(bus, self);
    return DBUS_HANDLER_RESULT_HANDLED;
}

int main(int argument_count, char **arguments) {
    bool reads = argument_count == 4 && strcmp(arguments[3], "reads") == 0;
    Central central = {.count = argument_count == 3 || reads ? strtoul(arguments[1], NULL, 10) : 0, .reads = reads};
    if (central.count == 0) {
        fprintf(stderr, "usage: fake-central COUNT RATE [reads]\n");
        return 64;
    }
    return serve("fake-central", answer, &central);
}
