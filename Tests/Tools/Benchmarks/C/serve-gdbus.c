// serve-gdbus COUNT RATE: GDBus alone, with g_dbus_connection_register_object and g_dbus_connection_emit_signal.
//
// It serves one characteristic. From StartNotify on it signals COUNT values of 20 bytes: the number from 0, little-endian, in the
// first 4 bytes. RATE is the number of values a second; 0 is as fast as the bus takes them. StopNotify, which
// fake-central calls after the last value, ends the measurement.
#include "measurement.h"

#include <gio/gio.h>
#include <stdlib.h>

#define ADAPTER "/org/bluez/hci0"
#define ROOT "/org/example/application"
#define SERVICE ROOT "/service0"
#define CHARACTERISTIC SERVICE "/char0"

// A flood has at most one batch of pending signals. StopNotify may come that many seconds late.
enum { value_length = 20, flood_batch = 100, patience = 60 };

static const char description[] =
    "<node>"
    "<interface name='org.freedesktop.DBus.ObjectManager'>"
    "<method name='GetManagedObjects'><arg name='objects' type='a{oa{sa{sv}}}' direction='out'/></method>"
    "</interface>"
    "<interface name='org.bluez.GattService1'>"
    "<property name='UUID' type='s' access='read'/>"
    "<property name='Primary' type='b' access='read'/>"
    "</interface>"
    "<interface name='org.bluez.GattCharacteristic1'>"
    "<method name='ReadValue'><arg name='options' type='a{sv}' direction='in'/>"
    "<arg name='value' type='ay' direction='out'/></method>"
    "<method name='StartNotify'/>"
    "<method name='StopNotify'/>"
    "<property name='UUID' type='s' access='read'/>"
    "<property name='Service' type='o' access='read'/>"
    "<property name='Flags' type='as' access='read'/>"
    "</interface>"
    "</node>";

typedef struct {
    GDBusConnection *bus;
    GMainLoop *loop;
    GDBusNodeInfo *node;
    uint32_t total, rate;
    guint deadline;
    gint64 begin;
    bool is_complete;
    Measurement measurement;
} Server;

static void end(Server *self, bool is_complete) {
    if (!g_main_loop_is_running(self->loop)) return;
    self->is_complete = self->measurement.in_order = is_complete && self->measurement.count == self->total;
    report(&self->measurement, self->total);
    g_main_loop_quit(self->loop);
}

static gboolean give_up(gpointer server) {
    fprintf(stderr, "serve-gdbus: no call of bluetoothd within %d s\n", patience);
    end(server, false);
    return G_SOURCE_CONTINUE;
}

static void set_deadline(Server *self, guint seconds) {
    if (self->deadline != 0) g_source_remove(self->deadline);
    self->deadline = g_timeout_add_seconds(seconds, give_up, self);
}

// --- values ---

static void send_value(Server *self) {
    uint8_t value[value_length] = {0};
    GVariantBuilder properties;
    uint32_t number = self->measurement.count++;
    for (int i = 0; i < 4; i++) value[i] = number >> (8 * i);
    g_variant_builder_init(&properties, G_VARIANT_TYPE_VARDICT);
    g_variant_builder_add(
        &properties, "{sv}", "Value", g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, value, value_length, 1));
    g_dbus_connection_emit_signal(
        self->bus, NULL, CHARACTERISTIC, "org.freedesktop.DBus.Properties", "PropertiesChanged",
        g_variant_new("(sa{sv}as)", "org.bluez.GattCharacteristic1", &properties, NULL), NULL);
}

static void flood(Server *self);

static void continue_flood(GObject *bus, GAsyncResult *result, gpointer server) {
    if (g_dbus_connection_flush_finish(G_DBUS_CONNECTION(bus), result, NULL)) flood(server);
}

// Sends a batch. The next one waits until the socket has taken it.
static void flood(Server *self) {
    for (int i = 0; i < flood_batch && self->measurement.count < self->total; i++) send_value(self);
    if (self->measurement.count < self->total) g_dbus_connection_flush(self->bus, NULL, continue_flood, self);
}

// Sends the values that are due. The main loop's timers are up to 1 ms late, so sometimes two values are due.
static gboolean send_due(gpointer server) {
    Server *self = server;
    gint64 elapsed = g_get_monotonic_time() - self->begin;
    while (self->measurement.count < self->total
           && elapsed >= (gint64)self->measurement.count * G_USEC_PER_SEC / self->rate)
        send_value(self);
    return self->measurement.count < self->total;
}

static void notify(Server *self) {
    self->begin = g_get_monotonic_time();
    set_deadline(self, patience + (self->rate != 0 ? self->total / self->rate : 0));
    if (self->rate == 0) flood(self);
    else if (send_due(self)) g_timeout_add(MAX(1, 1000 / self->rate), send_due, self);
}

// --- calls ---

static GVariant *get_property(
    GDBusConnection *bus, const char *sender, const char *path, const char *interface, const char *property,
    GError **error, gpointer server) {
    static const char *const flags[] = {"read", "notify", NULL};
    (void)bus, (void)sender, (void)interface, (void)error, (void)server;
    if (g_str_equal(property, "Primary")) return g_variant_new_boolean(TRUE);
    if (g_str_equal(property, "Service")) return g_variant_new_object_path(SERVICE);
    if (g_str_equal(property, "Flags")) return g_variant_new_strv(flags, -1);
    return g_variant_new_string(
        g_str_equal(path, SERVICE) ? "0000180d-0000-1000-8000-00805f9b34fb" : "00002a37-0000-1000-8000-00805f9b34fb");
}

static void append_object(GVariantBuilder *objects, GDBusInterfaceInfo *interface, const char *path) {
    GVariantBuilder interfaces, properties;
    g_variant_builder_init(&properties, G_VARIANT_TYPE_VARDICT);
    for (GDBusPropertyInfo **property = interface->properties; *property != NULL; property++)
        g_variant_builder_add(
            &properties, "{sv}", (*property)->name,
            get_property(NULL, NULL, path, interface->name, (*property)->name, NULL, NULL));
    g_variant_builder_init(&interfaces, G_VARIANT_TYPE("a{sa{sv}}"));
    g_variant_builder_add(&interfaces, "{sa{sv}}", interface->name, &properties);
    g_variant_builder_add(objects, "{oa{sa{sv}}}", path, &interfaces);
}

static GVariant *managed_objects(const Server *self) {
    GVariantBuilder objects;
    g_variant_builder_init(&objects, G_VARIANT_TYPE("a{oa{sa{sv}}}"));
    append_object(&objects, self->node->interfaces[1], SERVICE);
    append_object(&objects, self->node->interfaces[2], CHARACTERISTIC);
    return g_variant_new("(a{oa{sa{sv}}})", &objects);
}

static void answer(
    GDBusConnection *bus, const char *sender, const char *path, const char *interface, const char *method,
    GVariant *arguments, GDBusMethodInvocation *invocation, gpointer server) {
    Server *self = server;
    GVariant *result = NULL;
    (void)bus, (void)sender, (void)path, (void)interface, (void)arguments;
    if (g_str_equal(method, "GetManagedObjects")) {
        result = managed_objects(self);
    } else if (g_str_equal(method, "ReadValue")) {
        static const uint8_t value[value_length];
        result = g_variant_new("(@ay)", g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, value, value_length, 1));
    } else if (g_str_equal(method, "StartNotify")) {
        start(&self->measurement);
    } else {
        end(self, true);
    }
    g_dbus_method_invocation_return_value(invocation, result);
    if (g_str_equal(method, "StartNotify")) notify(self);
}

// --- registration ---

static void registered(GObject *bus, GAsyncResult *result, gpointer server) {
    GError *error = NULL;
    GVariant *reply = g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, &error);
    if (reply != NULL) {
        g_variant_unref(reply);
        return;
    }
    fprintf(stderr, "serve-gdbus: %s\n", error->message);
    g_error_free(error);
    end(server, false);
}

static void bluez_appeared(GDBusConnection *bus, const char *name, const char *owner, gpointer server) {
    (void)name, (void)owner;
    g_dbus_connection_call(
        bus, "org.bluez", ADAPTER, "org.bluez.GattManager1", "RegisterApplication",
        g_variant_new("(oa{sv})", ROOT, NULL), NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, registered, server);
}

static void bluez_vanished(GDBusConnection *bus, const char *name, gpointer server) {
    (void)bus, (void)name;
    fprintf(stderr, "serve-gdbus: there is no org.bluez\n");
    end(server, false);
}

static void serve(Server *self) {
    static const GDBusInterfaceVTable calls = {.method_call = answer, .get_property = get_property};
    const char *const paths[] = {ROOT, SERVICE, CHARACTERISTIC};
    for (int i = 0; i < 3; i++)
        g_dbus_connection_register_object(self->bus, paths[i], self->node->interfaces[i], &calls, self, NULL, NULL);
    set_deadline(self, patience);
    guint watch = g_bus_watch_name_on_connection(
        self->bus, "org.bluez", G_BUS_NAME_WATCHER_FLAGS_NONE, bluez_appeared, bluez_vanished, self, NULL);
    g_main_loop_run(self->loop);
    g_bus_unwatch_name(watch);
    // The reply to StopNotify.
    g_dbus_connection_flush_sync(self->bus, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    Server server = {
        .total = argument_count == 3 ? strtoul(arguments[1], NULL, 10) : 0,
        .rate = argument_count == 3 ? strtoul(arguments[2], NULL, 10) : 0,
    };
    GError *error = NULL;
    if (server.total == 0) {
        fprintf(stderr, "usage: serve-gdbus COUNT RATE\n");
        return 64;
    }
    server.bus = g_bus_get_sync(G_BUS_TYPE_SYSTEM, NULL, &error);
    if (server.bus == NULL) {
        fprintf(stderr, "serve-gdbus: %s\n", error->message);
        return 1;
    }
    server.node = g_dbus_node_info_new_for_xml(description, NULL);
    server.loop = g_main_loop_new(NULL, FALSE);
    serve(&server);
    return !server.is_complete;
}
