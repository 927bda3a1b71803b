// fake-many COUNT RATE PERIPHERALS: an org.bluez with one adapter and PERIPHERALS connected peripherals, each of which
// has one characteristic that notifies.
//
// On the bus at DBUS_SYSTEM_BUS_ADDRESS. It prints "ready" once it owns the name. StartNotify is answered. 100 ms after
// each characteristic has been asked for it, COUNT values of 20 bytes are signaled, from the peripherals in turn: the
// counter from 0, little-endian, in the first 4 bytes. So peripheral 2 of 10 has the counters 2, 12, 22 and so on. RATE
// is the total number of values a second, on an absolute schedule; 0 is as fast as the bus takes them. Then comes the
// marker, from each in turn: counter 0xFFFFFFFF, and COUNT in the 4 bytes after it. The program answers no calls while
// it signals.
#include "fake.h"

#define DEVICE_INTERFACE "org.bluez.Device1"
#define SERVICE_INTERFACE "org.bluez.GattService1"
#define CHARACTERISTIC_INTERFACE "org.bluez.GattCharacteristic1"

enum { value_length = 20, flood_batch = 64, device_property_count = 15 };

typedef struct {
    char address[18], name[24], device[48], service[64], characteristic[80];
    bool is_connected, is_notifying;
} Peripheral;

typedef struct {
    uint32_t count, rate, peripherals, notifying;
} Plan;

static Plan plan;
static Peripheral *peripherals;

// Static random addresses, whose last two bytes are the number.
static void create_peripherals(void) {
    peripherals = calloc(plan.peripherals, sizeof *peripherals);
    if (peripherals == NULL) abort();
    for (uint32_t i = 0; i < plan.peripherals; i++) {
        Peripheral *self = &peripherals[i];
        unsigned high = i >> 8 & 0xFF, low = i & 0xFF;
        snprintf(self->address, sizeof self->address, "F0:F1:F2:F3:%02X:%02X", high, low);
        snprintf(self->name, sizeof self->name, "Peripheral %u", i);
        snprintf(self->device, sizeof self->device, ADAPTER "/dev_F0_F1_F2_F3_%02X_%02X", high, low);
        snprintf(self->service, sizeof self->service, "%s/service0010", self->device);
        snprintf(self->characteristic, sizeof self->characteristic, "%s/char0011", self->service);
        self->is_connected = true;
    }
}

// The peripheral that has the object at `path`, or NULL.
static Peripheral *find_peripheral(const char *path) {
    unsigned high, low;
    if (sscanf(path, ADAPTER "/dev_F0_F1_F2_F3_%2X_%2X", &high, &low) != 2) return NULL;
    uint32_t number = high << 8 | low;
    return number < plan.peripherals ? &peripherals[number] : NULL;
}

// --- properties ---

// The first property is the one that changes. The properties of a device keep pointers to it.
static void describe_device(Property *to, const Peripheral *self) {
    const Property properties[device_property_count] = {
        {"Connected", "b", .number = self->is_connected},
        {"Address", "s", self->address},
        {"AddressType", "s", "random"},
        {"Name", "s", self->name},
        {"Alias", "s", self->name},
        {"Adapter", "o", ADAPTER},
        {"UUIDs", "as", "0000180d-0000-1000-8000-00805f9b34fb"},
        {"RSSI", "n", .number = (uint16_t)-50},
        {"Paired", "b", .number = false},
        {"Bonded", "b", .number = false},
        {"Trusted", "b", .number = false},
        {"Blocked", "b", .number = false},
        {"LegacyPairing", "b", .number = false},
        {"ServicesResolved", "b", .number = self->is_connected},
        {NULL},
    };
    memcpy(to, properties, sizeof properties);
}

static void describe_service(Property *to, const Peripheral *self) {
    const Property properties[] = {
        {"UUID", "s", "0000180d-0000-1000-8000-00805f9b34fb"},
        {"Device", "o", self->device},
        {"Primary", "b", .number = true},
        {"Includes", "as", ""},
        {NULL},
    };
    memcpy(to, properties, sizeof properties);
}

static void describe_characteristic(Property *to, const Peripheral *self) {
    const Property properties[] = {
        {"UUID", "s", "00002a37-0000-1000-8000-00805f9b34fb"},
        {"Service", "o", self->service},
        {"Notifying", "b", .number = self->is_notifying},
        {"Flags", "as", "read notify"},
        {"MTU", "q", .number = 247},
        {NULL},
    };
    memcpy(to, properties, sizeof properties);
}

// Valid until the next call of this function.
static const Property *find_properties(const char *path, const char *interface) {
    static Property properties[device_property_count];
    if (strcmp(path, ADAPTER) == 0 && strcmp(interface, "org.bluez.Adapter1") == 0) return adapter_properties;
    const Peripheral *self = find_peripheral(path);
    if (self == NULL) return NULL;
    if (strcmp(path, self->device) == 0 && strcmp(interface, DEVICE_INTERFACE) == 0) describe_device(properties, self);
    else if (strcmp(path, self->service) == 0 && strcmp(interface, SERVICE_INTERFACE) == 0)
        describe_service(properties, self);
    else if (strcmp(path, self->characteristic) == 0 && strcmp(interface, CHARACTERISTIC_INTERFACE) == 0)
        describe_characteristic(properties, self);
    else return NULL;
    return properties;
}

static void append_objects(DBusMessageIter *to) {
    Property properties[device_property_count];
    DBusMessageIter all;
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "{oa{sa{sv}}}", &all);
    append_managed(&all, ADAPTER, "org.bluez.Adapter1", adapter_properties);
    for (uint32_t i = 0; i < plan.peripherals; i++) {
        const Peripheral *self = &peripherals[i];
        describe_device(properties, self);
        append_managed(&all, self->device, DEVICE_INTERFACE, properties);
        describe_service(properties, self);
        append_managed(&all, self->service, SERVICE_INTERFACE, properties);
        describe_characteristic(properties, self);
        append_managed(&all, self->characteristic, CHARACTERISTIC_INTERFACE, properties);
    }
    dbus_message_iter_close_container(to, &all);
}

// --- signals ---

static void set_connected(DBusConnection *bus, Peripheral *self, bool is_connected) {
    Property properties[device_property_count];
    if (self->is_connected == is_connected) return;
    self->is_connected = is_connected;
    describe_device(properties, self);
    send_properties_changed(bus, self->device, DEVICE_INTERFACE, properties, 1);
}

static void send_value(DBusConnection *bus, const Peripheral *self, uint32_t counter, uint32_t total) {
    uint8_t value[value_length] = {0};
    const Property properties[] = {{"Value", "ay", .data = value, .data_length = value_length}, {NULL}};
    put_uint32(value, counter);
    put_uint32(value + 4, total);
    send_properties_changed(bus, self->characteristic, CHARACTERISTIC_INTERFACE, properties, 1);
}

static void notify(DBusConnection *bus) {
    struct timespec next = begin_schedule(bus);
    for (uint32_t i = 0; i < plan.count; i++) {
        send_value(bus, &peripherals[i % plan.peripherals], i, 0);
        if (plan.rate != 0) await_next(bus, &next, plan.rate);
        else if (i % flood_batch == flood_batch - 1) dbus_connection_flush(bus);
    }
    for (uint32_t i = 0; i < plan.peripherals; i++) send_value(bus, &peripherals[i], UINT32_MAX, plan.count);
    dbus_connection_flush(bus);
}

// --- calls ---

// Whether all of them notify from this call on.
static bool start_notify(Peripheral *self, bool is_notifying) {
    if (self->is_notifying == is_notifying) return false;
    self->is_notifying = is_notifying;
    plan.notifying += is_notifying ? 1 : -1;
    return is_notifying && plan.notifying == plan.peripherals;
}

static DBusHandlerResult answer(DBusConnection *bus, DBusMessage *call, void *data) {
    // libdbus itself answers Peer.Ping.
    static const char *const plain[] = {
        "Connect", "Disconnect", "StartNotify", "StopNotify", "SetDiscoveryFilter", "StartDiscovery", "StopDiscovery",
    };
    const char *member = dbus_message_get_member(call);
    DBusMessage *reply = NULL;
    DBusMessageIter body;
    bool starts = false;
    (void)data;
    if (dbus_message_get_type(call) != DBUS_MESSAGE_TYPE_METHOD_CALL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (strcmp(member, "GetManagedObjects") == 0) {
        reply = dbus_message_new_method_return(call);
        dbus_message_iter_init_append(reply, &body);
        append_objects(&body);
    } else if (dbus_message_has_interface(call, "org.freedesktop.DBus.Properties")) {
        reply = get_properties(call, find_properties);
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(member, plain[i]) == 0) reply = dbus_message_new_method_return(call);
    if (reply == NULL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    Peripheral *self = find_peripheral(dbus_message_get_path(call));
    if (self != NULL) {
        // As in bluetoothd, the signal precedes the reply.
        if (strcmp(member, "Connect") == 0) set_connected(bus, self, true);
        if (strcmp(member, "Disconnect") == 0) set_connected(bus, self, false);
        if (strcmp(member, "StartNotify") == 0) starts = start_notify(self, true);
        if (strcmp(member, "StopNotify") == 0) start_notify(self, false);
    }
    send_reply(bus, call, reply);
    if (starts) notify(bus);
    return DBUS_HANDLER_RESULT_HANDLED;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 4) {
        fprintf(stderr, "usage: fake-many COUNT RATE PERIPHERALS\n");
        return 64;
    }
    plan = (Plan){strtoul(arguments[1], NULL, 10), strtoul(arguments[2], NULL, 10), strtoul(arguments[3], NULL, 10)};
    if (plan.peripherals == 0 || plan.peripherals > 0x10000) return 64;
    create_peripherals();
    return serve("fake-many", answer, NULL);
}
