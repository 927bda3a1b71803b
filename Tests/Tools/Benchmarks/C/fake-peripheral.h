// Common code of the fake bluetoothds with a connected peripheral: that peripheral, its service, and the replies about
// objects.
#include "fake.h"

#define DEVICE ADAPTER "/dev_F0_F1_F2_F3_F4_F5"
#define SERVICE DEVICE "/service0010"

enum { value_length = 20 };

typedef struct {
    const char *path, *interface;
    const Property *properties;
} Object;

// The first property is the one that changes.
static Property device_properties[] = {
    {"Connected", "b", .number = true},
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

static const Property service_properties[] = {
    {"UUID", "s", "0000180d-0000-1000-8000-00805f9b34fb"},
    {"Device", "o", DEVICE},
    {"Primary", "b", .number = true},
    {"Includes", "as", ""},
    {NULL},
};

// The reply to GetManagedObjects.
static inline void append_objects(DBusMessageIter *to, const Object *objects, int count) {
    DBusMessageIter all;
    dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "{oa{sa{sv}}}", &all);
    for (int i = 0; i < count; i++)
        append_managed(&all, objects[i].path, objects[i].interface, objects[i].properties);
    dbus_message_iter_close_container(to, &all);
}

// The properties of that interface of the object at `path`, or NULL.
static inline const Property *find_object(
    const Object *objects, int count, const char *path, const char *interface) {
    for (int i = 0; i < count; i++)
        if (strcmp(objects[i].path, path) == 0 && strcmp(objects[i].interface, interface) == 0)
            return objects[i].properties;
    return NULL;
}

static inline void set_connected(DBusConnection *bus, bool connected) {
    if (device_properties[0].number == connected) return;
    device_properties[0].number = connected;
    send_properties_changed(bus, DEVICE, "org.bluez.Device1", device_properties, 1);
}
